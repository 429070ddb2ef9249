"""Builds a small Kineto trace in three lines and reads it through the front door.

    trace = build().op("aten::mm", 0, 50).launch("cudaLaunchKernel", 10, 5).kernel("gemm", 60, 20).trace()

Times are microseconds, as in the file; three decimals keep every nanosecond. Each method returns the builder. Ids take care of themselves: a launch
gets the next correlation, and the GPU events after it carry that one.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import tracekit
from tracekit.trace import Trace

Us = float
MAIN_THREAD = 1


def build(**document: Any) -> Builder:
    """Start a trace; keyword arguments become top-level values of the file (``with_stack=1``, ``distributedInfo={...}``)."""
    return Builder(document)


class Builder:
    """A trace in the making; ``events`` is the event array as it will be written."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document: dict[str, Any] = {"schemaVersion": 1, "deviceProperties": [], **document}
        self.events: list[dict[str, Any]] = []
        self._pid: int | str = 1
        self._tid: int | str = MAIN_THREAD
        self._device: int | str = 0
        self._stream: int | str = 7
        self._correlation = 0

    # --- where the next events go

    def thread(
        self, tid: int | str, *, pid: int | str | None = None, name: str = "", process_name: str = "", process_label: str = ""
    ) -> Builder:
        """Put the host events that follow on this thread (and process), naming them if asked."""
        self._tid = tid
        self._pid = self._pid if pid is None else pid
        metadata = (("thread_name", "name", name), ("process_name", "name", process_name), ("process_labels", "labels", process_label))
        for event, key, value in metadata:
            if value:
                self.event({"ph": "M", "name": event, "pid": self._pid, "tid": self._tid, "ts": 0, "args": {key: value}})
        return self

    def stream(self, stream: int | str, *, device: int | None = None) -> Builder:
        """Put the GPU events that follow on this stream (and device)."""
        self._stream = stream
        self._device = self._device if device is None else device
        return self

    def rank(self, pid: int | str, device: int | str) -> Builder:
        """Go on as another rank of a merged file: its own process and GPU, ids counted from 1 again."""
        self._pid, self._tid, self._device, self._correlation = pid, MAIN_THREAD, device, 0
        return self

    def device(self, name: str = "NVIDIA H100", id: int | None = None, **properties: Any) -> Builder:
        """Add an entry to ``deviceProperties``."""
        listed = self.document["deviceProperties"]
        listed.append({"id": len(listed) if id is None else id, "name": name, **properties})
        return self

    # --- host slices

    def op(self, name: str, ts: Us, dur: Us | None, **args: Any) -> Builder:
        """A cpu_op."""
        return self._host("cpu_op", name, ts, dur, args)

    def annotation(self, name: str, ts: Us, dur: Us | None, **args: Any) -> Builder:
        """A record_function annotation."""
        return self._host("user_annotation", name, ts, dur, args)

    def step(self, number: int, ts: Us, dur: Us | None) -> Builder:
        """A ``ProfilerStep#N`` annotation."""
        return self.annotation(f"ProfilerStep#{number}", ts, dur)

    def frame(self, name: str, ts: Us, dur: Us | None, **args: Any) -> Builder:
        """A python_function frame."""
        return self._host("python_function", name, ts, dur, args)

    def overhead(self, name: str, ts: Us, dur: Us | None, **args: Any) -> Builder:
        """A row of the profiler's or driver's overhead."""
        return self._host("overhead", name, ts, dur, args)

    def runtime(self, name: str, ts: Us, dur: Us | None, *, category: str = "cuda_runtime", **args: Any) -> Builder:
        """A runtime call as given; it doesn't touch the correlation of the GPU events that follow."""
        return self._host(category, name, ts, dur, args)

    def launch(
        self, name: str, ts: Us, dur: Us | None, *, correlation: int | None = None, category: str = "cuda_runtime", **args: Any
    ) -> Builder:
        """A call that launches: takes the next correlation (or the given one) and hands it to the GPU events that follow."""
        self._correlation = self._correlation + 1 if correlation is None else correlation
        return self._host(category, name, ts, dur, {"correlation": self._correlation, **args})

    def driver(self, name: str, ts: Us, dur: Us | None, **args: Any) -> Builder:
        """A launch through the driver API (``cuLaunchKernel``)."""
        return self.launch(name, ts, dur, category="cuda_driver", **args)

    def _host(self, category: str, name: str, ts: Us, dur: Us | None, args: dict[str, Any]) -> Builder:
        return self._slice(category, name, self._pid, self._tid, ts, dur, args)

    # --- GPU slices

    def kernel(self, name: str, ts: Us, dur: Us | None, **args: Any) -> Builder:
        """A kernel of the last launch; ``correlation=None`` leaves the correlation out."""
        return self._gpu("kernel", name, ts, dur, args)

    def memcpy(self, name: str, ts: Us, dur: Us | None, **args: Any) -> Builder:
        """A GPU copy of the last launch (``Memcpy HtoD (Pageable -> Device)``)."""
        return self._gpu("gpu_memcpy", name, ts, dur, args)

    def memset(self, name: str, ts: Us, dur: Us | None, **args: Any) -> Builder:
        """A GPU memset of the last launch."""
        return self._gpu("gpu_memset", name, ts, dur, args)

    def gpu_annotation(self, name: str, ts: Us, dur: Us | None, **args: Any) -> Builder:
        """A user annotation projected onto the GPU row."""
        return self._slice("gpu_user_annotation", name, self._device, self._stream, ts, dur, args)

    def _gpu(self, category: str, name: str, ts: Us, dur: Us | None, args: dict[str, Any]) -> Builder:
        known = {"device": self._device, "stream": self._stream, "correlation": self._correlation, **args}
        return self._slice(category, name, self._device, self._stream, ts, dur, {k: v for k, v in known.items() if v is not None})

    # --- marks, and anything else

    def flow(self, name: str, id: int, start: Us, end: Us, *, to_tid: int | str | None = None) -> Builder:
        """A flow from the current thread at ``start`` to the current stream, or to thread ``to_tid`` of the process, at ``end``."""
        target = {"pid": self._device, "tid": self._stream} if to_tid is None else {"pid": self._pid, "tid": to_tid}
        common = {"name": name, "cat": name, "id": id}
        self.event({"ph": "s", **common, "pid": self._pid, "tid": self._tid, "ts": start})
        return self.event({"ph": "f", "bp": "e", **common, **target, "ts": end})

    def instant(self, name: str, ts: Us, **args: Any) -> Builder:
        """An instant on the current thread (``[memory]`` with its args, for one)."""
        where = {"pid": self._pid, "tid": self._tid}
        return self.event({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": name, **where, "ts": ts, "args": args})

    def counter(self, name: str, ts: Us, **values: float) -> Builder:
        """A counter on the current process."""
        return self.event({"ph": "C", "name": name, "pid": self._pid, "tid": self._tid, "ts": ts, "args": values})

    def event(self, event: dict[str, Any]) -> Builder:
        """Any event, as it is to stand in the file."""
        self.events.append(event)
        return self

    def _slice(self, category: str, name: str, pid: int | str, tid: int | str, ts: Us, dur: Us | None, args: dict[str, Any]) -> Builder:
        event = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts}
        if dur is not None:
            event["dur"] = dur
        return self.event({**event, "args": args} if args else event)

    # --- the result

    def text(self) -> str:
        """Return the file's content."""
        return json.dumps({**self.document, "traceEvents": self.events}, ensure_ascii=False)

    def write(self, path: Path) -> Path:
        """Write the file and return its path."""
        path.write_text(self.text(), encoding="utf-8")
        return path

    def trace(self) -> Trace:
        """Write the file aside, read it through ``tracekit.load`` and return the checked trace."""
        trace = tracekit.load(self.write(_folder() / f"{next(_numbers)}.json"))
        trace.check()
        return trace


_numbers = itertools.count()


@functools.cache
def _folder() -> Path:
    """Return a folder for this run's traces; removed at exit, since a trace may read its args from the file later."""
    folder = Path(tempfile.mkdtemp(prefix="tracekit-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
