"""What the inputs of an attention call say: shapes, dtype, causal or not, least work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracekit.attention.match import Draft
from tracekit.linking import Links
from tracekit.trace import Trace

_DTYPES = {
    "c10::BFloat16": ("bfloat16", 2),
    "BFloat16": ("bfloat16", 2),
    "c10::Half": ("float16", 2),
    "Half": ("float16", 2),
    "float": ("float32", 4),
    "double": ("float64", 8),
    "c10::Float8_e4m3fn": ("float8_e4m3fn", 1),
    "c10::Float8_e5m2": ("float8_e5m2", 1),
}
# Where each op has is_causal among its inputs (torch, native_functions.yaml).
_CAUSAL_AT = {
    "aten::scaled_dot_product_attention": 5,
    "aten::_scaled_dot_product_flash_attention": 4,
    "aten::_scaled_dot_product_efficient_attention": 6,
    "aten::_scaled_dot_product_cudnn_attention": 6,
    "aten::_scaled_dot_product_attention_math": 5,
    "aten::_flash_attention_forward": 8,
    "aten::_scaled_dot_product_flash_attention_backward": 11,
    "aten::_scaled_dot_product_efficient_attention_backward": 11,
    "aten::_scaled_dot_product_cudnn_attention_backward": 14,
}
_MASK_AT = {
    "aten::scaled_dot_product_attention": 3,
    "aten::_scaled_dot_product_efficient_attention": 3,
    "aten::_scaled_dot_product_cudnn_attention": 3,
    "aten::_scaled_dot_product_attention_math": 3,
}
_SEQUENCE_SECOND = ("aten::_flash_attention_forward", "aten::_flash_attention_backward", "flash_attn")


@dataclass(frozen=True)
class Inputs:
    """What is known of a call's inputs.

    Attributes:
        q, k, v: Shapes as recorded, () where unknown. Queries are [batch, heads, sequence, width].
        dtype: Of q, or None.
        dtype_bytes: Its size, or None.
        causal: Whether the mask is causal; None where the trace doesn't say.
        mask: Shape of an explicit mask, or None.
    """

    q: tuple[int, ...] = ()
    k: tuple[int, ...] = ()
    v: tuple[int, ...] = ()
    dtype: str | None = None
    dtype_bytes: int | None = None
    causal: bool | None = None
    mask: tuple[int, ...] | None = None

    @property
    def text(self) -> str | None:
        """The shapes in words."""
        if not self.q:
            return None
        if self.q == self.k == self.v:
            return f"qkv[{','.join(map(str, self.q))}]"
        names = (("q", self.q), ("k", self.k), ("v", self.v))
        return " ".join(f"{name}[{','.join(map(str, dims))}]" for name, dims in names if dims)


def inputs_of(trace: Trace, links: Links, draft: Draft) -> Inputs:
    """Return what the recorded inputs of a region say."""
    if draft.qk >= 0:
        return _by_hand(trace, links, draft)
    for row in draft.mains:
        found = _fused(trace.name(row), trace.args(row))
        if found.k:
            return found
    return Inputs()


def _shape(dims: Any, at: int) -> tuple[int, ...]:
    if isinstance(dims, list) and at < len(dims) and isinstance(dims[at], list) and all(isinstance(n, int) for n in dims[at]):
        return tuple(dims[at])
    return ()


def _dtype(types: Any, at: int) -> tuple[str | None, int | None]:
    if isinstance(types, list) and at < len(types) and isinstance(types[at], str):
        return _DTYPES.get(types[at], (None, None))
    return None, None


def _fused(name: str, args: Mapping[str, Any]) -> Inputs:
    dims, types, concrete = args.get("Input Dims"), args.get("Input type"), args.get("Concrete Inputs")
    first = 1 if "backward" in name.lower() and len(_shape(dims, 1)) == 4 else 0
    q, k, v = (_shape(dims, first + i) for i in range(3))
    if len(q) < 3 or len(k) < 3:
        return Inputs()
    if name.startswith(_SEQUENCE_SECOND) and len(q) == 4:
        q, k, v = ((s[0], s[2], s[1], s[3]) if len(s) == 4 else s for s in (q, k, v))
    dtype, size = _dtype(types, first)
    mask = _shape(dims, _MASK_AT[name]) if name in _MASK_AT else ()
    causal = None
    at = _CAUSAL_AT.get(name)
    if at is not None and isinstance(concrete, list) and at < len(concrete) and concrete[at] in {"True", "False"}:
        causal = concrete[at] == "True"
        if not causal and mask:
            causal = None  # the mask may be anything
    return Inputs(q, k, v, dtype, size, causal, mask or None)


def _by_hand(trace: Trace, links: Links, draft: Draft) -> Inputs:
    def of(row: int) -> tuple[Mapping[str, Any], str]:
        up = int(links.parent[row])
        if up >= 0 and trace.name(up) == "aten::matmul":
            return trace.args(up), "aten::matmul"
        return trace.args(row), trace.name(row)

    first, name = of(draft.qk)
    second, other = of(draft.pv)
    skip, skip_second = (int(one.endswith("baddbmm")) for one in (name, other))
    q, turned = _shape(first.get("Input Dims"), skip), _shape(first.get("Input Dims"), skip + 1)
    v = _shape(second.get("Input Dims"), skip_second + 1)
    if len(q) < 3 or len(turned) < 3:
        return Inputs()
    k = (*turned[:-2], turned[-1], turned[-2])
    dtype, size = _dtype(first.get("Input type"), skip)
    return Inputs(q, k, v, dtype, size)


def useful_flops(inputs: Inputs, *, backward: bool) -> int | None:
    """Return the least operations of the two products, a multiplication and an addition each; of five in the backward pass.

    A causal mask (upper left, as torch's ``is_causal`` means it) leaves ``Σ min(i + 1, Sk)`` of the ``Sq × Sk`` pairs. Where the trace doesn't say whether
    the mask is causal, all pairs count. Source: FlashAttention, section 3.1; the backward pass has 5 products to the forward's 2.
    """
    if len(inputs.q) < 3 or len(inputs.k) < 3:
        return None
    rows, columns, width = inputs.q[-2], inputs.k[-2], inputs.q[-1]
    width_v = inputs.v[-1] if len(inputs.v) >= 3 else width
    pairs = rows * columns
    if inputs.causal:
        full = max(rows - columns, 0)
        pairs = (rows - full) * (rows - full + 1) // 2 + full * columns
    batch = _product(inputs.q[:-2])
    return 2 * batch * pairs * (3 * width + 2 * width_v if backward else width + width_v)


def least_bytes(inputs: Inputs, *, backward: bool) -> int | None:
    """Return the bytes of q, k, v and the output, each once; of these and all gradients in the backward pass."""
    if len(inputs.q) < 3 or len(inputs.k) < 3 or not inputs.dtype_bytes:
        return None
    v = inputs.v or inputs.k
    out = (*inputs.q[:-1], v[-1])
    sizes = [_product(one) for one in (inputs.q, inputs.k, v, out)]
    return inputs.dtype_bytes * (sum(sizes) * (2 if backward else 1))


def _product(numbers: Sequence[int]) -> int:
    out = 1
    for number in numbers:
        out *= number
    return out
