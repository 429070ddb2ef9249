"""Attention regions: one logical call, however it was written."""

from tracekit.attention.finder import find_regions
from tracekit.attention.regions import Direction, Region, Regions, Stage

__all__ = ["Direction", "Region", "Regions", "Stage", "find_regions"]
