"""Writes a trace that shows in Perfetto what tracekit knows: every original event with its args, and ours beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracekit.analysis import Analysis
from tracekit.analysis.idle import Cause
from tracekit.analysis.kernels import device_of
from tracekit.findings import Findings
from tracekit.trace import GPU_WORK, Trace
from tracekit.units import ns_text, us
from tracekit.writing.arrows import missing_arrows
from tracekit.writing.counters import busy_pct, exposed_pct, latency_us, memory_mib, queue_events
from tracekit.writing.fitting import clipped_ends
from tracekit.writing.focus import Focus, focus_of, mark_ns
from tracekit.writing.gains import LONGEST, gpu_args, safe
from tracekit.writing.raw import RawTrace, packed, parts, read_raw, with_args, with_field, with_members
from tracekit.writing.tracks import Mark, Tracks

FIRST_PID = 1_000_000
FIRST_FLOW = 1 << 44
"""Above the ids that profilers give to flows of their own, with which ours must not be joined."""

_LONGEST_TEXT = 1000
LEAST_IDLE_NS = 1_000
"""Idle stretches below are left out of the track: a viewer can't show them, and there are thousands."""


@dataclass(frozen=True)
class Annotated:
    """What was written.

    Attributes:
        data: The file, gzip.
        events: Events of the original, all of them in the file.
        added: Events of ours.
        clipped: Slices that were shortened so that a viewer keeps them; their args say how long they were.
        notices: What a user should know.
        focus: Where a viewer looks first; None where there is nothing to see.
    """

    data: bytes
    events: int
    added: int
    clipped: int
    notices: tuple[str, ...]
    focus: Focus | None = None


@dataclass(frozen=True)
class Annotation:
    """A trace's events with ours, before they are written.

    Attributes:
        raw: The file as it was.
        events: Its events in the file's order, changed where they gained something; b"" where one couldn't be read.
        ours: What is added.
        clipped: Slices that were shortened.
    """

    raw: RawTrace
    events: list[bytes]
    ours: list[bytes]
    clipped: int


def annotate(analysis: Analysis, findings: Findings) -> Annotated:
    """Return the annotated trace.

    Args:
        analysis: The trace's analysis; its file is read once more, as text.
        findings: What was found in it.

    Raises:
        InputError: The file came from standard input, or can't be read any more.
    """
    trace = analysis.trace
    found = annotation(analysis, findings)
    notices = []
    if abs(trace.span_ns[1]) > 9_000_000_000_000_000:
        notices.append("The trace has times since the epoch; Perfetto holds them as doubles, so that slices which touch may overlap there.")
    if found.clipped:
        notices.append(shortened(found.clipped))
    data = packed(found.raw, [*found.events, *found.ours], gzip=True)
    return Annotated(data, sum(map(bool, found.events)), len(found.ours), found.clipped, tuple(notices), focus_of(analysis, findings))


def shortened(count: int) -> str:
    """Return the notice about slices that were shortened."""
    return f"{count:,} slices crossed others of their track and were shortened for the viewer; their args say how long they were."


def annotation(analysis: Analysis, findings: Findings, *, label: str = "") -> Annotation:
    """Return a trace's events with ours; a label stands before the names of our tracks.

    Raises:
        InputError: The file came from standard input, or can't be read any more.
    """
    trace = analysis.trace
    raw = read_raw(trace)
    cut = clipped_ends(trace)
    links = _links(findings)
    events = list(raw.events)
    _change_slices(analysis, events, cut, gpu_args(analysis), links)
    _rename(analysis, events)
    tracks = Tracks(_free_pid(trace), trace.span_ns[0], label)
    return Annotation(raw, events, list(_ours(analysis, findings, tracks, links)), len(cut))


def _free_pid(trace: Trace) -> int:
    used = {thread.pid for thread in trace.threads}
    pid = FIRST_PID
    while pid in used:
        pid += 1
    return pid


def _change_slices(
    analysis: Analysis, events: list[bytes], cut: dict[int, int], more: dict[int, dict[str, object]], links: dict[int, int]
) -> None:
    slices = analysis.trace.slices
    arrows = missing_arrows(analysis, set(links))
    for row in {*cut, *more, *links, *arrows}:
        at = int(slices.index[row])
        args = dict(more.get(row, {}))
        if row in cut:
            args["tracekit.original_dur_us"] = us(int(slices.dur_ns[row]))
            events[at] = with_field(events[at], "dur", us(cut[row] - int(slices.ts_ns[row])))
        events[at] = with_args(events[at], args)
        if row in links:
            events[at] = with_members(events[at], {"bind_id": hex(links[row]), "flow_out": True})
        elif row in arrows:
            end = arrows[row]
            events[at] = with_members(events[at], {"bind_id": hex(end.flow), "flow_out" if end.outgoing else "flow_in": True})


def _links(findings: Findings) -> dict[int, int]:
    """Return the flow of the first evidence of each finding, by its row; one flow a slice, as the format has it."""
    out: dict[int, int] = {}
    for number, one in enumerate(findings.findings, FIRST_FLOW):
        if one.evidence:
            out.setdefault(one.evidence[0].row, number)
    return out


def _rename(analysis: Analysis, events: list[bytes]) -> None:
    """Give GPU processes and streams names that say what they are, in place: an added name would lose against the first one."""
    trace = analysis.trace
    rows = trace.slices.rows(*GPU_WORK)
    pids: dict[int | str, int] = {}
    for thread, device in zip(trace.slices.thread[rows].tolist(), trace.slices.device[rows].tolist(), strict=True):
        pids.setdefault(trace.threads[thread].pid, device)
    for i, event in enumerate(events):
        if b'"M"' not in event[:400]:
            continue
        known = parts(event)
        if known is None or known.ph != "M" or known.name != "process_name" or bytes(known.args)[:1] != b"{":
            continue
        if known.pid in pids:
            device = pids[known.pid]  # type: ignore[index]
            name = str(device_of(analysis, device).get("name", "")) or "GPU"
            events[i] = with_args(
                event,
                {"name": f"GPU {device} {name}".strip(), "tracekit.original": bytes(known.args).decode("utf-8", "replace")[:LONGEST]},
            )


def _ours(analysis: Analysis, findings: Findings, tracks: Tracks, links: dict[int, int]) -> Iterator[bytes]:
    yield from tracks.header()
    yield from tracks.track("findings", "finding", _findings(findings, links))
    yield from tracks.track("steps", "tracekit.step", _steps(analysis, findings))
    yield from tracks.track("GPU idle", "tracekit.idle", _idle(analysis))
    yield from tracks.track("attention", "tracekit.attention", _attention(analysis))
    yield from tracks.track("CPU time that nothing explains", "tracekit.opaque", _opaque(analysis))
    yield from tracks.counter("GPU busy", "%", busy_pct(analysis))
    yield from tracks.counter("GPU waits for the host", "%", exposed_pct(analysis))
    yield from tracks.counter("launch queue", "events", queue_events(analysis))
    yield from tracks.counter("launch to start", "us", latency_us(analysis))
    for device, points in memory_mib(analysis).items():
        yield from tracks.counter(f"allocated on {safe(device)[:40]}", "MiB", points)


def _findings(findings: Findings, links: dict[int, int]) -> Iterator[Mark]:
    """Yield a mark over the evidence of each finding."""
    for number, one in enumerate(findings.findings, FIRST_FLOW):
        if not one.evidence:
            continue
        first = one.evidence[0]
        saving = one.saving_ns_per_step
        args: dict[str, object] = {
            "code": one.code,
            "severity": one.severity,
            "what": safe(one.what),
            "why": safe(one.why),
            "fix": safe(one.fix),
        }
        args["cost_us_per_step"] = us(one.cost_ns_per_step)
        if saving is not None:
            args |= {"saving_us_per_step": us(saving.mid_ns), "saving_low_us": us(saving.low_ns), "saving_high_us": us(saving.high_ns)}
        link = number if number in links.values() else 0
        yield Mark(first.ts_ns, first.ts_ns + mark_ns(first), safe(f"{one.code} {one.severity}: {one.title}"[:LONGEST]), args, link)


def _steps(analysis: Analysis, findings: Findings) -> Iterator[Mark]:
    windows, steps = analysis.windows, analysis.links.steps
    about: dict[str, object] = {"verdict": safe(analysis.summary.verdict.text)[:_LONGEST_TEXT]}
    worst = max((one for one in findings.findings if one.cost_ns_per_step > 0), key=lambda one: one.cost_ns_per_step, default=None)
    if worst is not None:
        about |= {"dearest_finding": safe(f"{worst.code}: {worst.title}"), "dearest_finding_us_per_step": us(worst.cost_ns_per_step)}
    for i, name in enumerate(steps.names):
        wall, busy = int(windows.wall_ns[i]), int(windows.busy_ns[i])
        args: dict[str, object] = {
            "step_us": us(wall),
            "gpu_busy_us": us(busy),
            "gpu_idle_us": us(wall - busy),
            "host_us": us(int(windows.host_ns[i])),
            **about,
        }
        yield Mark(
            int(windows.start_ns[i]), int(windows.end_ns[i]), f"{name}: {ns_text(wall)}, GPU busy {100 * busy / max(wall, 1):.0f} %", args
        )


def _idle(analysis: Analysis) -> Iterator[Mark]:
    idle, trace = analysis.idle, analysis.trace
    columns = zip(idle.start_ns.tolist(), idle.end_ns.tolist(), idle.cause.tolist(), idle.row.tolist(), strict=True)
    for start, end, cause, row in columns:
        if end - start < LEAST_IDLE_NS:
            continue
        kind = Cause(cause).name.lower().replace("_", " ")
        name = trace.name(row)[:LONGEST] if row >= 0 else ""
        yield Mark(start, end, safe(f"idle: {name or kind}"), {"cause": kind, "idle_us": us(end - start)})


def _attention(analysis: Analysis) -> Iterator[Mark]:
    slices = analysis.trace.slices
    for region in analysis.attention.attention:
        rows = np.array(region.gpu_rows, dtype=np.int64)
        if not len(rows):
            continue
        args: dict[str, object] = {
            "backend": region.backend,
            "direction": region.direction.value,
            "gpu_us": us(region.gpu_ns),
            "cpu_us": us(region.cpu_ns),
        }
        args |= {f"stage.{stage.name}_us": us(stage.ns) for stage in region.stages}
        args |= {"shapes": region.shapes} if region.shapes else {}
        if region.useful_flops and region.gpu_ns > 0:
            args["tflop_s"] = round(region.useful_flops / region.gpu_ns / 1000, 2)
        start, end = int(slices.ts_ns[rows].min()), int(slices.end_ns[rows].max())
        yield Mark(start, end, f"attention {region.direction.value}: {region.backend}", args)


def _opaque(analysis: Analysis) -> Iterator[Mark]:
    slices, host = analysis.trace.slices, analysis.host
    for row in np.flatnonzero(np.minimum(host.opaque_ns, host.exposed_ns) > 0).tolist():
        args: dict[str, object] = {"opaque_us": us(int(host.opaque_ns[row])), "exposed_us": us(int(host.exposed_ns[row]))}
        yield Mark(int(slices.ts_ns[row]), int(slices.end_ns[row]), safe(analysis.trace.name(row)[:LONGEST]), args)
