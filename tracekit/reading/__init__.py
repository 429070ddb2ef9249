"""Reads a trace: the one door is ``load``."""

from tracekit.reading.loading import load

__all__ = ["load"]
