"""Functions of at most 60 lines, modules of at most 500."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.support.paths import ROOT

LONGEST_FUNCTION, LONGEST_MODULE = 60, 500

# What is longer, with its length: it may only shrink, and leaves the list when it fits.
LONG_FUNCTIONS: dict[str, int] = {}
LONG_MODULES: dict[str, int] = {}


def modules() -> list[Path]:
    return sorted((ROOT / "tracekit").rglob("*.py"))


def long_functions() -> dict[str, int]:
    """Return the functions that are too long, counted with their docstring."""
    found = {}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found[f"{path.relative_to(ROOT)}:{node.name}"] = (node.end_lineno or 0) - node.lineno + 1
    return {name: lines for name, lines in found.items() if lines > LONGEST_FUNCTION}


def long_modules() -> dict[str, int]:
    """Return the modules that are too long."""
    lines = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    return {name: count for name, count in lines.items() if count > LONGEST_MODULE}


def test_no_function_is_longer_than_a_screen() -> None:
    """Nor grows, where it is."""
    assert {name: lines for name, lines in long_functions().items() if lines > LONG_FUNCTIONS.get(name, 0)} == {}


def test_no_module_is_longer_than_one_can_keep_in_mind() -> None:
    """A longer one is several."""
    assert {name: lines for name, lines in long_modules().items() if lines > LONG_MODULES.get(name, 0)} == {}


def test_the_debt_only_shrinks() -> None:
    """What is shorter now has its new length in the list, or leaves it."""
    assert long_functions() == LONG_FUNCTIONS
    assert long_modules() == LONG_MODULES
