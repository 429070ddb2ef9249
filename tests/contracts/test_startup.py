"""What starting costs, and what is never imported."""

from __future__ import annotations

import resource
import subprocess
import sys

from tests.support.paths import ROOT, TRACES

HEAVY = ("numpy", "pandas", "networkx", "rich", "orjson", "msgspec", "torch", "jinja2")


def modules_after(code: str) -> set[str]:
    """Return the top-level modules that are loaded after running code."""
    program = f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\nsys.stderr.write(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    return {name.split(".")[0] for name in done.stderr.split()}


def test_help_loads_nothing_heavy() -> None:
    """It answers at once because nothing is read that it doesn't need."""
    assert not modules_after("from tracekit.cli import main; main(['--help'])") & set(HEAVY)


def test_help_answers_within_150_ms() -> None:
    """As processor time, the best of several runs: the machine may be busy with other things."""
    times = []
    for _ in range(7):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "tracekit", "--help"], capture_output=True, cwd=ROOT, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(times) < 0.15


def test_a_diff_loads_no_torch_no_pandas_and_no_networkx() -> None:
    """torch belongs to the generators alone; the others are for who asks for them."""
    a, b = TRACES / "naive.json.gz", TRACES / "sdpa_math.json.gz"
    loaded = modules_after(f"from tracekit.cli import main; main(['diff', {str(a)!r}, {str(b)!r}, '-o', '/dev/null'])")
    assert not loaded & {"torch", "pandas", "networkx"}
