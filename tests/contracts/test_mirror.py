"""The tests of tracekit/ROOM/MODULE.py are in tests/ROOM/test_MODULE.py."""

from __future__ import annotations

from tests.support.paths import ROOT

ELSEWHERE = {
    # Rules are tested together, each on a trace with the fault and on one without; commands as a user meets them.
    **{f"findings/rules/{path.name}": "findings/test_rules.py" for path in (ROOT / "tracekit" / "findings" / "rules").glob("tk*.py")},
    **{f"cli/{path.name}": "cli/test_main.py" for path in (ROOT / "tracekit" / "cli").glob("[a-z]*.py")},
}

# Modules without tests of their own, so far covered by those of their room only; may only shrink.
DEBT = {
    "analysis/overhead.py",
    "analysis/picture.py",
    "attention/eager.py",
    "attention/facts.py",
    "attention/match.py",
    "attention/regions.py",
    "attention/stages.py",
    "diff/align.py",
    "diff/causes.py",
    "diff/ledger.py",
    "diff/result.py",
    "diff/sentences.py",
    "diff/shifted.py",
    "diff/sides.py",
    "diff/statistics.py",
    "findings/explain.py",
    "findings/finding.py",
    "findings/fused.py",
    "findings/making.py",
    "findings/registry.py",
    "findings/severity.py",
    "trace.py",
    "writing/fitting.py",
    "writing/raw.py",
    "writing/tracks.py",
}


def untested() -> set[str]:
    """Return the modules whose tests aren't where one would look."""
    missing = set()
    for path in sorted((ROOT / "tracekit").rglob("*.py")):
        name = path.relative_to(ROOT / "tracekit")
        if path.name.startswith("__"):
            continue
        place = ELSEWHERE.get(name.as_posix(), (name.parent / f"test_{name.name.lstrip('_')}").as_posix())
        if not (ROOT / "tests" / place).is_file():
            missing.add(name.as_posix())
    return missing


def test_every_module_has_its_tests() -> None:
    """Where one looks for them."""
    assert untested() - DEBT == set()


def test_the_debt_only_shrinks() -> None:
    """What has its tests now leaves the list."""
    assert DEBT - untested() == set()
