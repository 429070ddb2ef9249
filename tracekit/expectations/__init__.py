"""What people expect of a trace, written down before they look, and what the trace shows."""

from tracekit.expectations.draft import draft
from tracekit.expectations.evaluate import Check, Outcome, evaluate
from tracekit.expectations.language import Expectation, Expectations, parse_expectations, read_expectations

__all__ = ["Check", "Expectation", "Expectations", "Outcome", "draft", "evaluate", "parse_expectations", "read_expectations"]
