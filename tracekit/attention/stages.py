"""Which stage of attention a GPU event belongs to."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.attention.match import Draft
from tracekit.linking import Links
from tracekit.trace import Trace

_MASK = {
    "aten::masked_fill",
    "aten::masked_fill_",
    "aten::where",
    "aten::tril",
    "aten::triu",
    "aten::ones",
    "aten::ones_like",
    "aten::zeros",
    "aten::full",
    "aten::zeros_like",
    "aten::scalar_tensor",
    "aten::logical_not",
    "aten::bitwise_not",
    "aten::lt",
    "aten::le",
    "aten::gt",
    "aten::ge",
    "aten::eq",
    "aten::add",
    "aten::add_",
    "aten::fill_",
}
_SOFTMAX = {"aten::softmax", "aten::_softmax", "aten::_safe_softmax", "aten::_softmax_backward_data"}
_SCALE = {"aten::mul", "aten::mul_", "aten::div", "aten::div_"}
_CAST = {"aten::to", "aten::_to_copy"}
_COPY = {"aten::clone", "aten::contiguous", "aten::copy_", "aten::reshape", "aten::cat", "aten::repeat_interleave", "aten::expand"}
_PRODUCTS = ("aten::bmm", "aten::baddbmm", "aten::mm", "aten::matmul", "aten::einsum", "extern_kernels")


def path(trace: Trace, links: Links, row: int, roots: Sequence[int]) -> list[str]:
    """Return the names from ``row`` up to its root, inner to outer; only what lies inside the region."""
    names = []
    while row >= 0:
        names.append(trace.name(row))
        if row in roots:
            break
        row = int(links.parent[row])
    return names


def stage(names: Sequence[str], class_: str, kernel: str, *, second: bool) -> str:
    """Return the stage of a GPU event.

    Args:
        names: Names of the ops around it, inner to outer.
        class_: Its kernel class.
        kernel: Its own name: all there is where no op was recorded.
        second: Whether it comes after the softmax.
    """
    if class_.startswith("attention."):
        return "fused"
    if class_ == "memset":
        return "other"
    around = set(names)
    if class_.startswith("gemm"):
        return "pv" if second else "qk"
    if around & _SOFTMAX or class_ == "softmax" or any("softmax" in name for name in names):
        return "softmax"
    if class_.startswith("memcpy"):
        return "copy"
    if around & _CAST:
        return "cast"
    if names and names[0].startswith(_PRODUCTS):
        return "pv" if second else "qk"
    if class_.startswith("elementwise.copy") or (around & _COPY and not around & _MASK):
        return "copy"
    if around & _SCALE or (not names and "MulFunctor" in kernel[:1000]):
        return "scale"
    if around & _MASK or class_ in {"elementwise.mask", "elementwise.fill"}:
        return "mask"
    return "other"


def fill_stages(trace: Trace, links: Links, draft: Draft, classes: Sequence[str]) -> None:
    """Set the stage of each GPU event of a region."""
    roots = set(draft.rows)
    for g in draft.gpu:
        op = int(links.op[g])
        names = path(trace, links, op, list(roots)) if op >= 0 else []
        if draft.softmax < 0 and "softmax" in classes[g]:
            draft.softmax = op
        second = 0 <= draft.softmax < op
        draft.stage.append(stage(names, classes[g], trace.name(int(links.gpu[g])), second=second))
