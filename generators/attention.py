"""Attention, written and run in each way that PyTorch has. One class a variant; each step is one causal self-attention."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from generators.harness import Options, Unavailable, Workload, runs

Tensor = torch.Tensor


def inputs(options: Options, *, grad: bool = False, sequence: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Return random q, k and v of shape [batch, heads, sequence, head_dim]."""
    generator = torch.Generator(device=options.device).manual_seed(options.seed)
    shape = (options.batch, options.heads, sequence or options.sequence, options.head_dim)
    made = [torch.randn(shape, generator=generator, device=options.device, dtype=options.torch_dtype) for _ in range(3)]
    for tensor in made:
        tensor.requires_grad_(grad)
    return made[0], made[1], made[2]


def shapes(options: Options) -> dict[str, Any]:
    """Return what the truth says of the inputs."""
    return {"q": [options.batch, options.heads, options.sequence, options.head_dim], "causal": True, "dtype": options.dtype}


def naive_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, *, inplace: bool) -> Tensor:
    """Attention by hand. ``mask`` is bool [sequence, sequence], True where a query may not look."""
    scores = q @ k.transpose(-2, -1)
    scores = scores * (1.0 / math.sqrt(q.shape[-1]))
    if inplace:
        scores.masked_fill_(mask, float("-inf"))
    else:
        scores = scores.masked_fill(mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ v


class Naive:
    """By hand, the mask filled out of place: masked_fill clones the scores first, and on the GPU that clone is a Memcpy."""

    name = "naive"
    inplace = False

    def make(self, options: Options) -> Workload:
        """Return the workload."""
        q, k, v = inputs(options)
        mask = torch.ones(options.sequence, options.sequence, dtype=torch.bool, device=options.device).triu(1)

        def step(_: int) -> None:
            with torch.no_grad():
                naive_attention(q, k, v, mask, inplace=self.inplace)

        return Workload(step, shapes(options))


class NaiveInplace(Naive):
    """The same with masked_fill_: no clone, no Memcpy. Safe here, as nothing needs the scores again."""

    name = "naive_inplace"
    inplace = True


class CompiledNaive:
    """The naive variant through torch.compile."""

    name = "compiled_naive"

    def make(self, options: Options) -> Workload:
        """Return the workload."""
        _need_compiler(options)
        q, k, v = inputs(options)
        mask = torch.ones(options.sequence, options.sequence, dtype=torch.bool, device=options.device).triu(1)
        compiled = torch.compile(lambda q, k, v, mask: naive_attention(q, k, v, mask, inplace=False))

        def step(_: int) -> None:
            with torch.no_grad():
                compiled(q, k, v, mask)

        step(0)
        return Workload(step, shapes(options))


class Sdpa:
    """F.scaled_dot_product_attention, pinned to one backend, or not pinned."""

    name = "sdpa_default"
    backend: SDPBackend | None = None

    def make(self, options: Options) -> Workload:
        """Return the workload."""
        q, k, v = inputs(options)
        call = pinned(self.backend)
        refused = refusal(lambda: call(q, k, v))
        if refused:
            raise Unavailable(refused)

        def step(_: int) -> None:
            with torch.no_grad():
                call(q, k, v)

        return Workload(step, shapes(options))


class SdpaMath(Sdpa):
    """The reference backend: upcasts, builds the mask anew, and uses the safe softmax."""

    name = "sdpa_math"
    backend = SDPBackend.MATH


class SdpaEfficient(Sdpa):
    """Memory-efficient attention: one fmha_cutlass kernel."""

    name = "sdpa_efficient"
    backend = SDPBackend.EFFICIENT_ATTENTION


class SdpaFlash(Sdpa):
    """FlashAttention-2: one kernel."""

    name = "sdpa_flash"
    backend = SDPBackend.FLASH_ATTENTION


class SdpaCudnn(Sdpa):
    """cuDNN's fused attention: one kernel, launched with cuLaunchKernelEx."""

    name = "sdpa_cudnn"
    backend = SDPBackend.CUDNN_ATTENTION


class SdpaCudnnNewShapes:
    """cuDNN with another length in each step: it has to plan anew each time, on the CPU."""

    name = "sdpa_cudnn_new_shapes"

    def make(self, options: Options) -> Workload:
        """Return the workload."""
        call = pinned(SDPBackend.CUDNN_ATTENTION)
        same = inputs(options)
        refused = refusal(lambda: call(*same))
        if refused:
            raise Unavailable(refused)
        # Lengths close to the one asked for, so that the GPU's work is about that of the plain variant; none comes twice. Made beforehand: the
        # kernels that make inputs aren't part of the step.
        made = {number: inputs(options, sequence=max(options.sequence - 4 * number, 1)) for number in range(runs(options.steps))}

        def step(number: int) -> None:
            with torch.no_grad():
                call(*made[number])

        def warm(_: int) -> None:
            with torch.no_grad():
                call(*same)

        return Workload(step, shapes(options) | {"sequence": "another in each step"}, warm=warm)


class Flex:
    """flex_attention with a causal block mask: a kernel generated by the compiler."""

    name = "flex"

    def make(self, options: Options) -> Workload:
        """Return the workload."""
        _need_compiler(options)
        try:
            from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        except ImportError as error:
            raise Unavailable("this torch has no flex_attention") from error
        q, k, v = inputs(options)
        length = options.sequence
        mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, length, length, device=options.device)
        compiled = torch.compile(flex_attention)

        def step(_: int) -> None:
            with torch.no_grad():
                compiled(q, k, v, block_mask=mask)

        step(0)
        return Workload(step, shapes(options))


class Train:
    """Forward and backward of a pinned backend."""

    name = "train_flash"
    backend: SDPBackend = SDPBackend.FLASH_ATTENTION

    def make(self, options: Options) -> Workload:
        """Return the workload."""
        q, k, v = inputs(options, grad=True)
        call = pinned(self.backend)
        grad = torch.ones_like(q)
        refused = refusal(lambda: call(q, k, v).backward(grad))
        if refused:
            raise Unavailable(refused)

        def step(_: int) -> None:
            q.grad = k.grad = v.grad = None
            call(q, k, v).backward(grad)

        return Workload(step, shapes(options))


class TrainFlash(Train):
    """Flash, both passes."""


class TrainEfficient(Train):
    """Memory-efficient attention, both passes."""

    name = "train_efficient"
    backend = SDPBackend.EFFICIENT_ATTENTION


class TrainCudnn(Train):
    """cuDNN, both passes."""

    name = "train_cudnn"
    backend = SDPBackend.CUDNN_ATTENTION


class TrainMath(Train):
    """Math, both passes."""

    name = "train_math"
    backend = SDPBackend.MATH


class CudaGraph:
    """Naive attention, captured once and replayed in each step: one launch, all kernels."""

    name = "cuda_graph"

    def make(self, options: Options) -> Workload:
        """Return the workload."""
        if options.device != "cuda":
            raise Unavailable("CUDA graphs need a CUDA device")
        q, k, v = inputs(options)
        mask = torch.ones(options.sequence, options.sequence, dtype=torch.bool, device=options.device).triu(1)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side), torch.no_grad():
            for _ in range(3):
                naive_attention(q, k, v, mask, inplace=True)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph), torch.no_grad():
            naive_attention(q, k, v, mask, inplace=True)
        return Workload(lambda _: graph.replay(), shapes(options))


class TwoStreams:
    """Two independent attentions on two streams at once."""

    name = "two_streams"

    def make(self, options: Options) -> Workload:
        """Return the workload."""
        if options.device != "cuda":
            raise Unavailable("streams need a CUDA device")
        first, second = inputs(options), inputs(options)
        call = pinned(SDPBackend.FLASH_ATTENTION)
        refused = refusal(lambda: call(*first))
        if refused:
            raise Unavailable(refused)
        streams = torch.cuda.Stream(), torch.cuda.Stream()

        def step(_: int) -> None:
            current = torch.cuda.current_stream()
            with torch.no_grad():
                for stream, tensors in zip(streams, (first, second), strict=True):
                    stream.wait_stream(current)
                    with torch.cuda.stream(stream):
                        call(*tensors)
                for stream in streams:
                    current.wait_stream(stream)

        return Workload(step, shapes(options))


def pinned(backend: SDPBackend | None) -> Callable[..., Tensor]:
    """Return causal attention that may use only ``backend``; any, if None."""

    def call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        if backend is None:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    return call


def refusal(call: Callable[[], Any]) -> str:
    """Try a call and return why it was refused, in one line; "" if it wasn't. A pinned backend is never silently replaced."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except RuntimeError as error:
            reasons = [str(warning.message).split(" (Triggered")[0].strip() for warning in caught]
            lines = str(error).splitlines() or [type(error).__name__]
            return " ".join((lines[0] + (f" ({'; '.join(dict.fromkeys(reasons))})" if reasons else "")).split())[:300]
    return ""


def _need_compiler(options: Options) -> None:
    if options.device == "cuda":
        try:
            import triton  # noqa: F401
        except ImportError as error:
            raise Unavailable("torch.compile needs triton on a GPU") from error


VARIANTS = (
    Naive,
    NaiveInplace,
    SdpaMath,
    SdpaEfficient,
    SdpaFlash,
    SdpaCudnn,
    Sdpa,
    SdpaCudnnNewShapes,
    Flex,
    CompiledNaive,
    TrainEfficient,
    TrainFlash,
    TrainCudnn,
    TrainMath,
    CudaGraph,
    TwoStreams,
)
