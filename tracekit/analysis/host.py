"""Host time that no event explains, and host time that the GPU waits for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracekit.analysis.idle import Idle
from tracekit.linking import Links
from tracekit.trace import CALLS, I64, Category, Trace

DISPATCHES = 4
"""Self time up to so many usual dispatches is no news: ops differ in the checks that they make before they launch."""

DISPATCH_CEILING_NS = 50_000
"""Where one op launches everything and plans each time, its own median would pass for the usual; no dispatch takes longer than this."""


@dataclass(frozen=True)
class Host:
    """Arrays over all slices, length n.

    Attributes:
        dispatch_ns: What the dispatch of one launching op costs in this trace: the median over op names of the median self time of those that call
            the runtime directly, but at most ``DISPATCH_CEILING_NS``. 0 where there are none.
        opaque_ns: int64[n], for an op: self time beyond ``DISPATCHES`` dispatches; 0 for others.
        exposed_ns: int64[n], GPU idle time within the steps charged to the slice's self time.
    """

    dispatch_ns: int
    opaque_ns: I64
    exposed_ns: I64


def host_time(trace: Trace, links: Links, idle: Idle) -> Host:
    """Return opaque and exposed host time of every slice."""
    slices = trace.slices
    is_op = slices.category == Category.CPU_OP
    calls = np.flatnonzero(slices.is_any(CALLS) & (links.parent >= 0))
    launching = np.unique(links.parent[calls])
    launching = launching[is_op[launching]]
    dispatch = min(_typical(slices.name[launching], links.self_ns[launching]), DISPATCH_CEILING_NS)
    opaque = np.where(is_op, np.maximum(links.self_ns - DISPATCHES * dispatch, 0), 0)
    exposed = np.zeros(len(slices), dtype=np.int64)
    charged = idle.row >= 0
    np.add.at(exposed, idle.row[charged], idle.dur_ns[charged])
    return Host(dispatch, opaque, exposed)


def _typical(names: I64, self_ns: I64) -> int:
    """Return the median over names of the median time, so that one frequent op doesn't decide."""
    if not len(names):
        return 0
    order = np.lexsort((self_ns, names))
    names, self_ns = names[order], self_ns[order]
    first = np.flatnonzero(np.append(True, names[1:] != names[:-1]))
    count = np.diff(np.append(first, len(names)))
    return int(np.median(self_ns[first + count // 2]))
