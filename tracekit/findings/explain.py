"""What each rule does, from the rule's own words: one text for the command line, the JSON and the docs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from tracekit.errors import OptionError
from tracekit.findings.registry import all_rules

HEADINGS = ("What it does", "Why it matters", "Example", "Instead", "When it stays silent", "Evidence", "Cost and saving")


@dataclass(frozen=True)
class Explanation:
    """A rule in words; ``sections`` are heading and text, in order."""

    code: str
    name: str
    since: str
    title: str
    sections: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Rules:
    """Some rules in words."""

    SCHEMA: ClassVar[str] = "tracekit.rules/1"

    rules: tuple[Explanation, ...]


def explain(code: str | None = None) -> Rules:
    """Return the rule of a code, or all rules.

    Raises:
        OptionError: There is no such rule.
    """
    known = all_rules()
    if code is not None and code.upper() not in known:
        raise OptionError(code, "there is no such rule", "List them with `tracekit rules`.")
    wanted = known.values() if code is None else [known[code.upper()]]
    made = []
    for module in wanted:
        title, _, rest = (module.__doc__ or "").partition("\n")
        parts = re.split(rf"^({'|'.join(HEADINGS)})$", rest, flags=re.MULTILINE)
        sections = tuple((head, " ".join(body.split())) for head, body in zip(parts[1::2], parts[2::2], strict=True))
        made.append(Explanation(module.RULE.code, module.RULE.name, module.RULE.since, title.strip(), sections))
    return Rules(tuple(made))
