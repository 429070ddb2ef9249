"""SARIF 2.1.0 of a report, for code hosts and editors that show findings beside the code."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from tracekit.findings import Finding, Findings, Reports, explain
from tracekit.render.formats import Page
from tracekit.render.text import shown

TAKES = "result"
SUFFIXES = (".sarif",)

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_FRAME = re.compile(r"(?P<file>.+)\((?P<line>\d{1,9})\): (?P<function>.*)", re.DOTALL)
_LONGEST = 2000


def write(result: Reports, stream: TextIO, page: Page) -> None:
    """Write reports as one run.

    Args:
        result: Findings of one trace or more.
        stream: Where to write.
        page: Not used: SARIF has no width.
    """
    json.dump(sarif(result), stream, indent=2, ensure_ascii=False)
    stream.write("\n")


def sarif(result: Reports) -> dict[str, Any]:
    """Return the SARIF log as plain values.

    A result stands at the user's python line where stacks were recorded, else at the trace itself. Its fingerprint holds what doesn't change from run to
    run of the same program: code, line, and the ops and kernels that show it.
    """
    from importlib.metadata import version

    rules = explain().rules
    index = {rule.code: i for i, rule in enumerate(rules)}
    lines = result.lines or tuple({} for _ in result.reports)
    results = [_result(one, report, index, known) for report, known in zip(result.reports, lines, strict=True) for one in report.findings]
    notices = [f"{report.trace}: {text}" for report in result.reports for text in report.notices]
    driver = {"name": "tracekit", "version": version("tracekit"), "rules": [_rule(rule) for rule in rules]}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": True,
                        "toolExecutionNotifications": [{"level": "note", "message": {"text": _text(notice)}} for notice in notices],
                    }
                ],
                "artifacts": [{"location": {"uri": _uri(report.trace)}} for report in result.reports],
                "results": results,
            }
        ],
    }


def _rule(rule: Any) -> dict[str, Any]:
    sections = [(head, body) for head, body in rule.sections if body]
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": next((body for head, body in sections if head == "Why it matters"), rule.title)},
        "help": {
            "text": "\n".join(f"{head}: {body}" for head, body in sections),
            "markdown": "\n\n".join(f"**{head}**\n{body}" for head, body in sections),
        },
    }


def _result(one: Finding, report: Findings, index: dict[str, int], lines: dict[int, str]) -> dict[str, Any]:
    places = list(dict.fromkeys(lines[evidence.row] for evidence in one.evidence if evidence.row in lines))
    names = sorted({evidence.name for evidence in one.evidence})
    saving = one.saving_ns_per_step
    properties: dict[str, Any] = {"trace": _text(report.trace), "confidence": one.confidence, "costUsPerStep": _us(one.cost_ns_per_step)}
    if saving is not None:
        properties["savingUsPerStep"] = {"low": _us(saving.low_ns), "mid": _us(saving.mid_ns), "high": _us(saving.high_ns)}
    return {
        "ruleId": one.code,
        "ruleIndex": index[one.code],
        "level": _LEVELS[one.severity],
        "message": {"text": _text(f"{one.title}. {one.what} {one.fix}".strip())},
        "locations": [_location(places[0] if places else "", report.trace, names)],
        "relatedLocations": [{"id": i, **_location(place, report.trace, [])} for i, place in enumerate(places[1:6], 1)],
        "partialFingerprints": {"tracekit/v1": _fingerprint(one.code, *places[:1], *names)},
        "properties": properties,
    }


def _location(place: str, trace: str, names: list[str]) -> dict[str, Any]:
    found = _FRAME.fullmatch(place)
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(found["file"] if found else trace)}}
    if found and int(found["line"]) > 0:
        physical["region"] = {"startLine": int(found["line"])}
    out: dict[str, Any] = {"physicalLocation": physical}
    logical = [{"name": _text(found["function"]), "kind": "function"}] if found and found["function"] else []
    logical += [{"name": _text(name), "kind": "member"} for name in names[:3]]
    return {**out, "logicalLocations": logical} if logical else out


def _fingerprint(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _uri(path: str) -> str:
    """Return a path as a URI reference: relative paths stay relative, so that a code host can find the file."""
    if path == "-":
        return "stdin"
    pure = Path(path)
    text = shown(pure.as_posix())[:_LONGEST]
    return f"file://{quote(text)}" if pure.is_absolute() else quote(text)


def _text(text: str) -> str:
    return shown(text)[:_LONGEST]


def _us(ns: float) -> float:
    return round(ns / 1000, 3)


__all__ = ["SUFFIXES", "TAKES", "sarif", "write"]
