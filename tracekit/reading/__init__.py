"""Reads a trace: the one door is ``load``."""

from tracekit.reading._bootstrap import load

__all__ = ["load"]
