"""Runs the variants that were asked for and says what became of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import click
import torch

from generators import attention, training
from generators.harness import Options, Unavailable, Workload, record, synchronize


class Variant(Protocol):
    """A program to record."""

    name: str

    def make(self, options: Options) -> Workload:
        """Return the workload, or raise ``Unavailable``."""
        ...


ON_CPU = {"batch": 2, "heads": 4, "sequence": 128, "dtype": "float32"}
"""What a CPU gets unless asked otherwise: its variants run for real, and in seconds."""


def all_variants() -> dict[str, type[Variant]]:
    """Return every variant by name, in order."""
    return {variant.name: variant for variant in (*attention.VARIANTS, *training.VARIANTS)}


def run_all(names: str, out: Path, device: str | None, suffix: str, given: dict[str, Any]) -> int:
    """Run variants, print a line for each, and return the exit code: 0 if any ran."""
    known = all_variants()
    if names == "list":
        for name, variant in known.items():
            click.echo(f"{name:24} {(variant.__doc__ or '').splitlines()[0]}")
        return 0
    wanted = list(known) if names == "all" else [name.strip() for name in names.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        click.echo(f"generators: --variant: there is no {', '.join(unknown) or 'name'}. Use `--variant list` to see them.", err=True)
        return 2
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if device == "cuda" and not torch.cuda.is_available():
        click.echo("generators: --device cuda: torch sees no CUDA device here. Leave the option out to run on the CPU.", err=True)
        return 2
    options = Options(device=device, **((ON_CPU if device == "cpu" else {}) | given))
    ran = [_run(known[name], options, out, suffix) for name in wanted]
    return 0 if any(ran) else 1


def _run(variant: type[Variant], options: Options, out: Path, suffix: str) -> bool:
    name = variant.name + suffix
    try:
        truth = record(name, variant().make(options), options, out)
    except Unavailable as reason:
        click.echo(f"{name:24} not run: {reason}")
        return False
    except (RuntimeError, NotImplementedError) as error:
        # One variant that fails (out of memory, a backend that breaks) must not cost the others.
        click.echo(f"{name:24} failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
        return False
    finally:
        if options.device == "cuda":
            synchronize("cuda")
            torch.cuda.empty_cache()
    times = truth["unprofiled"]
    by = (
        f"{times['cuda_event_us_median']:,.1f} µs by CUDA events"
        if "cuda_event_us_median" in times
        else f"{times['wall_us_per_step']:,.1f} µs by the clock"
    )
    click.echo(f"{name:24} {truth['options']['steps']} steps; unprofiled step {by}")
    return True
