"""Writes trace files that viewers read."""

from tracekit.writing.annotate import Annotated, annotate

__all__ = ["Annotated", "annotate"]
