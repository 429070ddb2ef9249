"""Raw categories."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from tracekit.reading.categories import category_of, category_table
from tracekit.trace import Category


def test_each_name_stands_once_and_each_row_has_a_source() -> None:
    """The table is data; this is its grammar."""
    rows = tomllib.loads(files("tracekit.reading").joinpath("categories.toml").read_text(encoding="utf-8"))["category"]
    names = [name for row in rows for name in row["names"]]
    assert len(names) == len(set(names)) == len(category_table())
    assert all(row["source"].strip() for row in rows)
    assert all(name == name.lower() for name in names)


@pytest.mark.parametrize(
    ("raw", "category"),
    [
        ("cpu_op", Category.CPU_OP), ("Operator", Category.CPU_OP), ("Kernel", Category.KERNEL), ("Runtime", Category.RUNTIME),
        ("gpu_user_annotation", Category.GPU_ANNOTATION), ("cuda_sync", Category.SYNC), ("mtia_ccp_events", Category.ACCELERATOR),
        ("xpu_runtime", Category.RUNTIME), ("Trace", Category.PROFILER), ("", Category.OTHER), ("no such thing", Category.OTHER),
    ],
)  # fmt: skip
def test_names_of_all_eras_and_vendors_are_known(raw: str, category: Category) -> None:
    """Upper and lower case alike; what isn't known is OTHER, and never GPU work."""
    assert category_of(raw) is category
