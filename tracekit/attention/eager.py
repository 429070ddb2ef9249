"""Attention by hand: two matrix products with a softmax between, found by what the ops do and not by where they stand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracekit.attention.match import Draft
from tracekit.linking import Links
from tracekit.trace import ABSENT, I64, Category, Trace

_PRODUCTS = re.compile(r"aten::(bmm|baddbmm|mm)|extern_kernels(::|\.)(bmm|baddbmm|mm)")
_SOFTMAX = re.compile(r"aten::_softmax|triton_\w*?(?<!log)_softmax\w*")
_AROUND_SOFTMAX = ("aten::softmax", "aten::_safe_softmax", "softmax")
# Ops after which what came before is no longer part of this attention.
_ENDS = re.compile(
    r"aten::(addmm|linear|convolution|native_layer_norm|_fused_rms_norm|embedding|cross_entropy_loss|_log_softmax|_scaled_\w+|_flash\w+)"
)
_MOST_BEFORE, _MOST_AFTER = 24, 12
"""Compute ops that may stand between a product and the softmax: the longest real ones (mask built anew, casts both ways) have 17."""


def by_hand(trace: Trace, links: Links, taken: I64) -> list[Draft]:
    """Return the regions of hand-written attention.

    Args:
        trace: The trace.
        links: Its links.
        taken: int64[n], region that a slice belongs to already, or -1.
    """
    slices = trace.slices
    names = trace.strings
    is_op = slices.category == Category.CPU_OP
    softmax = np.isin(slices.name, names.ids_where(_SOFTMAX.fullmatch)) & is_op & (taken < 0) & ~links.backward
    if not softmax.any():
        return []
    products = np.isin(slices.name, names.ids_where(_PRODUCTS.fullmatch)) & is_op
    ends = np.isin(slices.name, names.ids_where(_ENDS.match)) & is_op
    # Only ops that launch work count as steps between; on a CPU trace, leaves.
    works = products | ends | softmax
    works[links.op[links.op >= 0]] = True
    if not len(links.gpu):
        parents = np.zeros(len(slices), dtype=bool)
        parents[links.parent[links.parent >= 0]] = True
        works |= is_op & ~parents
    drafts = []
    order = np.flatnonzero(works)
    thread = slices.thread[order]
    for one in np.unique(thread[softmax[order]]):
        mine = order[thread == one]
        at = np.flatnonzero(softmax[mine])
        for place in at.tolist():
            qk = _nearest(mine[:place][::-1], products, ends | softmax, _MOST_BEFORE)
            pv = _nearest(mine[place + 1 :], products, ends | softmax, _MOST_AFTER)
            if qk >= 0 and pv >= 0:
                draft = _draft(trace, links, qk, int(mine[place]), pv)
                if draft is not None:
                    drafts.append(draft)
    return drafts


def _nearest(rows: I64, wanted: Any, stops: Any, most: int) -> int:
    """Return the first wanted row, -1 if something else ends the search."""
    for row in rows[:most].tolist():
        if wanted[row]:
            return int(row)
        if stops[row]:
            return ABSENT
    return ABSENT


def _draft(trace: Trace, links: Links, qk: int, softmax: int, pv: int) -> Draft | None:
    shapes = _shapes_agree(_dims(trace, qk), _dims(trace, softmax), _dims(trace, pv))
    if shapes is False:
        return None
    rows = _between(trace, links, qk, softmax, pv)
    if not rows:
        return None
    compiled = trace.name(softmax).startswith("triton_")
    backend = "compiled" if compiled else "eager"
    if not compiled:
        masks = [trace.name(row) for row in rows]
        if "aten::masked_fill_" in masks and "aten::masked_fill" not in masks:
            backend = "eager_inplace"
    return Draft(rows, backend, False, [qk], confidence=0.95 if shapes else 0.6, qk=qk, softmax=softmax, pv=pv)


def _dims(trace: Trace, row: int) -> list[Any]:
    dims = trace.args(row).get("Input Dims", [])
    return [one for one in dims if isinstance(one, list) and len(one) >= 2] if isinstance(dims, list) else []


def _shapes_agree(qk: Sequence[Any], softmax: Sequence[Any], pv: Sequence[Any]) -> bool | None:
    """Say whether scores of the first product go through the softmax into the second; None where shapes weren't recorded."""
    if not qk or not pv:
        return None
    product = qk[-2:] if len(qk) == 2 else qk[:2] if len(qk[0]) == len(qk[1]) else qk[-2:]
    rows, columns = product[0][-2], product[1][-1]
    if list(pv[0][-2:]) != [rows, columns] or pv[1][-2] != columns:
        return False
    if softmax and list(softmax[0][-2:]) not in ([rows, columns], [columns, rows]):
        # A generated kernel may see the scores flattened.
        return None if len(softmax[0]) == 2 else False
    return bool(rows > 1 or columns > 1)


def _between(trace: Trace, links: Links, qk: int, softmax: int, pv: int) -> list[int]:
    """Return the outermost ops from the first product to the second, below what encloses both."""
    chains = [[row, *links.ancestors(row)] for row in (qk, softmax, pv)]
    common = next((row for row in chains[0] if row in chains[1] and row in chains[2]), ABSENT)
    tops = [_below(chain, common) for chain in chains]
    first, last = tops[0], tops[2]
    if first < 0 or last < 0:
        return []
    slices = trace.slices
    span = np.arange(first, last + 1)
    inside = (links.parent[span] == common) & (slices.thread[span] == slices.thread[qk]) & (slices.category[span] == Category.CPU_OP)
    return [int(row) for row in span[inside]]


def _below(chain: Sequence[int], common: int) -> int:
    """Return the member of a chain of ancestors that lies directly below ``common``."""
    if common < 0:
        return chain[-1]
    at = chain.index(common)
    return chain[at - 1] if at else ABSENT


def by_kernels(classes: Sequence[str], launch: I64, order: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return runs of GPU events without ops that look like attention by hand: product, softmax, product, with elementwise work between.

    Args:
        classes: Kernel class of each GPU event.
        launch: int64[g], launch of each.
        order: Indices of the events to look at, in order of time.

    Returns:
        Triples of places in ``order``: first product, softmax, second product.
    """
    found = []
    for at, event in enumerate(order):
        if classes[event] != "softmax":
            continue
        qk = _gemm(classes, launch, order, range(at - 1, max(at - 8, -1), -1), event)
        pv = _gemm(classes, launch, order, range(at + 1, min(at + 6, len(order))), event)
        if qk is not None and pv is not None:
            found.append((qk, at, pv))
    return found


def _gemm(classes: Sequence[str], launch: I64, order: Sequence[int], places: range, event: int) -> int | None:
    for place in places:
        name = classes[order[place]]
        if launch[order[place]] != launch[event]:
            return None
        if name.startswith("gemm"):
            return place
        if not name.startswith(("elementwise", "memcpy", "memset", "random")):
            return None
    return None
