"""Why a row of the ledger differs, in a few words, where the trace shows it."""

from __future__ import annotations

from collections.abc import Iterable

from tracekit.diff.align import Bundle, Pair
from tracekit.diff.sides import SideData
from tracekit.kernels import Decoded, decode

_SAME = 0.02  # share within which two times are alike


def cause_of(pair: Pair, a: SideData, b: SideData) -> str:
    """Return the cause of a pair's difference, or ""."""
    if pair.a and pair.b:
        return _changed(pair.a, pair.b, a, b)
    one, side = (pair.b, b) if pair.b else (pair.a, a)
    assert one is not None
    return stage_cause(one.stage, a, b) if one.stage in {"softmax", "mask"} else _alone(one, side)


def _decoded(bundle: Bundle) -> Decoded:
    """Return what the longest kernel's name says."""
    return decode(max(bundle.kernels, key=lambda name: bundle.kernels[name]))


def _changed(one: Bundle, two: Bundle, a: SideData, b: SideData) -> str:
    before, after = _decoded(one), _decoded(two)
    words = []
    if before.tensor_cores and after.tensor_cores is False:
        words.append(f"{after.dtype or 'now'} without tensor cores, before {before.dtype or 'with them'}")
    elif after.tensor_cores and before.tensor_cores is False:
        words.append(f"{after.dtype or 'now'} with tensor cores, before {before.dtype or ''} without".replace("  ", " "))
    elif before.dtype and after.dtype and before.dtype != after.dtype:
        words.append(f"{after.dtype} instead of {before.dtype}")
    if one.stage and (found := stage_cause(one.stage, a, b)):
        words.append(found)
    if words:
        return "; ".join(words)
    per_step = two.count / b.count - one.count / a.count
    if abs(per_step) >= 0.5:
        return f"{abs(per_step):.3g} {'more' if per_step > 0 else 'fewer'} a step"
    if set(one.kernels) != set(two.kernels):
        tiles = before.tile, after.tile
        return f"another kernel, tile {tiles[1]} instead of {tiles[0]}" if all(tiles) and tiles[0] != tiles[1] else "another kernel"
    each = (two.ns / max(two.count, 1)) / max(one.ns / max(one.count, 1), 1e-9)
    return "" if abs(each - 1) <= _SAME else f"the same kernels, each {each:.2f}× as long"


def stage_cause(stage: str | None, a: SideData, b: SideData) -> str:
    """Return what both traces show of a stage's difference, whichever of its kernels one looks at; "" where nothing."""
    if stage == "softmax":
        now, before = (_has(side, "aten::_safe_softmax") for side in (b, a))
        if now != before:
            return "safe softmax: extra passes over the scores" if now else "no safe softmax any more"
    if stage == "mask":
        now, before = (any("mask is built anew" in note for region in side.regions for note in region.notes) for side in (b, a))
        if now != before:
            return "the mask is built anew in every call" if now else "the mask is no longer built in every call"
    return ""


def _has(side: SideData, op: str) -> bool:
    name = side.analysis.trace.strings.id(op)
    return name >= 0 and bool((side.analysis.trace.slices.name == name).any())


def _alone(one: Bundle, side: SideData) -> str:
    if one.stage == "copy":
        out_of_place = any("masked_fill out of place" in note for region in side.regions for note in region.notes)
        return "the clone that masked_fill makes out of place" if out_of_place and one.class_.startswith("memcpy") else "copies"
    if one.stage == "fused":
        return f"one fused kernel ({', '.join(_backends(side))})"
    return ""


def _backends(side: SideData) -> Iterable[str]:
    return dict.fromkeys(region.backend for region in side.regions)
