"""SQL over a trace's tables, with DuckDB (extra ``sql``): read-only, without access to any file or to the network.

Times are int64 ns from the start of the trace (its first slice), ids that are absent are NULL, and ``row`` numbers the slices as everywhere in tracekit.
"""

from __future__ import annotations

import datetime
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracekit.analysis import Analysis
from tracekit.errors import OptionError, OutputError, TracekitError
from tracekit.linking import Method, Reason
from tracekit.trace import ABSENT, Category

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

TABLES: Mapping[str, str] = {
    "slices": "row ts_ns dur_ns end_ns name category pid tid thread_name device stream correlation external_id parent self_ns step",
    "gpu": "row ts_ns dur_ns end_ns name kind class device stream launch op step latency_ns method reason",
    "launches": "row ts_ns dur_ns name pid tid correlation op step gpu_events gpu_ns",
    "links": "gpu launch op step method reason",
    "steps": "step name start_ns end_ns wall_ns host_ns gpu_busy_ns gpu_idle_ns",
    "args": "row key value",
}
"""The tables and their columns. ``parent launch op gpu`` are rows of ``slices``, ``step`` is a row of ``steps``; ``args`` is read only when asked for."""

_CARET = re.compile(r"LINE (\d+): ")
_LONGEST = 300  # characters of an error


@dataclass(frozen=True)
class Query:
    """What a query found.

    Attributes:
        columns: Names of the columns.
        types: Their types in SQL.
        rows: The rows; values are None, bool, int, float, str, or lists and dicts of them.
    """

    SCHEMA: ClassVar[str] = "tracekit.query/1"

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


class MissingError(TracekitError):
    """DuckDB isn't installed."""


def query(analysis: Analysis, sql: str) -> Query:
    """Answer a query.

    Args:
        analysis: The trace's analysis.
        sql: One SELECT over the tables of ``TABLES``.

    Raises:
        MissingError: DuckDB isn't installed.
        OptionError: The query is wrong, or does something else than select.
    """
    with _Session(analysis, sql) as session:
        result = session.run()
        columns, types = tuple(str(one[0]) for one in result.description), tuple(_type(str(one[1])) for one in result.description)
        rows = session.guarded(result.fetchall)
    return Query(columns, types, tuple(tuple(_plain(value) for value in row) for row in rows))


def to_parquet(analysis: Analysis, sql: str, path: Path) -> int:
    """Write what a query finds as Parquet; return the number of rows.

    Raises:
        MissingError, OptionError: As for ``query``.
        OutputError: The file can't be written.
    """
    with _Session(analysis, sql) as session:
        result = session.run()
        frame = session.guarded(result.df)
    # The query's own connection can't write; this one runs nothing that a user wrote.
    duckdb = _duckdb()
    with duckdb.connect(":memory:") as writer:
        writer.register("result", frame)
        try:
            writer.execute("COPY result TO ? (FORMAT parquet)", [str(path)])
        except duckdb.Error as error:
            raise OutputError(str(path), f"can't be written: {_first_line(error)}", "Check the folder and its permissions.") from error
    return len(frame)


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise MissingError("query", "needs DuckDB, which isn't installed", "pip install 'tracekit[sql]'") from error
    return duckdb


class _Session:
    """A connection that holds the tables which a query names, and can reach nothing else."""

    def __init__(self, analysis: Analysis, sql: str) -> None:
        self._module = _duckdb()
        self._analysis = analysis
        self._sql = sql
        self._words = set(re.findall(r"\w+", sql.lower()))

    def __enter__(self) -> _Session:
        self._connection: duckdb.DuckDBPyConnection = self._module.connect(":memory:")
        for name in TABLES:
            # Every table is there to be listed; only those that the query may mean are made.
            self._connection.register(name, _MAKERS[name](self._analysis, name in self._words))
        for setting in (
            "temp_directory=''",
            "python_enable_replacements=false",
            "autoinstall_known_extensions=false",
            "autoload_known_extensions=false",
            "enable_external_access=false",
            "lock_configuration=true",
        ):
            self._connection.execute(f"SET {setting}")
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def run(self) -> duckdb.DuckDBPyConnection:
        """Run the query."""
        statements = self.guarded(lambda: self._connection.extract_statements(self._sql))
        if len(statements) != 1:
            raise OptionError("query", f"holds {len(statements)} statements", "Give one SELECT.")
        kind = statements[0].type.name
        if kind not in {"SELECT", "EXPLAIN"}:
            raise OptionError("query", f"does {kind}, but a trace can only be read", "Give a SELECT.")
        result: duckdb.DuckDBPyConnection = self.guarded(lambda: self._connection.execute(statements[0]))
        return result

    def guarded(self, do: Callable[[], Any]) -> Any:
        """Do something of DuckDB's; its errors become ours."""
        try:
            return do()
        except self._module.Error as error:
            raise OptionError("query", f"{_first_line(error)}{_place(error)}", _hint(error, self._words)) from error


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0].strip().rstrip(".!")[:_LONGEST]


def _place(error: Exception) -> str:
    """Return where in the query DuckDB points at."""
    lines = str(error).splitlines()
    for line, below in itertools.pairwise(lines):
        found = _CARET.match(line)
        if found and "^" in below and "..." not in line[: found.end() + 3]:
            return f" (line {found[1]}, character {below.index('^') - found.end() + 1})"
    return ""


def _hint(error: Exception, words: set[str]) -> str:
    text = str(error)
    if "does not exist" in text and "Table" in text:
        return f"There are {', '.join(TABLES)}."
    if "not found in FROM clause" in text:
        return "; ".join(f"{name}({columns.replace(' ', ', ')})" for name, columns in TABLES.items() if name in words) + "."
    if "disabled" in text:
        return "A query sees the trace and nothing else."
    return ""


def _type(name: str) -> str:
    """Return a type for people; columns of names are enumerations inside, with all names in the type."""
    return "VARCHAR" if name.startswith("ENUM(") else name


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(one) for one in value]
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else str(value)


# --- the tables; each takes whether it is wanted, and else has its columns and no rows


def _frame(columns: Mapping[str, Any], wanted: bool) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(dict(columns))
    return frame if wanted else frame.iloc[:0]


def _id(values: Any) -> Any:
    import pandas as pd

    numbers = np.asarray(values, dtype=np.int64)
    return pd.arrays.IntegerArray(numbers.copy(), numbers == ABSENT)


def _text(codes: Any, texts: list[str]) -> Any:
    """Return a column of texts of which each is held once; a code of -1 is NULL."""
    import pandas as pd

    unique: dict[str, int] = {}
    index = np.array([unique.setdefault(text, len(unique)) for text in texts] or [0], dtype=np.int64)
    codes = np.asarray(codes, dtype=np.int64)
    return pd.Categorical.from_codes(np.where(codes >= 0, index[codes], -1), categories=pd.Index(list(unique), dtype=object))


def _names(analysis: Analysis, rows: Any) -> Any:
    trace = analysis.trace
    ids, codes = np.unique(trace.slices.name[rows], return_inverse=True)
    return _text(codes.reshape(-1), [trace.strings[one].encode("utf-8", "backslashreplace").decode() for one in ids])


def _places(analysis: Analysis, rows: Any) -> dict[str, Any]:
    threads = analysis.trace.threads
    codes = analysis.trace.slices.thread[rows]
    return {
        "pid": _text(codes, [str(one.pid) for one in threads]),
        "tid": _text(codes, [str(one.tid) for one in threads]),
        "thread_name": _text(codes, [one.name for one in threads]),
    }


def _begin(analysis: Analysis) -> int:
    return analysis.trace.span_ns[0]


def _slices(analysis: Analysis, wanted: bool) -> pd.DataFrame:
    s, links = analysis.trace.slices, analysis.links
    rows = np.arange(len(s))
    step = links.slice_step.astype(np.int64)
    step[links.gpu] = links.step
    return _frame(
        {
            "row": rows, "ts_ns": s.ts_ns - _begin(analysis), "dur_ns": s.dur_ns, "end_ns": s.end_ns - _begin(analysis), "name": _names(analysis, rows),
            "category": _text(s.category, [one.name.lower() for one in Category]), **_places(analysis, rows), "device": _id(s.device),
            "stream": _id(s.stream), "correlation": _id(s.correlation), "external_id": _id(s.external_id), "parent": _id(links.parent),
            "self_ns": links.self_ns, "step": _id(step),
        },
        wanted,
    )  # fmt: skip


def _gpu(analysis: Analysis, wanted: bool) -> pd.DataFrame:
    s, links, work = analysis.trace.slices, analysis.links, analysis.work
    rows = links.gpu
    latency = np.where(links.launch >= 0, s.ts_ns[rows] - s.ts_ns[links.launch], 0)
    import pandas as pd

    return _frame(
        {
            "row": rows, "ts_ns": s.ts_ns[rows] - _begin(analysis), "dur_ns": s.dur_ns[rows], "end_ns": s.end_ns[rows] - _begin(analysis),
            "name": _names(analysis, rows),
            "kind": _text(s.category[rows], [one.name.lower() for one in Category]), "class": _text(work.class_id, list(work.classes)),
            "device": _id(s.device[rows]), "stream": _id(s.stream[rows]), "launch": _id(links.launch), "op": _id(links.op),
            "step": _id(links.step), "latency_ns": pd.arrays.IntegerArray(latency, links.launch < 0), **_how(analysis),
        },
        wanted,
    )  # fmt: skip


def _how(analysis: Analysis) -> dict[str, Any]:
    links = analysis.links
    return {
        "method": _text(links.method, [one.name.lower() for one in Method]),
        "reason": _text(links.reason.astype(np.int64) - 1, [one.name.lower() for one in Reason][1:]),
    }


def _launches(analysis: Analysis, wanted: bool) -> pd.DataFrame:
    s, links = analysis.trace.slices, analysis.links
    known = links.launch >= 0
    rows = np.union1d(links.launch[known], links.lost_launches)
    count, total = np.zeros(len(s), dtype=np.int64), np.zeros(len(s), dtype=np.int64)
    np.add.at(count, links.launch[known], 1)
    np.add.at(total, links.launch[known], s.dur_ns[links.gpu[known]])
    op = np.full(len(s), ABSENT, dtype=np.int64)
    op[links.launch[known]] = links.op[known]
    place = _places(analysis, rows)
    return _frame(
        {
            "row": rows, "ts_ns": s.ts_ns[rows] - _begin(analysis), "dur_ns": s.dur_ns[rows], "name": _names(analysis, rows), "pid": place["pid"],
            "tid": place["tid"], "correlation": _id(s.correlation[rows]), "op": _id(op[rows]), "step": _id(links.slice_step[rows]),
            "gpu_events": count[rows], "gpu_ns": total[rows],
        },
        wanted,
    )  # fmt: skip


def _links(analysis: Analysis, wanted: bool) -> pd.DataFrame:
    links = analysis.links
    return _frame({"gpu": links.gpu, "launch": _id(links.launch), "op": _id(links.op), "step": _id(links.step), **_how(analysis)}, wanted)


def _steps(analysis: Analysis, wanted: bool) -> pd.DataFrame:
    windows, steps = analysis.windows, analysis.links.steps
    return _frame(
        {
            "step": np.arange(len(steps)), "name": _text(np.arange(len(steps)), list(steps.names)), "start_ns": windows.start_ns - _begin(analysis),
            "end_ns": windows.end_ns - _begin(analysis), "wall_ns": windows.wall_ns, "host_ns": windows.host_ns, "gpu_busy_ns": windows.busy_ns,
            "gpu_idle_ns": windows.idle_ns,
        },
        wanted,
    )  # fmt: skip


def _args(analysis: Analysis, wanted: bool) -> pd.DataFrame:
    rows, keys, values = [], [], []
    for row, key, value in _each_arg(analysis) if wanted else ():
        rows.append(row)
        keys.append(key)
        values.append(value)
    codes = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    return _frame(
        {
            "row": np.array(rows, dtype=np.int64),
            "key": _text(np.array([codes[key] for key in keys], dtype=np.int64), list(codes)),
            "value": np.array(values, dtype=object),
        },
        True,
    )


def _each_arg(analysis: Analysis) -> Iterator[tuple[int, str, str]]:
    """Yield row, key and value of every arg: a text as it is, anything else as JSON."""
    import orjson

    trace = analysis.trace
    for row in np.flatnonzero(trace.slices.args_len > 0).tolist():
        for key, value in trace.args(row).items():
            text = value if isinstance(value, str) else orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
            yield row, key.encode("utf-8", "backslashreplace").decode(), text.encode("utf-8", "backslashreplace").decode()


_MAKERS: Mapping[str, Callable[[Analysis, bool], Any]] = {
    "slices": _slices,
    "gpu": _gpu,
    "launches": _launches,
    "links": _links,
    "steps": _steps,
    "args": _args,
}

__all__ = ["TABLES", "MissingError", "Query", "query", "to_parquet"]
