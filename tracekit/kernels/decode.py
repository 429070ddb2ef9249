"""What a kernel's name says about itself: number format, tile, architecture, tensor cores. Where it says nothing, None."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from tracekit.kernels.classify import NAME_LIMIT, classify


@dataclass(frozen=True)
class Decoded:
    """What a name says.

    Attributes:
        dtype: Number format of the inputs: ``fp32``, ``tf32``, ``bf16``, ``fp16``, ``fp8``, ``fp64``, ``int8``, …
        tile: Size of a block's tile, ``128x256x64`` or ``128x256``.
        arch: Architecture that it was compiled for: ``sm80``, ``sm90``, ``gfx942``, …
        tensor_cores: Whether the matrix product uses tensor (matrix) cores.
    """

    dtype: str | None = None
    tile: str | None = None
    arch: str | None = None
    tensor_cores: bool | None = None


_ARCH = re.compile(r"(?:^|_|\b)(sm_?\d{2,3})(?:_|\b|x|a\b)|ISA(9[0-9a-f]{2}|1[0-9]{3})|\b(gfx\d+[a-f0-9]*)")
_FAMILY = (
    ("volta_", "sm70"),
    ("turing_", "sm75"),
    ("ampere_", "sm80"),
    ("cutlass_75_", "sm75"),
    ("cutlass_80_", "sm80"),
    ("cutlass_90_", "sm90"),
)
_TILES = (
    re.compile(r"MT(\d+x\d+x\d+)|_bt(\d+x\d+x\d+)_"),
    re.compile(r"tilesize(\d+x\d+x\d+)"),
    re.compile(r"nvjet_(?:sm\d+_)?\w+?_(\d+x\d+)_(\d+)x\d+"),
    re.compile(r"gemm_(?:\w+?_)?(\d+x\d+)_(\d+)x\d+"),
    re.compile(r"[sdhc]?gemm\w*?_(\d+x\d+)"),
    re.compile(r"_(\d+x\d+x\d+)x\d+(?:_|$)"),
    re.compile(r"aligned_(\d+x\d+)"),
)
_SIMT = re.compile(
    r"_simt_|_ffma_|_dfma_|(volta|ampere|maxwell|turing)_[sd]gemm|^void (gemv|gemmSN|gemmk1)|gemv|dot_kernel|splitKreduce|reduce_1Block"
)
_TENSOR = re.compile(
    r"tensorop|tf32|wgmma|nvjet_|_s?\d*(16816|1688|884)(gemm|fprop|dgrad|wgrad)?|h884|s884|hmma|imma|warpgroup|_utcmma|MI\d+x\d+x\d+|mfma"
)
_XMMA = re.compile(r"xmma_(?:gemm|fprop_implicit_gemm|dgrad\w*|wgrad\w*)_([a-z0-9]+?)([a-z]+\d+)_")
_TYPES = (
    ("fp8", re.compile(r"e4m3|e5m2|float8|fp8|\bF8|_f8")),
    ("fp4", re.compile(r"e2m1|mxfp4|nvfp4|fp4|f4gemm")),
    ("bf16", re.compile(r"(?i)bf16|bfloat16|DF16b|BFloat16")),
    ("fp16", re.compile(r"(?i)fp16|float16|\bhalf\b|_half|c10::Half|__half|_f16|s16816gemm_fp16|hgemm|h884|_fp16_|s1688gemm_fp16")),
    ("tf32", re.compile(r"(?i)tf32|cutlass_80_tensorop_s1688gemm_(?!bf16|f?p?16)|xmma_\w*_tf32")),
    ("fp64", re.compile(r"(?i)dgemm|double|f64f64|fp64")),
    ("int8", re.compile(r"(?i)int8|\bi8\b|igemm|s8s8|imma")),
    ("fp32", re.compile(r"(?i)sgemm|f32f32|<float\b|\bfloat\b|fp32")),
)
# Tensile: the letters after the two index groups: inputs, output and compute type (B bfloat16, H half, S single, D double, I8, F8).
_TENSILE = re.compile(r"Cijk_[A-Za-z]+_[A-Za-z]+_(BB|HH|SB|HS|F8|B8|I8|B|H|S|D)")
_TENSILE_TYPES = {
    "B": "bf16",
    "BB": "bf16",
    "H": "fp16",
    "HH": "fp16",
    "HS": "fp16",
    "S": "fp32",
    "SB": "fp32",
    "D": "fp64",
    "F8": "fp8",
    "B8": "fp8",
    "I8": "int8",
}
# nvjet_[smNN_]XYZ: one letter each for A, B and D: h is a 16-bit format, of which the name doesn't say which; t the same with a bfloat16 build.
_NVJET = re.compile(r"^nvjet_(?:sm(\d+)_)?([a-z]{3,4})_")
_NVJET_TYPES = {"q": "fp8", "s": "fp32", "d": "fp64", "h": "fp16", "t": "bf16", "o": "fp4"}


@functools.lru_cache(maxsize=8192)
def decode(name: str) -> Decoded:
    """Return what a kernel's name says.

    Sources: CUTLASS's naming of its instances, Tensile's of its solutions, and the names that cuBLAS and cuDNN use; a part that isn't understood is None.
    """
    name = name[:NAME_LIMIT]
    return Decoded(_dtype(name), _tile(name), _arch(name), _tensor_cores(name))


def _dtype(name: str) -> str | None:
    if found := _NVJET.match(name):
        return _NVJET_TYPES.get(found[2][0])
    if found := _TENSILE.search(name):
        return _TENSILE_TYPES[found[1]]
    if name.startswith(("Memcpy", "Memset", "__amd_rocclr", "cudnn_generated")):
        return None  # cuDNN writes f16 for both 16-bit formats
    for dtype, pattern in _TYPES:
        if pattern.search(name):
            return dtype
    return None


def _tile(name: str) -> str | None:
    for pattern in _TILES:
        if found := pattern.search(name):
            return "x".join(part for part in found.groups() if part)
    return None


def _arch(name: str) -> str | None:
    if found := _ARCH.search(name):
        if found[2]:
            return f"gfx{found[2]}"
        return (found[1] or found[3]).replace("_", "")
    return next((arch for prefix, arch in _FAMILY if prefix in name), None)


def _tensor_cores(name: str) -> bool | None:
    """Only a matrix product, a convolution or attention can tell: for anything else the question has no sense."""
    if classify(name).split(".")[0] not in {"gemm", "conv", "attention"}:
        return None
    if _SIMT.search(name):
        return False
    if _TENSOR.search(name) or "flash" in name or "fmha_cutlass" in name:
        return True
    if found := _XMMA.search(name):
        return found[1] != "f32f32"
    return None
