"""Answers about one trace."""

from tracekit.analysis.bundle import Analysis, Options, analyze

__all__ = ["Analysis", "Options", "analyze"]
