"""Writes trace files that viewers read, and serves them."""

from tracekit.writing.annotate import Annotated, annotate
from tracekit.writing.both import annotate_both
from tracekit.writing.focus import Focus
from tracekit.writing.raw import as_it_is
from tracekit.writing.repair import Repaired, repaired
from tracekit.writing.slice import Part, Sliced, cut_out, parse_part
from tracekit.writing.viewer import Viewer, ViewerError, queries, serve, too_big, ui_folder

__all__ = [
    "Annotated",
    "Focus",
    "Part",
    "Repaired",
    "Sliced",
    "Viewer",
    "ViewerError",
    "annotate",
    "annotate_both",
    "as_it_is",
    "cut_out",
    "parse_part",
    "queries",
    "repaired",
    "serve",
    "too_big",
    "ui_folder",
]
