"""Planted faults and their mends, each at a size that is bound by the host and one that is bound by the GPU.

``python -m generators.faults --out traces/faults`` records both sides of each pair with the unprofiled step times: what a finding predicts to be saved can be
held against what mending it really saved. The saving is measured by turns, fault and mend in one process: a GPU that gets warm lowers its clock (the same
layers took 5.6 and then 6.4 ms), and a host is faster at one time than at another, so that two runs apart differ by more than many a mend wins.
"""

from __future__ import annotations

import gc
import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from generators.attention import naive_attention
from generators.harness import Options, Unavailable, Workload, record, synchronize

Step = Callable[[int], object]
STEPS = 6

ROUNDS = 9
"""Times that each side is measured, by turns."""

BLOCK_S, FEWEST, MOST = 0.12, 8, 400
"""Length of one measurement, and the least and most steps in it."""


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


def by_hand_pair(fused: bool) -> Callable[[Size], Step]:
    """Return attention by hand, or through the fused op."""

    def make(size: Size) -> Step:
        q, k, v = qkv(size)
        mask = mask_of(size)
        if fused:
            return quiet(lambda _: F.scaled_dot_product_attention(q, k, v, is_causal=True))
        return quiet(lambda _: naive_attention(q, k, v, mask, inplace=True))

    return make


def math_pair(backend: SDPBackend) -> Callable[[Size], Step]:
    """Return attention with a backend pinned."""

    def make(size: Size) -> Step:
        q, k, v = qkv(size)

        def step(_: int) -> None:
            with sdpa_kernel(backend):
                F.scaled_dot_product_attention(q, k, v, is_causal=True)

        return quiet(step)

    return make


def dense_mask_pair(dense: bool) -> Callable[[Size], Step]:
    """Return attention with the causal mask as a tensor, or as the flag."""

    def make(size: Size) -> Step:
        q, k, v = qkv(size)
        mask = mask_of(size).logical_not()
        if dense:
            return quiet(lambda _: F.scaled_dot_product_attention(q, k, v, attn_mask=mask))
        return quiet(lambda _: F.scaled_dot_product_attention(q, k, v, is_causal=True))

    return make


def plans_pair(backend: SDPBackend) -> Callable[[Size], Step]:
    """Return attention with another length in each step."""

    def make(size: Size) -> Step:
        longest = 4096
        q, k, v = (torch.randn(1, size.heads, longest, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))

        def step(number: int) -> None:
            length = longest - number % 600 if size.name == "gpu" else 64 + number % 600
            with sdpa_kernel(backend):
                F.scaled_dot_product_attention(q[:, :, :length], k[:, :, :length], v[:, :, :length], is_causal=True)

        return quiet(step)

    return make


def layout_pair(copied: bool) -> Callable[[Size], Step]:
    """Return products of a transposed tensor, made contiguous first or not."""

    def make(size: Size) -> Step:
        torch.manual_seed(0)
        x = torch.randn(size.batch, size.width, size.sequence, device="cuda", dtype=torch.bfloat16)
        w = torch.randn(size.width, 256, device="cuda", dtype=torch.bfloat16)

        def step(_: int) -> None:
            for _i in range(4):
                turned = x.transpose(1, 2)
                (turned.contiguous() if copied else turned) @ w

        return quiet(step)

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
    "layout": Pair("TK103", layout_pair(True), layout_pair(False)),
    "by_hand": Pair("TK202", by_hand_pair(False), by_hand_pair(True)),
    "math": Pair("TK201", math_pair(SDPBackend.MATH), math_pair(SDPBackend.FLASH_ATTENTION)),
    "dense_mask": Pair("TK203", dense_mask_pair(True), dense_mask_pair(False)),
    "plans": Pair("TK301", plans_pair(SDPBackend.CUDNN_ATTENTION), plans_pair(SDPBackend.FLASH_ATTENTION)),
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
    for name, size in itertools.product(wanted, SIZES):
        _run(name, size, out)


def _run(name: str, size: Size, out: Path) -> None:
    """Measure a pair by turns, then record both sides: the GPU is as warm then as it was."""
    pair, label = PAIRS[name], f"{name}_{size.name}"
    shapes = {"batch": size.batch, "width": size.width, "sequence": size.sequence, "heads": size.heads}
    try:
        sides = {"fault": pair.fault(size), "mend": pair.mend(size)}
        found = by_turns(sides["fault"], sides["mend"])
        for side, step in sides.items():
            # Numbers that by_turns hasn't used: where a step depends on its number, it has to be new.
            record(f"{label}_{side}", Workload(_later(step), shapes), Options(steps=STEPS), out)
            path = out / f"{label}_{side}.truth.json"
            truth = json.loads(path.read_text(encoding="utf-8"))
            path.write_text(json.dumps({**truth, "by_turns": found}, indent=1) + "\n", encoding="utf-8")
        median, low, high = found["saving_us_median"], found["saving_us_low"], found["saving_us_high"]
        click.echo(f"{label:24} step {found['fault_us_median']:10,.1f} µs, mend saves {median:10,.1f} ({low:,.1f} to {high:,.1f})")
    except (RuntimeError, Unavailable) as error:
        click.echo(f"{label:24} failed: {' '.join(str(error).split())[:200]}")
    finally:
        synchronize("cuda")
        torch.cuda.empty_cache()


def _later(step: Step) -> Step:
    return lambda number: step(number + 450)


def by_turns(fault: Step, mend: Step) -> dict[str, Any]:
    """Return the unprofiled step times of both, µs: each measured ``ROUNDS`` times, by turns, and the saving with its quartiles."""
    numbers = (itertools.count(), itertools.count())
    counts = [_steps_in_block(step, count) for step, count in zip((fault, mend), numbers, strict=True)]
    times: tuple[list[float], list[float]] = ([], [])
    for i in range(ROUNDS):
        for side in (0, 1) if i % 2 == 0 else (1, 0):
            times[side].append(_block((fault, mend)[side], counts[side], numbers[side]))
    savings = [before - after for before, after in zip(*times, strict=True)]
    low, _, high = statistics.quantiles(savings, n=4)
    return {
        "rounds": ROUNDS,
        "steps_in_block": counts,
        "fault_us": [round(us, 3) for us in times[0]],
        "mend_us": [round(us, 3) for us in times[1]],
        "fault_us_median": round(statistics.median(times[0]), 3),
        "mend_us_median": round(statistics.median(times[1]), 3),
        "saving_us_median": round(statistics.median(savings), 3),
        "saving_us_low": round(low, 3),
        "saving_us_high": round(high, 3),
    }


def _steps_in_block(step: Step, numbers: Iterator[int]) -> int:
    for _ in range(3):
        step(next(numbers))
    synchronize("cuda")
    begin = time.perf_counter()
    for _ in range(5):
        step(next(numbers))
    synchronize("cuda")
    return max(FEWEST, min(MOST, round(BLOCK_S * 5 / (time.perf_counter() - begin))))


def _block(step: Step, count: int, numbers: Iterator[int]) -> float:
    """Return the mean step time of a block, µs, by CUDA events; the host runs ahead as far as it can, as in training."""
    for _ in range(3):
        step(next(numbers))
    gc.collect()
    synchronize("cuda")
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    marks[0].record()
    for _ in range(count):
        step(next(numbers))
    marks[1].record()
    synchronize("cuda")
    return float(marks[0].elapsed_time(marks[1])) * 1000.0 / count


if __name__ == "__main__":
    main()
