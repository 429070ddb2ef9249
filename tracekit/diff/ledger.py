"""The ledgers: GPU time, idle time and host time of a step on both sides, row by row, adding up to the difference."""

from __future__ import annotations

import numpy as np

from tracekit.analysis.idle import Cause
from tracekit.diff.align import Bundle, Pair, align, bundles
from tracekit.diff.causes import cause_of
from tracekit.diff.result import CpuRow, IdleDelta, LedgerRow
from tracekit.diff.sides import SideData
from tracekit.linking import Role, call_roles
from tracekit.trace import CALLS, I64, Category


def gpu_rows(a: SideData, b: SideData) -> tuple[LedgerRow, ...]:
    """Return the GPU ledger, largest change first: its rows add up to the difference of busy time."""
    rows = [_row(pair, a, b) for pair in align(bundles(a), bundles(b))]
    rows.append(_overlap(rows, a, b))
    return tuple(sorted((row for row in rows if row.a_count or row.b_count or row.delta_ns), key=_order))


def _order(row: LedgerRow | CpuRow | IdleDelta) -> tuple[float, float, str]:
    return (-abs(row.delta_ns), -max(row.a_ns, row.b_ns), getattr(row, "region", "") or getattr(row, "name", ""))


def _row(pair: Pair, a: SideData, b: SideData) -> LedgerRow:
    one = pair.b or pair.a
    assert one is not None
    a_ns, b_ns = _mean(pair.a, a), _mean(pair.b, b)
    # The same name whichever side comes first: a diff the other way round has the same rows.
    places = sorted({bundle.region for bundle in (pair.a, pair.b) if bundle})
    return LedgerRow(
        region=" | ".join(places),
        match="matched" if pair.a and pair.b else "only_a" if pair.a else "only_b",
        stage=one.stage,
        class_=one.class_,
        a_ns=a_ns,
        b_ns=b_ns,
        delta_ns=b_ns - a_ns,
        a_count=pair.a.count / a.count if pair.a else 0.0,
        b_count=pair.b.count / b.count if pair.b else 0.0,
        a_kernels=_names(pair.a),
        b_kernels=_names(pair.b),
        cause=cause_of(pair, a, b),
        confidence=pair.confidence,
    )


def _mean(bundle: Bundle | None, side: SideData) -> float:
    return bundle.ns / side.count if bundle else 0.0


def _names(bundle: Bundle | None) -> tuple[str, ...]:
    return tuple(sorted(bundle.kernels, key=lambda name: (-bundle.kernels[name], name))) if bundle else ()


def _overlap(rows: list[LedgerRow], a: SideData, b: SideData) -> LedgerRow:
    """Return the row that turns sums into busy time.

    Below nothing: kernels that run at once are counted once in busy time. Above: work of another step that runs in the windows.
    """
    deltas = []
    for side, of in ((a, [row.a_ns for row in rows]), (b, [row.b_ns for row in rows])):
        deltas.append(side.mean(side.analysis.windows.busy_ns) - sum(of))
    return LedgerRow(
        "run at once, or in another step's window",
        "overlap",
        None,
        "other",
        deltas[0],
        deltas[1],
        deltas[1] - deltas[0],
        0,
        0,
        (),
        (),
        "",
        1.0,
    )


def idle_rows(a: SideData, b: SideData) -> tuple[IdleDelta, ...]:
    """Return the idle ledger, largest change first: its rows add up to the difference of idle time."""
    found: dict[tuple[str, str], list[float]] = {}
    for which, side in enumerate((a, b)):
        for key, ns in _idle(side).items():
            found.setdefault(key, [0.0, 0.0])[which] = ns / side.count
    rows = [IdleDelta(kind, name, one[0], one[1], one[1] - one[0]) for (kind, name), one in found.items()]
    return tuple(sorted(rows, key=_order))


def _idle(side: SideData) -> dict[tuple[str, str], int]:
    idle, slices = side.analysis.idle, side.analysis.trace.slices
    mine = np.isin(idle.step, side.steps)
    out: dict[tuple[str, str], int] = {}
    names = np.where(idle.row[mine] >= 0, slices.name[idle.row[mine]], -1) if len(slices) else idle.row[mine]
    keys, at = np.unique(np.stack((idle.cause[mine].astype(np.int64), names.astype(np.int64))), axis=1, return_inverse=True)
    time = np.zeros(keys.shape[1], dtype=np.int64)
    np.add.at(time, at.reshape(-1), idle.dur_ns[mine])
    for (cause, name), ns in zip(keys.T.tolist(), time.tolist(), strict=True):
        out[Cause(cause).name.lower(), side.analysis.trace.strings[name] if name >= 0 else ""] = ns
    return out


def cpu_rows(a: SideData, b: SideData) -> tuple[CpuRow, ...]:
    """Return the host's self time by op and call, largest change first."""
    sides = [_host(side) for side in (a, b)]
    rows = []
    for key in dict.fromkeys((*sides[0], *sides[1])):
        one, two = (of.get(key, (0, 0, 0)) for of in sides)
        a_ns, b_ns = one[0] / a.count, two[0] / b.count
        rows.append(CpuRow(*key, a_ns, b_ns, b_ns - a_ns, one[1] / a.count, two[1] / b.count, one[2] / a.count, two[2] / b.count))
    return tuple(sorted(rows, key=_order))


def _host(side: SideData) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Return self time, calls and opaque time by kind and name."""
    analysis = side.analysis
    slices = analysis.trace.slices
    rows = np.flatnonzero(side.hosts_in_steps & slices.is_any((Category.CPU_OP, *CALLS)))
    roles = call_roles(analysis.trace)[rows]
    kind = np.where(slices.category[rows] == Category.CPU_OP, 0, np.where(roles == Role.SYNC, 2, 1)).astype(np.int64)
    keys, at = np.unique(np.stack((kind, slices.name[rows].astype(np.int64))), axis=1, return_inverse=True)
    at = at.reshape(-1)

    def total(values: I64) -> list[int]:
        out = np.zeros(keys.shape[1], dtype=np.int64)
        np.add.at(out, at, values)
        return [int(one) for one in out]

    columns = zip(
        total(analysis.links.self_ns[rows]), total(np.ones(len(rows), np.int64)), total(analysis.host.opaque_ns[rows]), strict=True
    )
    kinds = ("op", "call", "sync")
    return {(kinds[k], analysis.trace.strings[name]): values for (k, name), values in zip(keys.T.tolist(), columns, strict=True)}
