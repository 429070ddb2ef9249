"""The trace as it flows through tracekit: columns, strings, threads, and the log of how it was read.

Every array is read-only. Times are int64 nanoseconds counted from ``Trace.base_ns``; -1 in an id column means absent and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
U8 = NDArray[np.uint8]

ABSENT = -1


class Category(IntEnum):
    """What a slice is. Raw category strings stop at ``reading``: ``reading/categories.toml`` maps them to these."""

    OTHER = 0
    CPU_OP = 1
    USER_ANNOTATION = 2
    PYTHON_FUNCTION = 3
    RUNTIME = 4  # a call of the vendor's runtime API: cudaLaunchKernel, hipMemcpyAsync, …
    DRIVER = 5  # a call of the driver API: cuLaunchKernel, …
    KERNEL = 6
    MEMCPY = 7
    MEMSET = 8
    GPU_ANNOTATION = 9  # a user annotation projected onto the GPU row: never GPU work
    SYNC = 10  # waiting, recorded on a device row: never GPU work
    OVERHEAD = 11  # the profiler's own or the driver's: module loading, buffer flush
    ACCELERATOR = 12  # work of a device that records no kernels of the GPU kind (MTIA and its like)
    PROFILER = 13  # the profiler's own row of the whole recording


GPU_WORK = (Category.KERNEL, Category.MEMCPY, Category.MEMSET)
CALLS = (Category.RUNTIME, Category.DRIVER)


class Phase(IntEnum):
    """The phases of events that are no slices, by the character of the trace format."""

    FLOW_START = ord("s")
    FLOW_STEP = ord("t")
    FLOW_END = ord("f")
    INSTANT = ord("i")
    COUNTER = ord("C")
    ASYNC_BEGIN = ord("b")
    ASYNC_END = ord("e")
    ASYNC_INSTANT = ord("n")
    OTHER = ord("?")


class FlowKind(IntEnum):
    """What a flow joins."""

    OTHER = 0
    LAUNCH = 1  # CPU call to GPU event: ac2g, async_cpu_to_gpu, async_gpu
    FORWARD_BACKWARD = 2  # forward op to backward op: fwdbwd


class Drop(Enum):
    """Why an event of the file isn't in the trace."""

    TRUNCATED = "truncated"  # the file ends inside the event
    UNREADABLE = "unreadable"  # no JSON object, and no repair helps
    NOT_AN_OBJECT = "not_an_object"  # an element of the event array that is no object
    NO_PHASE = "no_phase"
    NO_TIME = "no_time"  # a timed phase without a usable time
    TIME_OUT_OF_RANGE = "time_out_of_range"  # beyond int64 nanoseconds
    UNMATCHED_END = "unmatched_end"  # an E without its B


class Repair(Enum):
    """What was mended so that an event, or the file, could be read."""

    TRUNCATED = "truncated"  # the file ends before its JSON does; what was whole is kept
    UNCLOSED = "unclosed"  # the closing bracket was never written
    TRAILING_COMMA = "trailing_comma"  # one too many, wherever it stands
    MISSING_COMMA = "missing_comma"
    BAD_ESCAPE = "bad_escape"
    CONTROL_CHARACTER = "control_character"
    UNESCAPED_QUOTE = "unescaped_quote"
    BAD_UTF8 = "bad_utf8"
    NOT_A_NUMBER = "not_a_number"  # NaN or Infinity, read as unknown
    NUMBER_AS_TEXT = "number_as_text"
    NO_DURATION = "no_duration"  # missing or null; kept with 0
    NEGATIVE_DURATION = "negative_duration"  # kept with 0
    UNCLOSED_BEGIN = "unclosed_begin"  # a B without its E; kept with 0
    NESTED_EVENTS = "nested_events"  # traceEvents inside traceEvents
    BAD_METADATA = "bad_metadata"  # a part of the file outside the events can't be read
    DAMAGED_CONTAINER = "damaged_container"  # the compressed stream is cut or broken
    STREAM_OUT_OF_RANGE = "stream_out_of_range"  # a stream or correlation beyond int64, folded


@dataclass(frozen=True)
class Place:
    """Where in the file something was dropped or repaired first.

    Attributes:
        reason: The ``Drop`` or ``Repair``.
        offset_bytes: Offset in the decompressed content.
        excerpt: A few characters around it, control characters escaped.
    """

    reason: Drop | Repair
    offset_bytes: int
    excerpt: str


@dataclass(frozen=True)
class ReadLog:
    """What the file held and what became of it. ``in_file = kept + Σ dropped``, always.

    Attributes:
        path: The file's name as given.
        container: ``plain``, ``gzip`` or ``zip`` (found by content, not by suffix).
        file_bytes: Size of the file as it lies on disk.
        content_bytes: Size of the decompressed content that was read.
        in_file: Elements of the event array found in the file, whole or not.
        kept: Elements that are in the trace (metadata elements included).
        dropped: Number of elements lost, by reason.
        repaired: Number of repairs, by kind.
        places: The first places of each reason.
        phases: Kept elements by phase character.
        categories: Kept slices by raw category.
    """

    path: str
    container: str
    file_bytes: int
    content_bytes: int
    in_file: int
    kept: int
    dropped: Mapping[Drop, int] = field(default_factory=dict)
    repaired: Mapping[Repair, int] = field(default_factory=dict)
    places: tuple[Place, ...] = ()
    phases: Mapping[str, int] = field(default_factory=dict)
    categories: Mapping[str, int] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether every event of the file is in the trace and the file wasn't cut."""
        return not self.dropped and not {Repair.TRUNCATED, Repair.DAMAGED_CONTAINER} & set(self.repaired)

    def check(self) -> None:
        """Raise ``AssertionError`` unless what was found is what was kept and dropped."""
        assert self.in_file == self.kept + sum(self.dropped.values()), (self.in_file, self.kept, self.dropped)
        assert all(n > 0 for n in (*self.dropped.values(), *self.repaired.values())), "a reason with no count"


@dataclass(frozen=True)
class Thread:
    """A row of the trace: a host thread or a GPU stream.

    Attributes:
        pid: The raw process id: an int, or a string where the file has one (``"Spans"``).
        tid: The raw thread id.
        name: The thread's name from the metadata, or "".
        process_name: The process's name from the metadata, or "".
        process_label: The process's label from the metadata (``"GPU 0"``), or "".
    """

    pid: int | str
    tid: int | str
    name: str = ""
    process_name: str = ""
    process_label: str = ""


class Strings(Sequence[str]):
    """Each distinct name once; columns hold ids into it.

    Decoded to ``str`` by the reader; may hold anything a file can hold, escapes included: whatever prints one escapes it.
    """

    __slots__ = ("_ids", "_values")

    def __init__(self, values: Sequence[str]) -> None:
        self._values: tuple[str, ...] = tuple(values)
        self._ids: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: Any) -> Any:
        return self._values[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def id(self, text: str) -> int:
        """Return the id of ``text``, or -1 if no event has that name."""
        if self._ids is None:
            self._ids = {value: i for i, value in enumerate(self._values)}
        return self._ids.get(text, ABSENT)

    def ids_where(self, accept: Any) -> I32:
        """Return the ids of all strings for which ``accept(text)`` is true (int32[k]): one look at each distinct name."""
        return np.array([i for i, value in enumerate(self._values) if accept(value)], dtype=np.int32)


@dataclass(frozen=True)
class Slices:
    """Events with a start and a duration, sorted by (start, longer first, place in the file). All arrays have length n.

    Attributes:
        ts_ns: Start, since ``Trace.base_ns``.
        dur_ns: Duration, never negative.
        name: Id into ``Trace.strings``.
        category: ``Category``.
        thread: Index into ``Trace.threads``.
        device: Device number of a GPU event (its args, else its pid), or -1.
        stream: Stream of a GPU event (its args, else its tid), or -1; a raw -1 or 2³²-1 is read as absent.
        correlation: Correlation id, or -1; a raw 0, -1 or 2³²-1 means unknown and is read as absent.
        external_id: External id, or -1; a raw 0 means none.
        args_at: Offset of the args object in the content, or -1 where there is none.
        args_len: Length in bytes of the args object.
        index: Place of the event in the file's event array, counted from 0 (of the B for a B/E pair).
    """

    ts_ns: I64
    dur_ns: I64
    name: I32
    category: U8
    thread: I32
    device: I64
    stream: I64
    correlation: I64
    external_id: I64
    args_at: I64
    args_len: I32
    index: I64

    def __len__(self) -> int:
        return len(self.ts_ns)

    @property
    def end_ns(self) -> I64:
        """Ends, int64[n]."""
        return self.ts_ns + self.dur_ns

    def is_any(self, categories: Sequence[Category]) -> NDArray[np.bool_]:
        """Return bool[n]: whether a slice is of one of the categories."""
        table = np.zeros(256, dtype=bool)
        table[list(categories)] = True
        return np.asarray(table[self.category])

    def rows(self, *categories: Category) -> I64:
        """Return the rows of the categories, in order of time."""
        return np.flatnonzero(self.is_any(categories))


@dataclass(frozen=True)
class Marks:
    """Events without a duration: flows, instants, counters, async begins and ends; file order. All arrays have length m.

    Attributes:
        ts_ns: Time, since ``Trace.base_ns``.
        name: Id into ``Trace.strings``.
        raw_category: Id into ``Trace.strings`` of the raw category.
        phase: ``Phase``.
        thread: Index into ``Trace.threads``.
        id: The event's id as a number (decimal or hex text is read as a number, other text as a negative number of its own), or -1.
        args_at: Offset of the args object in the content, or -1.
        args_len: Length in bytes of the args object.
        index: Place of the event in the file's event array.
    """

    ts_ns: I64
    name: I32
    raw_category: I32
    phase: U8
    thread: I32
    id: I64
    args_at: I64
    args_len: I32
    index: I64

    def __len__(self) -> int:
        return len(self.ts_ns)


class Content(Protocol):
    """The decompressed bytes of the file, for args that are parsed when someone asks."""

    def read(self, at: int, length: int) -> bytes:
        """Return ``length`` bytes from offset ``at``."""
        ...


class ArgsParser(Protocol):
    """Reads one args object, mended if need be."""

    def __call__(self, data: bytes) -> dict[str, Any]:
        """Return the args; NaN and Infinity come out as None."""
        ...


@dataclass(frozen=True)
class Device:
    """One entry of the file's ``deviceProperties``.

    Attributes:
        id: Device number as the file says.
        name: Model name, may be "".
        properties: The entry as it stands in the file.
    """

    id: int
    name: str
    properties: Mapping[str, Any]


@dataclass(frozen=True)
class Trace:
    """A trace, read and immutable.

    Attributes:
        path: The file's name as given.
        slices: Events with a duration.
        strings: Names.
        threads: Host threads and GPU rows.
        flows, instants, counters, asyncs: Events without a duration.
        devices: ``deviceProperties`` of the file.
        base_ns: What to add to any time for ns since the epoch (``baseTimeNanoseconds``; 0 where the file has absolute times or none).
        metadata: The file's top-level values other than the events (record_shapes, with_stack, distributedInfo, …).
        log: How it was read.
        content: Where args can be read from.
        parse_args: How.
    """

    path: str
    slices: Slices
    strings: Strings
    threads: tuple[Thread, ...]
    flows: Marks
    instants: Marks
    counters: Marks
    asyncs: Marks
    devices: tuple[Device, ...]
    base_ns: int
    metadata: Mapping[str, Any]
    log: ReadLog
    content: Content
    parse_args: ArgsParser

    def __len__(self) -> int:
        return len(self.slices)

    def name(self, row: int) -> str:
        """Return the name of slice ``row``."""
        return str(self.strings[self.slices.name[row]])

    def args(self, row: int) -> dict[str, Any]:
        """Return the args of slice ``row``, parsed now; {} where it has none."""
        return self._args(int(self.slices.args_at[row]), int(self.slices.args_len[row]))

    def mark_args(self, marks: Marks, row: int) -> dict[str, Any]:
        """Return the args of entry ``row`` of ``marks``, parsed now; {} where it has none."""
        return self._args(int(marks.args_at[row]), int(marks.args_len[row]))

    def _args(self, at: int, length: int) -> dict[str, Any]:
        if at < 0 or length <= 0:
            return {}
        return self.parse_args(self.content.read(at, length))

    @property
    def gpu_rows(self) -> I64:
        """Rows of GPU work (kernels, copies, sets), in order of time (int64[g])."""
        return self.slices.rows(*GPU_WORK)

    @property
    def span_ns(self) -> tuple[int, int]:
        """First start and last end of all slices; (0, 0) in a trace without any."""
        s = self.slices
        if not len(s):
            return 0, 0
        return int(s.ts_ns.min()), int(s.end_ns.max())

    def check(self) -> None:
        """Raise ``AssertionError`` unless the trace keeps its promises."""
        self.log.check()
        s = self.slices
        assert (s.dur_ns >= 0).all(), "a negative duration"
        key = np.lexsort((s.index, -s.dur_ns, s.ts_ns))
        assert (key == np.arange(len(s))).all(), "slices aren't sorted by (start, longer first, place in the file)"
        for column in (s.device, s.stream, s.correlation, s.external_id):
            assert (column >= ABSENT).all() or column is s.stream or column is s.correlation, "an id below -1"
        assert not len(s) or (s.name.min() >= 0 and s.name.max() < len(self.strings)), "a name out of range"
        assert not len(s) or (s.thread.min() >= 0 and s.thread.max() < len(self.threads)), "a thread out of range"
        for array in vars(s).values():
            assert len(array) == len(s), "columns of different lengths"
            assert not array.flags.writeable, "a writeable column"


def to_pandas(trace: Trace) -> Any:
    """Return the slices as a ``pandas.DataFrame``, a copy: ``ts_ns dur_ns name category pid tid device stream correlation external_id``."""
    import pandas as pd

    s = trace.slices
    return pd.DataFrame({
        "ts_ns": s.ts_ns,
        "dur_ns": s.dur_ns,
        "name": pd.Categorical.from_codes(s.name, dtype=pd.CategoricalDtype(list(trace.strings))),
        "category": [Category(c).name.lower() for c in s.category],
        "pid": [trace.threads[t].pid for t in s.thread],
        "tid": [trace.threads[t].tid for t in s.thread],
        "device": s.device,
        "stream": s.stream,
        "correlation": s.correlation,
        "external_id": s.external_id,
    })
