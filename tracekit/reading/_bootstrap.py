"""A stand-in that reads well-formed files only; replaced by the real reader."""
from __future__ import annotations
import gzip
from pathlib import Path
import numpy as np
import orjson
from tracekit.trace import *
from tracekit.trace import Category as C, I64
CATS = {"cpu_op": C.CPU_OP, "user_annotation": C.USER_ANNOTATION, "python_function": C.PYTHON_FUNCTION, "cuda_runtime": C.RUNTIME, "cuda_driver": C.DRIVER, "kernel": C.KERNEL,
        "gpu_memcpy": C.MEMCPY, "gpu_memset": C.MEMSET, "gpu_user_annotation": C.GPU_ANNOTATION, "cuda_sync": C.SYNC, "overhead": C.OVERHEAD, "Trace": C.PROFILER}
class _Bytes:
    def __init__(self, b): self.b = b
    def read(self, at, length): return self.b[at:at + length]
def load(path, **_):
    raw = Path(path).read_bytes()
    if raw[:2] == b"\x1f\x8b": raw = gzip.decompress(raw)
    doc = orjson.loads(raw); events = doc["traceEvents"] if isinstance(doc, dict) else doc
    strings, threads, names, blob, rows, marks = {}, {}, {}, bytearray(), [], {k: [] for k in "fitCa"}
    sid = lambda s: strings.setdefault(str(s), len(strings))
    tid = lambda e: threads.setdefault((e.get("pid", 0), e.get("tid", 0)), len(threads))
    phases = {}
    ns = lambda x: round(float(x) * 1000)
    for i, e in enumerate(events):
        ph = e.get("ph"); phases[ph] = phases.get(ph, 0) + 1
        a = e.get("args") or {}
        at, ln = -1, 0
        if a: b = orjson.dumps(a); at, ln = len(blob), len(b); blob += b
        if ph == "M":
            names.setdefault((e.get("pid"), e.get("tid") if e["name"].startswith("thread") else None), {})[e["name"]] = a
        elif ph == "X":
            cat = CATS.get(e.get("cat"), C.OTHER); gpu = cat in (C.KERNEL, C.MEMCPY, C.MEMSET)
            def ident(v, none=(-1, 2**32 - 1)):
                try: v = int(v)
                except (TypeError, ValueError): return -1
                return -1 if v in none else v
            rows.append((ns(e["ts"]), max(ns(e.get("dur") or 0), 0), sid(e["name"]), cat, tid(e), ident(a.get("device", e["pid"])) if gpu else -1, ident(a.get("stream", e["tid"])) if gpu else -1,
                         ident(a.get("correlation"), (0, -1, 2**32 - 1)), ident(a.get("External id"), (0, -1)), at, ln, i))
        elif ph in "stfiCbenIR":
            k = "f" if ph in "stf" else "i" if ph in "iIR" else "C" if ph == "C" else "a"
            marks[k].append((ns(e["ts"]), sid(e["name"]), sid(e.get("cat", "")), ord("i" if ph in "IR" else ph), tid(e), int(e.get("id", -1)) if isinstance(e.get("id", -1), int) else -1, at, ln, i))
    rows.sort(key=lambda r: (r[0], -r[1], r[11]))
    def cols(data, types):
        out = [np.array([r[k] for r in data], dtype=t) for k, t in enumerate(types)]
        for o in out: o.flags.writeable = False
        return out
    i64, i32, u8 = np.int64, np.int32, np.uint8
    def mk(d): return Marks(*cols(d, [i64, i32, i32, u8, i32, i64, i64, i32, i64]))
    def th(p, t):
        pm, tm = names.get((p, None), {}), names.get((p, t), {})
        return Thread(p, t, tm.get("thread_name", {}).get("name", ""), pm.get("process_name", {}).get("name", ""), pm.get("process_labels", {}).get("labels", ""))
    n = len(events)
    meta = {k: v for k, v in doc.items() if k != "traceEvents"} if isinstance(doc, dict) else {}
    return Trace(str(path), Slices(*cols(rows, [i64, i64, i32, u8, i32, i64, i64, i64, i64, i64, i32, i64])), Strings(list(strings)), tuple(th(*k) for k in threads), mk(marks["f"]), mk(marks["i"]), mk(marks["C"]), mk(marks["a"]),
                 tuple(Device(d.get("id", i), d.get("name", ""), d) for i, d in enumerate(meta.get("deviceProperties", []))), int(meta.get("baseTimeNanoseconds", 0)), meta,
                 ReadLog(str(path), "plain", 0, len(raw), n, n, {}, {}, (), phases), _Bytes(bytes(blob)), orjson.loads)
