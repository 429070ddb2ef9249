"""SARIF."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.render.support import analysis, written
from tracekit.findings import Evidence, Finding, Findings, Reports, find, together
from tracekit.findings.registry import all_rules
from tracekit.render.formats.sarif import sarif


def of(*names: str) -> dict[str, Any]:
    """Return the log of some traces."""
    analyses = [analysis(name) for name in names]
    found: dict[str, Any] = json.loads(written(together(analyses, [find(one) for one in analyses]), "sarif"))
    return found


def one(path: str = "t.json", line: str = "", name: str = "k") -> dict[str, Any]:
    """Return the result of a made finding."""
    evidence = Evidence(0, name, 0, 10, 1, 1)
    finding = Finding("TK101", "info", "title", "what", "why", "fix", (evidence,), 1000.0, None, 0.5)
    log = sarif(Reports((Findings(path, "", 0.0, 0, (finding,)),), ({0: line} if line else {},)))
    result: dict[str, Any] = log["runs"][0]["results"][0]
    return result


def test_every_finding_is_a_result_with_its_rule() -> None:
    """Level, message, place, cost."""
    log = of("naive", "sdpa_math")
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(all_rules())
    assert all(rule["help"]["text"] and rule["shortDescription"]["text"] for rule in rules)
    results = run["results"]
    assert len(results) == sum(len(find(analysis(name)).findings) for name in ("naive", "sdpa_math"))
    for result in results:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"error", "warning", "note"}
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] in {"traces/naive.json.gz", "traces/sdpa_math.json.gz"}
    copy = next(result for result in results if result["ruleId"] == "TK101")
    assert copy["properties"]["costUsPerStep"] == pytest.approx(504.5, abs=1)
    assert copy["properties"]["savingUsPerStep"]["low"] <= copy["properties"]["savingUsPerStep"]["high"]


def test_stacks_give_a_file_and_a_line() -> None:
    """Of the user's code."""
    places = [result["locations"][0]["physicalLocation"] for result in of("gpt_stacks")["runs"][0]["results"]]
    assert {"artifactLocation": {"uri": "generators/training.py"}, "region": {"startLine": 65}} in places


def test_a_fingerprint_outlives_a_run() -> None:
    """It holds no time and no file name of the trace."""
    assert one("a.json")["partialFingerprints"] == one("b/c.json.gz")["partialFingerprints"]
    assert one(name="other")["partialFingerprints"] != one()["partialFingerprints"]


@pytest.mark.parametrize(
    ("path", "uri"),
    [("a b/ä.json", "a%20b/%C3%A4.json"), ("/tmp/x.json", "file:///tmp/x.json"), ("-", "stdin"), ("x\x1b[31m", "x%5Cx1b%5B31m")],
)
def test_paths_become_uris(path: str, uri: str) -> None:
    """Relative ones stay relative."""
    assert one(path)["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


@pytest.mark.parametrize("line", ["no frame at all", "a.py(0): f", "a(b)(12): g\x1b", "(3): ", "x" * 9000 + ".py(1): f"])
def test_odd_frames_are_no_harm(line: str) -> None:
    """A line is 1 or more, and text is printable."""
    location = one(line=line)["locations"][0]
    assert location["physicalLocation"].get("region", {"startLine": 1})["startLine"] >= 1
    assert "\x1b" not in json.dumps(location, ensure_ascii=False)


def test_it_is_valid_against_the_schema() -> None:
    """Where SARIF_SCHEMA names a copy of the official one (sarif-2.1.0.json, in the npm package @microsoft/sarif-multitool-linux)."""
    path = os.environ.get("SARIF_SCHEMA", "")
    if not path:
        pytest.skip("SARIF_SCHEMA isn't set")
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(Path(path).read_text(encoding="utf-8"))
    for names in (("naive",), ("sdpa_math", "gpt_stacks"), ("sdpa_flash",)):
        jsonschema.validate(of(*names), schema)
