"""SQL over a trace's tables."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.builder import build
from tests.support.paths import ROOT, TRACES
from tracekit.analysis import Analysis, analyze
from tracekit.errors import OptionError
from tracekit.query import TABLES, query, to_parquet

pytest.importorskip("duckdb", reason="DuckDB (extra sql) isn't installed")


@pytest.fixture(scope="module")
def naive() -> Analysis:
    """Attention by hand."""
    return analyze(str(TRACES / "naive.json.gz"))


@pytest.mark.parametrize("table", TABLES)
def test_each_table_has_the_columns_that_are_listed(naive: Analysis, table: str) -> None:
    """And a row at least."""
    result = query(naive, f"select * from {table}")
    assert " ".join(result.columns) == TABLES[table]
    assert result.rows


def test_figures_are_those_of_the_summary(naive: Analysis) -> None:
    """Of GPU time by class, and of steps."""
    rows = dict(query(naive, "select class, sum(dur_ns) from gpu group by 1").rows)
    assert {one.class_: one.ns for one in naive.summary.classes} == rows
    walls = query(naive, "select name, wall_ns, gpu_busy_ns + gpu_idle_ns from steps order by step").rows
    assert walls == tuple((step.name, step.wall_ns, step.wall_ns) for step in naive.summary.steps)


def test_links_join_slices(naive: Analysis) -> None:
    """A GPU event with its launch and op."""
    sql = """select g.name, l.name, o.name, g.latency_ns from links join slices g on gpu = g.row join slices l on launch = l.row
             join slices o on op = o.row join gpu on gpu.row = g.row where g.category = 'memcpy' limit 1"""
    sql = sql.replace("g.latency_ns", "gpu.latency_ns")
    ((kernel, launch, op, latency),) = query(naive, sql).rows
    assert (kernel, launch, op) == ("Memcpy DtoD (Device -> Device)", "cudaMemcpyAsync", "aten::copy_")
    assert latency > 0


def test_what_is_absent_is_null() -> None:
    """Never -1; and times count from the start."""
    trace = build().op("aten::mm", 1000, 50).kernel("k", 1200, 10).trace()
    result = query(analyze(trace), "select name, ts_ns, device, correlation, parent from slices order by ts_ns")
    assert result.rows[0] == ("aten::mm", 0, None, None, None)
    assert result.rows[1][:3] == ("k", 200_000, 0)


def test_args_are_text_or_json() -> None:
    """One row each."""
    trace = build().op("aten::mm", 0, 5, **{"Input Dims": [[2, 3]], "Input type": ["float"], "note": "x"}).trace()
    rows = query(analyze(trace), "select key, value from args where key in ('Input Dims', 'note') order by 1").rows
    assert rows == (("Input Dims", "[[2,3]]"), ("note", "x"))


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_csv('/etc/passwd')",
        "select * from read_text('/etc/passwd')",
        "select * from '/etc/passwd'",
        "select * from 'x.parquet'",
        "select * from glob('/*')",
        "select * from read_parquet('https://example.org/x.parquet')",
        "copy gpu to 'x.csv'",
        "attach 'x.db'",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "create table t as select 1",
        "drop view gpu",
        "export database 'x'",
        "pragma database_list",
        "call pragma_version()",
        "select 1; copy gpu to 'x.csv'",
        "select * from naive",
    ],
)
def test_a_query_reaches_nothing_but_the_trace(naive: Analysis, sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file, no network, no setting, no variable of ours; and nothing is left behind."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError) as caught:
        query(naive, sql)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("selec 1", "line 1, character 1"),
        ("select 1,\n  nope from gpu", r"line 2, character 3\). gpu\(row, ts_ns"),
        ("select * from nope", "There are slices, gpu"),
        ("", "holds 0 statements"),
        ("select 'a'::int", "Could not convert|Conversion"),
    ],
)
def test_a_wrong_query_says_where(naive: Analysis, sql: str, says: str) -> None:
    """Line and character, and what there is."""
    with pytest.raises(OptionError, match=says):
        query(naive, sql)


def test_odd_values_become_plain_ones(naive: Analysis) -> None:
    """What JSON can't hold is null or text."""
    sql = "select 'nan'::double, 1.5::decimal(5, 2), {'a': [1, null]}, date '2026-01-02', 170141183460469231731687303715884105727, '\\xC3'::blob, true"
    assert query(naive, sql).rows == ((None, 1.5, {"a": [1, None]}, "2026-01-02", 2**127 - 1, "c3", True),)


def test_hostile_names_are_values_like_others() -> None:
    """Quotes end no string."""
    trace = build().op("'; drop table gpu; --", 0, 5).trace()
    assert query(analyze(trace), "select name from slices").rows == (("'; drop table gpu; --",),)


def test_parquet_holds_the_same(naive: Analysis, tmp_path: Path) -> None:
    """Read back by DuckDB."""
    import duckdb

    path = tmp_path / "it's.parquet"
    count = to_parquet(naive, "select class, sum(dur_ns) ns from gpu group by 1 order by 1", path)
    rows = duckdb.read_parquet(str(path)).fetchall()
    assert count == len(rows)
    assert tuple(rows) == query(naive, "select class, sum(dur_ns) ns from gpu group by 1 order by 1").rows


def test_without_the_extra_it_says_how_to_get_it(naive: Analysis, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line."""
    from tracekit.query import MissingError

    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingError, match=r"tracekit\[sql\]"):
        query(naive, "select 1")


@pytest.mark.parametrize("format_", ["table", "json", "csv"])
def test_the_command_writes_each_format(format_: str) -> None:
    """With control characters escaped."""
    sql = "select chr(27) || '[31m' as word, 1 as n"
    command = [sys.executable, "-m", "tracekit", "query", str(TRACES / "naive.json.gz"), sql, "--format", format_]
    done = subprocess.run(command, capture_output=True, cwd=ROOT, check=True, timeout=60)
    assert b"\x1b" not in done.stdout
    assert b"word" in done.stdout
    if format_ == "json":
        assert json.loads(done.stdout)["rows"] == [["\x1b[31m", 1]]
