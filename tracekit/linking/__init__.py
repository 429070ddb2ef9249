"""Links GPU events to launches, ops and steps."""

from tracekit.linking.links import Links, Method, NoGpu, Reason, Steps

__all__ = ["Links", "Method", "NoGpu", "Reason", "Steps"]
