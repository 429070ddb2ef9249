"""``python -m generators --variant all --out traces/``: run variants under the profiler and write a trace and a truth file for each."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

HELP = "NAME, several joined by commas, `all`, or `list` to show them."


@click.command(context_settings={"show_default": True})
@click.option("--variant", "variants", default="all", help=HELP)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("traces"), help="Folder to write to.")
@click.option("--batch", type=click.IntRange(1), default=None, help="Batch size.  [default: 8 on a GPU, 2 on a CPU]")
@click.option("--heads", type=click.IntRange(1), default=None, help="Heads.  [default: 16 on a GPU, 4 on a CPU]")
@click.option("--sequence", type=click.IntRange(1), default=None, help="Sequence length.  [default: 2048 on a GPU, 128 on a CPU]")
@click.option("--head-dim", type=click.IntRange(1), default=64, help="Width of a head.")
@click.option(
    "--dtype", type=click.Choice(["bfloat16", "float16", "float32"]), default=None, help="[default: bfloat16 on a GPU, float32 on a CPU]"
)
@click.option("--steps", type=click.IntRange(1), default=6, help="Steps recorded.")
@click.option("--record-shapes/--no-record-shapes", default=True)
@click.option("--with-stack/--no-with-stack", default=False)
@click.option("--profile-memory/--no-profile-memory", default=False)
@click.option("--device", type=click.Choice(["cuda", "cpu"]), default=None, help="[default: cuda where there is one]")
@click.option("--seed", type=int, default=0)
@click.option("--suffix", default="", help="Put after each file's name: for repeats of one variant.")
def main(variants: str, out: Path, device: str | None, suffix: str, **given: Any) -> None:
    """Run VARIANTS under torch.profiler; write NAME.json.gz and NAME.truth.json to OUT.

    Example: python -m generators --variant naive,sdpa_flash --out traces/
    """
    try:
        from generators.run import run_all
    except ImportError as error:
        if error.name != "torch":
            raise
        click.echo("generators: torch isn't installed. Install it with: pip install 'tracekit[generate]'", err=True)
        sys.exit(2)
    sys.exit(run_all(variants, out, device, suffix, {key: value for key, value in given.items() if value is not None}))


if __name__ == "__main__":
    main()
