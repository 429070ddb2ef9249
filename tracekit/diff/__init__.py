"""What changed between two traces, and why."""

from tracekit.diff.comparing import compare
from tracekit.diff.result import CpuRow, Diff, IdleDelta, LedgerRow, Quantity, Shifted, Side, StepDelta

__all__ = ["CpuRow", "Diff", "IdleDelta", "LedgerRow", "Quantity", "Shifted", "Side", "StepDelta", "compare"]
