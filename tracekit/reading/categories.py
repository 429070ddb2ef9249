"""Raw categories and what they are (``categories.toml``)."""

from __future__ import annotations

import functools
import tomllib
from importlib.resources import files

from tracekit.trace import Category


@functools.cache
def category_table() -> dict[str, Category]:
    """Return the category of each raw name, in lower case."""
    document = tomllib.loads(files("tracekit.reading").joinpath("categories.toml").read_text(encoding="utf-8"))
    return {name: Category[row["is"]] for row in document["category"] for name in row["names"]}


def category_of(raw: str) -> Category:
    """Return what a raw category is; ``OTHER`` where the table doesn't know it."""
    return category_table().get(raw.strip().lower()[:64], Category.OTHER)
