"""A condition that fails a comparison: ``step_us > +3%``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from tracekit.diff.result import Diff, Quantity
from tracekit.errors import OptionError

_QUANTITIES = {"step_us": "wall_ns", "gpu_busy_us": "gpu_busy_ns", "gpu_idle_us": "gpu_idle_ns", "host_us": "host_ns", "gpu_us": "gpu_ns"}
_FORM = re.compile(r"\s*(\w+)\s*(>|<)\s*([+-]?[0-9]+(?:\.[0-9]+)?)\s*(%)?\s*")


@dataclass(frozen=True)
class Gate:
    """A condition.

    Attributes:
        text: As it was written.
        quantity: Field of the step.
        above: Whether it fails above the limit; else below.
        limit: Change from A to B: a share (0.03), or ns.
        is_share: Which of the two.
    """

    text: str
    quantity: str
    above: bool
    limit: float
    is_share: bool


def parse_gate(text: str) -> Gate:
    """Read a condition: a quantity, > or <, and a change in per cent or µs.

    Raises:
        OptionError: It is none.
    """
    found = _FORM.fullmatch(text)
    if found is None or found[1] not in _QUANTITIES:
        raise OptionError(
            "--fail-if", f"{text!r} is no condition", f"Write 'step_us > +3%' or 'gpu_idle_us > 50'; there are {', '.join(_QUANTITIES)}."
        )
    share = found[4] == "%"
    return Gate(text.strip(), _QUANTITIES[found[1]], found[2] == ">", float(found[3]) / 100 if share else float(found[3]) * 1000, share)


def failed(gate: Gate, diff: Diff) -> str | None:
    """Return why a comparison fails the gate, or None.

    Only a difference that is more than noise fails; where a trace has one step, nothing can be told, so nothing fails.
    """
    one: Quantity = getattr(diff.step, gate.quantity)
    change = _share(one) if gate.is_share else one.delta
    beyond = change > gate.limit if gate.above else change < gate.limit
    if not beyond or not one.significant:
        return None
    shown = f"{100 * change:+.1f} %" if gate.is_share else f"{change / 1000:+,.1f} µs"
    return f"{gate.text}: it changed by {shown}, which is more than noise"


def _share(one: Quantity) -> float:
    if one.a:
        return one.delta / one.a
    return math.copysign(math.inf, one.delta) if one.delta else 0.0
