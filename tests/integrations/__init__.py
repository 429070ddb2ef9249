"""Tests of tracekit.integrations."""
