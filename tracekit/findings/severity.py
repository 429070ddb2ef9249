"""How bad a finding is: decided once, by the share of the step that mending it could win."""

from __future__ import annotations

from tracekit.findings.finding import Saving

ERROR_SHARE, WARNING_SHARE = 0.10, 0.02
ORDER = ("info", "warning", "error")


def severity(cost_ns: float, step_ns: float, *caps: str, saving: Saving | None = None) -> str:
    """Return ``error`` above a tenth of the step, ``warning`` above a fiftieth, else ``info``; at most each of ``caps``.

    What nobody could win isn't worth a warning: work that hides behind a host that stalls costs the step no more than its saving's high end.
    """
    lost = cost_ns if saving is None else min(cost_ns, saving.high_ns)
    share = lost / step_ns if step_ns > 0 else 0.0
    found = "error" if share > ERROR_SHARE else "warning" if share > WARNING_SHARE else "info"
    return ORDER[min(ORDER.index(one) for one in (found, *caps))]
