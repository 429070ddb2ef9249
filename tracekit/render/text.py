"""Text from a trace, made safe to show: the one escape that every document format passes its text through first."""

from __future__ import annotations

from tracekit.errors import escape_control

LONGEST = 4096
"""Characters of one text that any document shows. A name of 2 MB helps nobody; JSON and CSV carry it whole."""


def shown(text: str) -> str:
    """Return ``text`` with control characters escaped, and its middle left out where it is longer than ``LONGEST`` characters."""
    if len(text) > LONGEST:
        half = LONGEST // 2
        text = f"{text[:half]} … {len(text) - 2 * half:,} characters … {text[-half:]}"
    return escape_control(text)
