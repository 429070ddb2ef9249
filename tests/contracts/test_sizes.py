"""Functions of at most 60 lines, modules of at most 500."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.support.paths import ROOT

LONGEST_FUNCTION, LONGEST_MODULE = 60, 500


def modules() -> list[Path]:
    return sorted((ROOT / "tracekit").rglob("*.py"))


def test_no_function_is_longer_than_a_screen() -> None:
    """Counted with its docstring."""
    long = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno + 1 > LONGEST_FUNCTION:
                long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert long == []


def test_no_module_is_longer_than_one_can_keep_in_mind() -> None:
    """A longer one is several."""
    assert [str(path.relative_to(ROOT)) for path in modules() if len(path.read_text(encoding="utf-8").splitlines()) > LONGEST_MODULE] == []
