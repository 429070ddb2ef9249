"""What changed between two traces, and why."""

from tracekit.diff.comparing import compare
from tracekit.diff.gate import Gate, failed, parse_gate
from tracekit.diff.result import CpuRow, Diff, IdleDelta, LedgerRow, Quantity, Shifted, Side, StepDelta
from tracekit.diff.variants import VariantRow, Variants, compare_variants

__all__ = [
    "CpuRow",
    "Diff",
    "Gate",
    "IdleDelta",
    "LedgerRow",
    "Quantity",
    "Shifted",
    "Side",
    "StepDelta",
    "VariantRow",
    "Variants",
    "compare",
    "compare_variants",
    "failed",
    "parse_gate",
]
