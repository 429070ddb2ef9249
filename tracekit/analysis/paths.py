"""Where in the program a slice stands: its op path, module and python line, in words."""

from __future__ import annotations

import re

import numpy as np

from tracekit.linking import Links, depths
from tracekit.trace import ABSENT, CALLS, I64, Category, Trace

_MODULE = "nn.Module: "
_STEP_MARK = re.compile(r"ProfilerStep#\d+$")
# Frames that no user wrote: torch's own, the interpreter's, and built-in functions.
_NOT_USERS = re.compile(
    r"^<built-in|^nn\.Module: |(^|[/\\])(site-packages|dist-packages|lib[/\\]python3[^/\\]*|<frozen [^>]*>)([/\\]|$)|^torch[/\\]|^<"
)


def paths_of(trace: Trace, links: Links) -> I64:
    """Return an id of each host slice's path (int64[n]): slices with the same names from root to slice have the same id; -1 for other slices.

    Step marks are left out of paths, so that the same op has one path in every step.
    """
    slices = trace.slices
    names = slices.name.astype(np.int64)
    marks = trace.strings.ids_where(lambda name: bool(_STEP_MARK.match(name)))
    names[np.isin(slices.name, marks)] = -1
    hosts = slices.is_any((Category.CPU_OP, Category.USER_ANNOTATION, *CALLS))
    depth = depths(links.parent)
    out = np.full(len(slices), ABSENT, dtype=np.int64)
    used = 0
    for level in range(int(depth.max(initial=-1)) + 1):
        rows = np.flatnonzero(hosts & (depth == level))
        if not len(rows):
            continue
        up = links.parent[rows]
        above = np.where(up >= 0, out[up], -1)
        _, at = np.unique((above + 1) * (len(trace.strings) + 2) + names[rows] + 1, return_inverse=True)
        out[rows] = used + at
        used += int(at.max()) + 1
    return out


def op_stack(trace: Trace, links: Links, row: int) -> tuple[str, ...]:
    """Return the names of the ops and annotations around ``row``, outer first, ``row`` itself last; calls and step marks are left out."""
    category = trace.slices.category
    wanted = (Category.CPU_OP, Category.USER_ANNOTATION)
    names = [trace.name(at) for at in (row, *links.ancestors(row)) if category[at] in wanted]
    return tuple(name for name in reversed(names) if not _STEP_MARK.match(name))


def module_of(trace: Trace, links: Links, row: int) -> str:
    """Return the innermost nn.Module around ``row`` (``Linear_3``), or "" where none was recorded."""
    for frame in links.frames(row):
        name = trace.name(frame)
        if name.startswith(_MODULE):
            return name.removeprefix(_MODULE)
    return ""


def python_line(trace: Trace, links: Links, row: int) -> str:
    """Return the innermost python frame around ``row`` that is neither torch's nor the interpreter's (``train.py(12): step``), or ""."""
    for frame in links.frames(row):
        name = trace.name(frame)
        if not _NOT_USERS.search(name):
            return name
    return ""
