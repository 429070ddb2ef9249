"""Reads a trace: the one door is ``load``; ``load_cached`` is the same door with a memory."""

from tracekit.reading.cache import load_cached
from tracekit.reading.loading import load

__all__ = ["load", "load_cached"]
