"""tracekit: says what a PyTorch GPU trace shows.

The doors, each loaded when it is asked for::

    import tracekit
    trace = tracekit.load("naive.json.gz")
    analysis = tracekit.analyze(trace)
    findings = tracekit.find(analysis)
    diff = tracekit.compare("naive.json.gz", "sdpa_math.json.gz")
    profile(on_trace_ready=tracekit.handler("traces/", expect="expect.toml"))

A door never has the name of a room: a lazy ``diff`` would turn into the module as soon as anybody imports ``tracekit.diff``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracekit.analysis import analyze as analyze
    from tracekit.diff import compare as compare
    from tracekit.errors import TracekitError as TracekitError
    from tracekit.findings import find as find
    from tracekit.integrations.checking import assert_trace as assert_trace
    from tracekit.integrations.handler import handler as handler
    from tracekit.reading import load as load
    from tracekit.trace import Trace as Trace

__all__ = ["load", "analyze", "find", "compare", "handler", "assert_trace", "Trace", "TracekitError"]

_DOORS = {
    "load": "tracekit.reading",
    "analyze": "tracekit.analysis",
    "find": "tracekit.findings",
    "compare": "tracekit.diff",
    "handler": "tracekit.integrations.handler",
    "assert_trace": "tracekit.integrations.checking",
    "Trace": "tracekit.trace",
    "TracekitError": "tracekit.errors",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("tracekit")
    if name not in _DOORS:
        raise AttributeError(f"module 'tracekit' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_DOORS[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
