"""What a runtime or driver call is for, by its name: one table for every vendor (``runtimes.toml``).

Linking never depends on it alone: a call that no table knows still links to the GPU events that carry its correlation.
"""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass
from enum import IntEnum
from importlib.resources import files

import numpy as np

from tracekit.trace import CALLS, U8, Trace


class Role(IntEnum):
    """What a call does. The names in lower case are those of ``runtimes.toml``."""

    NONE = 0  # no runtime or driver call at all
    OTHER = 1  # a call that no row of the table knows, or that does none of the below
    LAUNCH = 2  # a kernel
    GRAPH_LAUNCH = 3  # a whole graph: one call, many GPU events
    MEMCPY = 4
    MEMSET = 5
    SYNC = 6  # the host waits
    ALLOC = 7
    FREE = 8
    CAPTURE = 9  # captures, builds or instantiates a graph
    EVENT = 10  # records events, or makes a stream wait for one
    QUERY = 11  # asks for a property or a state; nothing changes
    MODULE = 12  # loads code, also lazily


LAUNCHING = (Role.LAUNCH, Role.GRAPH_LAUNCH, Role.MEMCPY, Role.MEMSET)
# Version and per-thread-stream variants of one call: cuMemcpyHtoDAsync_v2, cuLaunchKernelEx_ptsz, cudaLaunchKernel_v7000.
_VARIANT = re.compile(r"(?:_ptsz|_ptds|_spt|_v\d+)+$")


@dataclass(frozen=True)
class Rules:
    """The table, ready for use.

    Attributes:
        exact: Role of each name.
        patterns: Regular expressions with their roles, tried in order on names that ``exact`` lacks.
        begin_capture, end_capture: The calls between which a launch is captured and doesn't run.
        launch_flows: Categories and names of the flows that join a call to its GPU events.
    """

    exact: dict[str, Role]
    patterns: tuple[tuple[re.Pattern[str], Role], ...]
    begin_capture: frozenset[str]
    end_capture: frozenset[str]
    launch_flows: frozenset[str]
    forward_backward_flows: frozenset[str]


@functools.cache
def rules() -> Rules:
    """Return the table of ``runtimes.toml``."""
    table = tomllib.loads(files("tracekit.linking").joinpath("runtimes.toml").read_text(encoding="utf-8"))
    exact = {name: Role[row["role"].upper()] for row in table["calls"] for name in row["names"]}
    patterns = tuple((re.compile(row["pattern"]), Role[row["role"].upper()]) for row in table["patterns"])
    capture, flows = table["capture"], table["flows"]
    return Rules(
        exact,
        patterns,
        frozenset(capture["begin"]),
        frozenset(capture["end"]),
        frozenset(flows["launch"]),
        frozenset(flows["forward_backward"]),
    )


def base_name(name: str) -> str:
    """Return a call's name without its version or per-thread-stream suffix."""
    return _VARIANT.sub("", name)


@functools.lru_cache(maxsize=4096)
def call_role(name: str) -> Role:
    """Return what the runtime or driver call ``name`` does; ``Role.OTHER`` where the table doesn't say."""
    table = rules()
    role = table.exact.get(name) or table.exact.get(base_name(name))
    if role is not None:
        return role
    return next((role for pattern, role in table.patterns if pattern.search(name)), Role.OTHER)


def call_roles(trace: Trace) -> U8:
    """Return the ``Role`` of every slice (uint8[n]): ``Role.NONE`` for all that are no runtime or driver calls."""
    s = trace.slices
    rows = s.rows(*CALLS)
    roles = np.zeros(len(s), dtype=np.uint8)
    names = np.unique(s.name[rows])
    by_name = np.zeros(len(trace.strings), dtype=np.uint8)
    by_name[names] = [call_role(trace.strings[int(i)]) for i in names]
    roles[rows] = by_name[s.name[rows]]
    return roles
