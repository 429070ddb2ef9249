"""Short names: what a person would call a kernel whose name fills half a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from tracekit.kernels.classify import NAME_LIMIT

_ANONYMOUS = re.compile(r"\(anonymous namespace\)::|<unnamed>::|\{anonymous\}::|_GLOBAL__N__\w+::")
_NAMESPACES = re.compile(
    r"\b(?:at|native|c10|cuda|cub|thrust|detail|std|internal|binary_internal|templates|at_cuda_detail|rocprim|ROCPRIM_\d+_NS|pytorch_flash|cutlass|fbgemm_gpu|cudnn|ops|vllm|policy_hub|cublas|cublasLt)::"
)
_RETURNS = re.compile(r"^(?:void|int|float|auto)\s+")
# What an elementwise kernel does stands in its functor; the kernel's own name says only how it walks the tensor.
_WALKERS = re.compile(
    r"^(?:vectorized_|unrolled_|legacy_)?(?:elementwise_kernel\w*|elementwise_kernel_manual_unroll|index_elementwise_kernel)$|^multi_tensor_apply_kernel$|^reduce_kernel$"
)
_FUNCTOR = re.compile(r"\b(\w*(?:[Ff]unctor|_kernel_cuda|_kernel_impl|_kernel|Op)\w*)\b")
_DULL = {
    "gpu_kernel_impl",
    "gpu_kernel_impl_nocast",
    "BinaryFunctor",
    "AUnaryFunctor",
    "BUnaryFunctor",
    "ReduceOp",
    "func_wrapper_t",
    "TensorIteratorBase",
    "CUDAFunctor",
    "opmath_gpu_kernel_with_scalars",
    "gpu_kernel_with_scalars",
    "DivOp",
}
_TYPES = re.compile(r"<\s*(?:\d+[uUlL]*\s*,\s*)*(?:c10::)?(float|double|half|Half|BFloat16|long|int|bool|bfloat16_t)\b")
_TIDY = re.compile(r"^(CUDAFunctor_?|CUDAFunctorOn(?:Self|Other)_?)|(_?[Ff]unctor|_kernel_cuda|_kernel_impl|_impl|_kernel|_cuda)+$")
_MANGLED = re.compile(r"^_Z(?:N?K?\d)")


def short_name(name: str) -> str:
    """Return a short name for a kernel: its function and what tells it from its kin, without namespaces and template arguments."""
    if len(name) > NAME_LIMIT:
        name = name[:NAME_LIMIT]
    if name.startswith(("Memcpy", "Memset", "triton_", "nvjet_", "nccl")):
        return re.split(r"[(<]", name, maxsplit=1)[0].strip() if name.startswith("nccl") else name
    if _MANGLED.match(name):
        return _demangled(name)
    plain = _NAMESPACES.sub("", _ANONYMOUS.sub("", _RETURNS.sub("", name)))
    function = re.split(r"[<(]", plain, maxsplit=1)[0].rsplit("::", 1)[-1].strip() or plain[:80]
    rest = plain[len(re.split(r"[<(]", plain, maxsplit=1)[0]) :]
    if _WALKERS.match(function):
        return _walker(function, rest)
    if function in {"Kernel", "Kernel2", "kernel", "device_kernel", "trampoline_kernel"} or function.endswith("Kernel2"):
        inner = re.search(r"<\s*([\w:]+)", rest)
        if inner:
            return inner[1].rsplit("::", 1)[-1]
    dtype = _TYPES.search(rest[:200])
    return function + (f" {_type(dtype[1])}" if dtype else "")


def _walker(function: str, rest: str) -> str:
    kind = "reduce" if function == "reduce_kernel" else "foreach" if function.startswith("multi_tensor") else "elementwise"
    found = [word for word in _FUNCTOR.findall(rest[:1500]) if word not in _DULL and not word.startswith("gpu_kernel")]
    word = next((_TIDY.sub("", one) for one in found if _TIDY.sub("", one)), "")
    dtype = _TYPES.search(rest)
    return " ".join(part for part in (kind, word, _type(dtype[1]) if dtype else "") if part)


def _type(word: str) -> str:
    return {
        "BFloat16": "bf16",
        "bfloat16_t": "bf16",
        "Half": "fp16",
        "half": "fp16",
        "float": "fp32",
        "double": "fp64",
        "long": "int64",
        "int": "int32",
    }.get(word, word)


def _demangled(name: str) -> str:
    """Return the identifiers of an Itanium-mangled name's path, the innermost one: ``_ZN5aiter8rms_normIfEEvPT_`` is ``rms_norm``."""
    at, above, last = 2, "", name
    if name[at : at + 1] == "N":
        at += 1
    while at < len(name) and name[at].isdigit():
        digits = re.match(r"\d+", name[at:])
        assert digits is not None
        length = int(digits[0][:4])
        at += len(digits[0])
        above, last = last, name[at : at + length]
        at += length
    return f"{above}::{last}" if last in {"Kernel", "Kernel2", "kernel"} and above != name else last or name


def short_names(names: Sequence[str], width: int) -> dict[str, str]:
    """Return a short name of at most ``width`` characters for each of some distinct names; different names stay different.

    Args:
        names: Names; repeats are taken once.
        width: Characters allowed, at least 4.

    Where two short names fall together, a number tells them apart, in the order given.
    """
    distinct = list(dict.fromkeys(names))
    width = max(width, 4)
    short = {name: _fitted(short_name(name), width) for name in distinct}
    count = Counter(short.values())
    taken = set(short.values())
    seen: Counter[str] = Counter()
    for name in distinct:
        text = short[name]
        if count[text] == 1:
            continue
        while True:
            seen[text] += 1
            mark = f" #{seen[text]}"
            numbered = _fitted(text, width - len(mark)) + mark
            if numbered not in taken or width <= len(mark):
                break
        taken.add(numbered)
        short[name] = numbered
    return short


def _fitted(text: str, width: int) -> str:
    """Return ``text`` cut in its middle: kernels of one family share their start, and often their end tells them apart."""
    if len(text) <= width:
        return text
    if width < 12:
        return text[: max(width - 1, 0)] + "…"
    tail = (width - 1) // 3
    return text[: width - 1 - tail] + "…" + text[len(text) - tail :]
