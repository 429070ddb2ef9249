"""Finds the rules in their folder and asks each."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from tracekit.analysis import Analysis
from tracekit.analysis.notices import notices
from tracekit.errors import OptionError
from tracekit.findings import rules
from tracekit.findings.finding import Finding, Findings, Rule


class RuleModule(Protocol):
    """A module of ``findings/rules``."""

    RULE: Rule
    __doc__: str | None

    def check(self, analysis: Analysis) -> Iterable[Finding]:
        """Yield what is found in a trace."""
        ...


@functools.cache
def all_rules() -> dict[str, RuleModule]:
    """Return every rule by its code, in order."""
    found: dict[str, RuleModule] = {}
    for info in sorted(pkgutil.iter_modules(rules.__path__), key=lambda one: one.name):
        if info.name.startswith("tk"):
            module: RuleModule = importlib.import_module(f"{rules.__name__}.{info.name}")
            found[module.RULE.code] = module
    return found


def find(analysis: Analysis, *, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> Findings:
    """Return what the rules find in a trace, worst first.

    Args:
        analysis: The trace's analysis.
        select: Codes, or starts of codes (``TK1``), to ask; all if empty.
        ignore: Those to leave out.

    Raises:
        OptionError: A code matches no rule.
    """
    for option, codes in (("--select", select), ("--ignore", ignore)):
        for code in codes:
            if not any(known.startswith(code.upper()) for known in all_rules()):
                raise OptionError(option, f"no rule has a code that begins with {code!r}", "List them with `tracekit rules`.")
    found = list(_ask(analysis, [code.upper() for code in select], [code.upper() for code in ignore]))
    order = ("error", "warning", "info")
    found.sort(key=lambda one: (order.index(one.severity), -one.cost_ns_per_step, one.code))
    steps = max(len(analysis.links.steps), 1)
    return Findings(
        analysis.trace.path,
        analysis.summary.verdict.text,
        float(analysis.windows.wall_ns.sum()) / steps,
        analysis.trace.span_ns[0],
        tuple(found),
        notices(analysis),
    )


def _ask(analysis: Analysis, select: Sequence[str], ignore: Sequence[str]) -> Iterator[Finding]:
    for code, rule in all_rules().items():
        if select and not code.startswith(tuple(select)):
            continue
        if ignore and code.startswith(tuple(ignore)):
            continue
        yield from rule.check(analysis)
