"""Runs a workload: once unprofiled, timed by CUDA events and the wall clock; once under torch.profiler; and writes trace and truth.

A trace is ``NAME.json.gz``, its truth ``NAME.truth.json``: what torch itself says of the same run, so that every number of tracekit can be held
against another's.
"""

from __future__ import annotations

import contextlib
import gc
import gzip
import itertools
import json
import os
import platform
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

WAIT, WARM_UP = 1, 3
"""Steps before the recording: torch.profiler's first ones are slow."""

UNPROFILED_WARM_UP = 3
UNPROFILED_REPEATS = 4
"""The unprofiled run has so many times the steps of the profiled one: a median of few steps is noise."""


def runs(steps: int) -> int:
    """Return how many runs of a workload a recording of so many steps takes, warm-up and the unprofiled run included."""
    return UNPROFILED_WARM_UP + steps * UNPROFILED_REPEATS + WAIT + WARM_UP + steps


class Unavailable(Exception):
    """This machine can't run the variant; the message says why in one line."""


@dataclass(frozen=True)
class Options:
    """How to run and record.

    Attributes:
        batch, heads, sequence, head_dim: Shape of q, k and v.
        dtype: ``bfloat16``, ``float16`` or ``float32``.
        steps: Steps recorded.
        record_shapes, with_stack, profile_memory: As torch.profiler has them.
        device: ``cuda`` or ``cpu``.
        seed: Of the random inputs.
    """

    batch: int = 8
    heads: int = 16
    sequence: int = 2048
    head_dim: int = 64
    dtype: str = "bfloat16"
    steps: int = 6
    record_shapes: bool = True
    with_stack: bool = False
    profile_memory: bool = False
    device: str = "cuda"
    seed: int = 0

    @property
    def torch_dtype(self) -> torch.dtype:
        """The dtype as torch has it."""
        return {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}[self.dtype]


@dataclass
class Workload:
    """What is run.

    Attributes:
        step: Runs one step, given its number; the numbers never repeat, over all runs. Nothing in it waits for the GPU.
        shapes: What is worth knowing of the inputs.
        steps: Steps recorded, if not as the options say.
        with_stack: Whether stacks are recorded, if not as the options say.
        warm_up_new: Whether ``step`` does the same work in warm-up; if not, warm-up calls ``warm`` instead.
        warm: The warm-up step where it differs.
    """

    step: Callable[[int], Any]
    shapes: dict[str, Any] = field(default_factory=dict)
    steps: int | None = None
    with_stack: bool | None = None
    warm: Callable[[int], Any] | None = None


def record(name: str, workload: Workload, options: Options, out: Path) -> dict[str, Any]:
    """Run ``workload`` unprofiled and profiled, write ``out/NAME.json.gz`` and ``out/NAME.truth.json``, and return the truth.

    Raises:
        OSError: ``out`` can't be written to.
    """
    out.mkdir(parents=True, exist_ok=True)
    steps = workload.steps or options.steps
    count = _counter()
    warm = workload.warm or workload.step
    unprofiled = _unprofiled(workload.step, warm, steps * UNPROFILED_REPEATS, count, options.device)
    profiler = _profiled(workload, warm, steps, count, options)
    _export(profiler, out / f"{name}.json.gz")
    truth = {
        "name": name,
        "options": asdict(options) | {"steps": steps, "with_stack": _stack(workload, options)},
        "shapes": workload.shapes,
        "versions": versions(),
        "device": device_facts(options.device),
        "unprofiled": unprofiled,
        "key_averages": _rows(profiler),
    }
    _write(out / f"{name}.truth.json", json.dumps(truth, indent=1) + "\n")
    return truth


def _counter() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


def _stack(workload: Workload, options: Options) -> bool:
    return options.with_stack if workload.with_stack is None else workload.with_stack


def synchronize(device: str) -> None:
    """Wait for the GPU, where there is one."""
    if device == "cuda":
        torch.cuda.synchronize()


def _unprofiled(step: Callable[[int], Any], warm: Callable[[int], Any], steps: int, count: Iterator[int], device: str) -> dict[str, Any]:
    """Return the step times without the profiler: of each step by CUDA events, and of the whole run by the wall clock. No wait between steps."""
    for _ in range(UNPROFILED_WARM_UP):
        warm(next(count))
    synchronize(device)
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)] if device == "cuda" else []
    host_s = []
    # As the profiled run below: a collection in the middle of a step would be the interpreter's time, not the program's.
    gc.collect()
    begin = time.perf_counter()
    for i in range(steps):
        if marks:
            marks[i].record()
        at = time.perf_counter()
        step(next(count))
        host_s.append(time.perf_counter() - at)
    if marks:
        marks[-1].record()
    synchronize(device)
    wall_s = time.perf_counter() - begin
    found: dict[str, Any] = {
        "steps": steps,
        "wall_us_per_step": round(wall_s / steps * 1e6, 3),
        "host_us": [round(s * 1e6, 3) for s in host_s],
        "host_us_median": round(statistics.median(host_s) * 1e6, 3),
    }
    if marks:
        events = [a.elapsed_time(b) * 1000.0 for a, b in itertools.pairwise(marks)]
        found["cuda_event_us"] = [round(us, 3) for us in events]
        found["cuda_event_us_median"] = round(statistics.median(events), 3)
        found["peak_memory_bytes"] = torch.cuda.max_memory_allocated()
    return found


def _profiled(workload: Workload, warm: Callable[[int], Any], steps: int, count: Iterator[int], options: Options) -> torch.profiler.profile:
    activities = [torch.profiler.ProfilerActivity.CPU]
    if options.device == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    schedule = torch.profiler.schedule(wait=WAIT, warmup=WARM_UP, active=steps, repeat=1)
    with torch.profiler.profile(
        activities=activities,
        schedule=schedule,
        record_shapes=options.record_shapes,
        with_stack=_stack(workload, options),
        profile_memory=options.profile_memory,
    ) as profiler:
        for i in range(WAIT + WARM_UP + steps):
            (warm if i < WAIT + WARM_UP else workload.step)(next(count))
            profiler.step()
    synchronize(options.device)
    return profiler


def _export(profiler: torch.profiler.profile, path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(plain))
        data = clean(plain.read_bytes())
    # No time stamp inside, so that the same trace gives the same file.
    _write(path, gzip.compress(data, 9, mtime=0))


_HOME = re.compile(rb"/(?:home|root|Users)(?:/[^/\"\\]+)?/")
_PACKAGES = re.compile(rb'/[^"\s:;]*?/(?=(?:site|dist)-packages/)')
_HOST = re.compile(rb'("host_?name"\s*:\s*)"[^"]*"', re.IGNORECASE)
_TRACE_NAME = re.compile(rb'("traceName"\s*:\s*)"[^"]*"')


def clean(data: bytes) -> bytes:
    """Return a trace without what names the machine it was made on: its name, folders of people and of this checkout, and the temporary file's own name."""
    here = str(Path(__file__).resolve().parents[1]).encode()
    for folder in {here, here.replace(b"/", rb"\/")}:
        data = data.replace(folder + b"/", b"").replace(folder, b".")
    data = _PACKAGES.sub(b"", data)
    data = _HOME.sub(b"/home/user/", data)
    data = _HOST.sub(rb'\1"host"', data)
    return _TRACE_NAME.sub(rb'\1"trace.json"', data)


def _write(path: Path, data: bytes | str) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(data.encode() if isinstance(data, str) else data)
        beside.replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()


def _rows(profiler: torch.profiler.profile) -> list[dict[str, Any]]:
    """Return torch's own table: one row a key, microseconds."""
    return [
        {
            "key": row.key,
            "count": row.count,
            "cpu_us": round(row.cpu_time_total, 3),
            "self_cpu_us": round(row.self_cpu_time_total, 3),
            "device_us": round(row.device_time_total, 3),
            "self_device_us": round(row.self_device_time_total, 3),
        }
        for row in profiler.key_averages()
    ]


def versions() -> dict[str, str]:
    """Return the versions of what takes part."""
    found = {"python": platform.python_version(), "torch": torch.__version__}
    if torch.version.cuda:
        found["cuda"] = torch.version.cuda
        if torch.backends.cudnn.is_available():
            found["cudnn"] = str(torch.backends.cudnn.version())
    try:
        import triton

        found["triton"] = triton.__version__
    except ImportError:
        pass
    return found


def device_facts(device: str) -> dict[str, Any]:
    """Return what the truth of a trace depends on; nothing that names the machine."""
    if device != "cuda":
        return {"name": "cpu"}
    found = torch.cuda.get_device_properties(0)
    return {
        "name": found.name,
        "compute_capability": f"{found.major}.{found.minor}",
        "multiprocessors": found.multi_processor_count,
        "memory_bytes": found.total_memory,
    }
