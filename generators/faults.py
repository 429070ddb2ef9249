"""Planted faults and their mends, each at a size that is bound by the host and one that is bound by the GPU.

``python -m generators.faults --out traces/faults`` records both sides of each pair with the unprofiled step times: what a finding predicts to be saved can be
held against what mending it really saved.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import click
import torch
import torch.nn.functional as F

from generators.attention import naive_attention
from generators.harness import Options, Unavailable, Workload, record, synchronize

Step = Callable[[int], object]
STEPS = 4


@dataclass(frozen=True)
class Size:
    """How large a workload is.

    Attributes:
        name: ``host`` (launching is the limit) or ``gpu``.
        batch, width, sequence, heads: Of the layers and of attention.
    """

    name: str
    batch: int
    width: int
    sequence: int
    heads: int


SIZES = (Size("host", 2, 256, 128, 4), Size("gpu", 8, 4096, 2048, 16))


@dataclass(frozen=True)
class Pair:
    """A fault and its mend: each makes the step of a size."""

    code: str
    fault: Callable[[Size], Step]
    mend: Callable[[Size], Step]


def layers(size: Size, count: int = 8, dtype: torch.dtype = torch.bfloat16) -> tuple[torch.nn.Sequential, torch.Tensor]:
    """Return a stack of linear layers and an input for it."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Linear(size.width, size.width) for _ in range(count))).to("cuda", dtype)
    return model, torch.randn(size.batch * size.sequence, size.width, device="cuda", dtype=dtype)


def qkv(size: Size, kv_heads: int | None = None) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return inputs for attention; k and v may have fewer heads."""
    torch.manual_seed(0)

    def made(heads: int) -> torch.Tensor:
        return torch.randn(size.batch, heads, size.sequence, 64, device="cuda", dtype=torch.bfloat16)

    return made(size.heads), made(kv_heads or size.heads), made(kv_heads or size.heads)


def mask_of(size: Size) -> torch.Tensor:
    """Return the causal mask, True where a query may not look."""
    return torch.ones(size.sequence, size.sequence, dtype=torch.bool, device="cuda").triu(1)


def quiet(step: Step) -> Step:
    """Return the step without gradients."""

    def run(number: int) -> None:
        with torch.no_grad():
            step(number)

    return run


def copy_pair(inplace: bool) -> Callable[[Size], Step]:
    """Return naive attention, the mask filled in place or not."""

    def make(size: Size) -> Step:
        q, k, v = qkv(size)
        mask = mask_of(size)
        return quiet(lambda _: naive_attention(q, k, v, mask, inplace=inplace))

    return make


def item_pair(asks: bool) -> Callable[[Size], Step]:
    """Return layers that look at a value after each, or don't."""

    def make(size: Size) -> Step:
        model, x = layers(size)

        def step(_: int) -> None:
            y = x
            for layer in model:
                y = layer(y)
                if asks and y[0, 0].item() > 1e30:
                    break

        return quiet(step)

    return make


def pinned_pair(pinned: bool) -> Callable[[Size], Step]:
    """Return layers behind a copy of the input from pageable or pinned memory."""

    def make(size: Size) -> Step:
        model, x = layers(size)
        host = x.cpu().pin_memory() if pinned else x.cpu()
        return quiet(lambda _: model(host.to("cuda", non_blocking=pinned)))

    return make


def loader_pair(stalls: bool) -> Callable[[Size], Step]:
    """Return layers behind a loader that takes as long as they do, or none."""

    def make(size: Size) -> Step:
        model, x = layers(size)

        def step(_: int) -> None:
            if stalls:
                with torch.profiler.record_function("dataloader.next_batch"):
                    time.sleep(0.005 if size.name == "host" else 0.03)
            model(x)

        return quiet(step)

    return make


def mask_pair(rebuilt: bool) -> Callable[[Size], Step]:
    """Return naive attention whose mask is built in the call, or kept."""

    def make(size: Size) -> Step:
        q, k, v = qkv(size)
        kept = mask_of(size)
        return quiet(lambda _: naive_attention(q, k, v, mask_of(size) if rebuilt else kept, inplace=True))

    return make


def upcast_pair(upcast: bool) -> Callable[[Size], Step]:
    """Return a product in float32 of bfloat16 tensors, or in bfloat16."""

    def make(size: Size) -> Step:
        torch.manual_seed(0)
        a = torch.randn(size.batch * size.sequence, size.width, device="cuda", dtype=torch.bfloat16)
        b = torch.randn(size.width, size.width, device="cuda", dtype=torch.bfloat16)

        def step(_: int) -> None:
            for _i in range(4):
                (a.float() @ b.float()).to(torch.bfloat16) if upcast else a @ b

        return quiet(step)

    return make


def optimizer_pair(fused: bool) -> Callable[[Size], Step]:
    """Return a training step with an optimizer that loops, or is fused."""

    def make(size: Size) -> Step:
        model, x = layers(replace(size, width=min(size.width, 1024)), count=16)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=fused, foreach=False)

        def step(_: int) -> None:
            optimizer.zero_grad(set_to_none=True)
            model(x).sum().backward()
            optimizer.step()

        return step

    return make


def cache_pair(emptied: bool) -> Callable[[Size], Step]:
    """Return layers after which the allocator's cache is emptied, or isn't."""

    def make(size: Size) -> Step:
        model, x = layers(size)

        def step(_: int) -> None:
            y = model(x)
            del y
            if emptied:
                torch.cuda.empty_cache()

        return quiet(step)

    return make


def gqa_pair(repeated: bool) -> Callable[[Size], Step]:
    """Return grouped-query attention with k and v repeated, or not."""

    def make(size: Size) -> Step:
        q, k, v = qkv(size, kv_heads=max(size.heads // 4, 1))

        def step(_: int) -> None:
            if repeated:
                F.scaled_dot_product_attention(q, k.repeat_interleave(4, dim=1), v.repeat_interleave(4, dim=1), is_causal=True)
            else:
                F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

        return quiet(step)

    return make


def graph_pair(graphed: bool) -> Callable[[Size], Step]:
    """Return many small layers, launched one by one or replayed as a graph."""

    def make(size: Size) -> Step:
        model, x = layers(replace(size, batch=1, width=min(size.width, 1024)), count=64)
        if not graphed:
            return quiet(lambda _: model(x))
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side), torch.no_grad():
            for _ in range(3):
                model(x)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph), torch.no_grad():
            model(x)
        return lambda _: graph.replay()

    return make


PAIRS: dict[str, Pair] = {
    "out_of_place": Pair("TK101", copy_pair(False), copy_pair(True)),
    "item": Pair("TK302", item_pair(True), item_pair(False)),
    "pageable": Pair("TK102", pinned_pair(False), pinned_pair(True)),
    "loader": Pair("TK304", loader_pair(True), loader_pair(False)),
    "mask": Pair("TK105", mask_pair(True), mask_pair(False)),
    "upcast": Pair("TK213", upcast_pair(True), upcast_pair(False)),
    "optimizer": Pair("TK402", optimizer_pair(False), optimizer_pair(True)),
    "empty_cache": Pair("TK305", cache_pair(True), cache_pair(False)),
    "kv_repeat": Pair("TK106", gqa_pair(True), gqa_pair(False)),
    "launches": Pair("TK303", graph_pair(False), graph_pair(True)),
}


@click.command(context_settings={"show_default": True})
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("traces/faults"), help="Folder to write to.")
@click.option("--pair", "names", default="all", help=f"One or several, joined by commas, of {', '.join(PAIRS)}.")
def main(out: Path, names: str) -> None:
    """Record planted faults and their mends.

    Example: python -m generators.faults --pair item,mask --out traces/faults
    """
    wanted = list(PAIRS) if names == "all" else names.split(",")
    unknown = [name for name in wanted if name not in PAIRS]
    if unknown:
        click.echo(f"generators: --pair: there is no {', '.join(unknown)}. Use {', '.join(PAIRS)}.", err=True)
        sys.exit(2)
    if not torch.cuda.is_available():
        click.echo("generators: the faults are of GPU programs, and torch sees no CUDA device here.", err=True)
        sys.exit(1)
    for name in wanted:
        for size in SIZES:
            for side, make in (("fault", PAIRS[name].fault), ("mend", PAIRS[name].mend)):
                _run(f"{name}_{size.name}_{side}", make, size, out)


def _run(name: str, make: Callable[[Size], Step], size: Size, out: Path) -> None:
    try:
        shapes = {"batch": size.batch, "width": size.width, "sequence": size.sequence, "heads": size.heads}
        truth = record(name, Workload(make(size), shapes), Options(steps=STEPS), out)
        click.echo(f"{name:32} unprofiled step {truth['unprofiled']['cuda_event_us_median']:,.1f} µs")
    except (RuntimeError, Unavailable) as error:
        click.echo(f"{name:32} failed: {' '.join(str(error).split())[:200]}")
    finally:
        synchronize("cuda")
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
