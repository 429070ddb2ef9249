"""Writes trace files that viewers read, and serves them."""

from tracekit.writing.annotate import Annotated, annotate
from tracekit.writing.raw import as_it_is
from tracekit.writing.viewer import Viewer, ViewerError, serve, ui_folder

__all__ = ["Annotated", "Viewer", "ViewerError", "annotate", "as_it_is", "serve", "ui_folder"]
