"""How bad a finding is: decided once, by its share of the step."""

from __future__ import annotations

ERROR_SHARE, WARNING_SHARE = 0.10, 0.02


def severity(cost_ns: float, step_ns: float, cap: str = "error") -> str:
    """Return ``error`` above a tenth of the step, ``warning`` above a fiftieth, else ``info``; at most ``cap``."""
    share = cost_ns / step_ns if step_ns > 0 else 0.0
    found = "error" if share > ERROR_SHARE else "warning" if share > WARNING_SHARE else "info"
    order = ("info", "warning", "error")
    return order[min(order.index(found), order.index(cap))]
