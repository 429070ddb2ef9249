"""A handler for torch.profiler's ``on_trace_ready``: writes the trace, and says at once what is wrong with it."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tracekit.errors import OutputError, TracekitError, escape_control
from tracekit.integrations.checking import ExpectationError, Recorded, expectations_of, record_of, told
from tracekit.units import ns_text

LOG = logging.getLogger("tracekit")

_WORSE_THAN_INFO = ("warning", "error")
_UNSAFE = re.compile(r"[^\w.+-]+")


class Profiler(Protocol):
    """What is needed of ``torch.profiler.profile``."""

    step_num: int

    def export_chrome_trace(self, path: str, /) -> object:
        """Write the trace."""
        ...


class Handler:
    """What ``handler`` returns: called with the profiler whenever a recording ends.

    Attributes:
        recorded: The recordings so far.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        expect: str | Path | None,
        name: str,
        raises: bool,
        say: Callable[[str], object] | None,
        step_name: str | None,
    ) -> None:
        self.recorded: list[Recorded] = []
        self._folder = Path(folder)
        self._expect = None if expect is None else expectations_of(expect)
        self._name, self._raises, self._say, self._step_name = _UNSAFE.sub("_", name) or "trace", raises, say, step_name

    def __call__(self, profiler: Profiler) -> None:
        """Write the profiler's trace, read it and say what it shows.

        Raises:
            OutputError: The trace can't be written.
            ExpectationError: It isn't as expected, and ``raises`` was given.
        """
        path = self._path(profiler)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            profiler.export_chrome_trace(str(path))
        except OSError as error:
            raise OutputError(str(path), f"can't be written: {error.strerror or error}", "Check the folder and its permissions.") from error
        try:
            recorded = record_of(path, self._expect, step_name=self._step_name)
        except TracekitError as error:
            # A training run isn't stopped because of its trace.
            if self._raises:
                raise
            LOG.warning("%s", error)
            return
        self.recorded.append(recorded)
        self._tell(recorded)
        if recorded.missed and self._raises:
            raise ExpectationError(str(path), "; ".join(recorded.missed), "Look with `tracekit report` or `tracekit view`.")

    def _path(self, profiler: Profiler) -> Path:
        rank = os.environ.get("RANK", "")
        whose = f"_rank{_UNSAFE.sub('_', rank)}" if rank else ""
        stem = f"{self._name}{whose}_step{getattr(profiler, 'step_num', 0)}"
        path, number = self._folder / f"{stem}.json.gz", 1
        while path.exists():
            number += 1
            path = self._folder / f"{stem}_{number}.json.gz"
        return path

    def _tell(self, recorded: Recorded) -> None:
        bad = [one for one in recorded.findings.findings if one.severity in _WORSE_THAN_INFO]
        lines = [(logging.INFO, f"{recorded.path}: {ns_text(recorded.findings.step_ns)} a step. {recorded.findings.verdict}")]
        lines += [(logging.WARNING, f"{one.code} {one.severity}: {one.title} ({ns_text(one.cost_ns_per_step)} a step)") for one in bad]
        lines += [(logging.WARNING, told(recorded))] if recorded.missed else []
        for level, line in lines:
            if self._say is not None:
                self._say("\n".join(escape_control(part) for part in line.split("\n")))
            else:
                LOG.log(level, "%s", "\n".join(escape_control(part) for part in line.split("\n")))


def handler(
    folder: str | Path,
    *,
    expect: str | Path | None = None,
    name: str = "trace",
    raises: bool = False,
    say: Callable[[str], object] | None = None,
    step_name: str | None = None,
) -> Handler:
    """Return a handler for ``torch.profiler.profile(on_trace_ready=…)``.

    Args:
        folder: Where traces go, as ``NAME_stepN.json.gz`` (with the rank between, where ``RANK`` is set); nothing is overwritten.
        expect: A file of expectations, or their TOML, to hold each trace against.
        name: Begin of the files' names.
        raises: Whether a trace that isn't as expected, or can't be read, raises; else it is said.
        say: Takes each line; by default the logger ``tracekit`` does, findings and missed expectations as warnings.
        step_name: Name of the annotation that marks a step; None for ``ProfilerStep#N``.

    Raises:
        InputError: The expectations can't be read.
    """
    return Handler(folder, expect=expect, name=name, raises=raises, say=say, step_name=step_name)
