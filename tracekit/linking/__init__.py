"""Links GPU events to launches, ops and steps."""

from tracekit.linking.calls import LAUNCHING, Role, call_role, call_roles
from tracekit.linking.forest import depths, inherited, roll_up
from tracekit.linking.linker import link
from tracekit.linking.links import Links, Method, NoGpu, Reason, Steps

__all__ = [
    "LAUNCHING",
    "Links",
    "Method",
    "NoGpu",
    "Reason",
    "Role",
    "Steps",
    "call_role",
    "call_roles",
    "depths",
    "inherited",
    "link",
    "roll_up",
]
