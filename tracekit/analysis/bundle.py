"""The Analysis: a trace, its links, and every answer reckoned once, when somebody asks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tracekit.analysis.host import Host, host_time
from tracekit.analysis.idle import Idle, idle_time
from tracekit.analysis.replay import Replay
from tracekit.analysis.summary import Summary, summarize
from tracekit.analysis.windows import Windows, step_windows
from tracekit.analysis.work import Work, gpu_work
from tracekit.attention import Regions, find_regions
from tracekit.kernels import Taxonomy
from tracekit.linking import Links, link
from tracekit.reading import load
from tracekit.trace import Trace


@dataclass(frozen=True)
class Options:
    """What was asked for.

    Attributes:
        step_name: Name of the annotation that marks a step; None for ``ProfilerStep#N``.
        taxonomy: The user's kernel classes, before ours; None for ours alone.
    """

    step_name: str | None = None
    taxonomy: Taxonomy | None = None


class Analysis:
    """A trace and what follows from it. The same question gets the same object; nothing below it changes.

    Attributes:
        trace: The trace.
        options: What was asked for.
    """

    def __init__(self, trace: Trace, options: Options) -> None:
        self.trace = trace
        self.options = options

    @cached_property
    def links(self) -> Links:
        """Who launched what."""
        return link(self.trace, step_name=self.options.step_name)

    @cached_property
    def work(self) -> Work:
        """The GPU's work, classified."""
        return gpu_work(self.trace, self.links, self.options.taxonomy)

    @cached_property
    def windows(self) -> Windows:
        """When each step runs."""
        return step_windows(self.trace, self.links, self.work)

    @cached_property
    def idle(self) -> Idle:
        """Why the GPU is idle."""
        return idle_time(self.trace, self.links, self.work, self.windows)

    @cached_property
    def host(self) -> Host:
        """Opaque and exposed host time."""
        return host_time(self.trace, self.links, self.idle)

    @cached_property
    def replay(self) -> Replay:
        """The launch queue, to try changes on."""
        return Replay(self)

    @cached_property
    def attention(self) -> Regions:
        """Attention calls."""
        work = self.work
        return find_regions(self.trace, self.links, [work.classes[i] for i in work.class_id.tolist()], work.dur_ns)

    @cached_property
    def summary(self) -> Summary:
        """The trace in one page."""
        return summarize(self)


def analyze(source: Trace | str, *, step_name: str | None = None, taxonomy: Taxonomy | None = None) -> Analysis:
    """Return the analysis of a trace, or of the file with that path.

    Raises:
        InputError: The file can't be read, or isn't a trace.
        OptionError: No annotation has the name ``step_name``.
    """
    trace = source if isinstance(source, Trace) else load(source)
    return Analysis(trace, Options(step_name, taxonomy))
