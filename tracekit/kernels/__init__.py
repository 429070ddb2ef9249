"""Names and numbers of kernels: class, decoded name, short name, occupancy, device limits. Knows no trace."""

from tracekit.kernels.classify import Row, Taxonomy, classify, classify_many, copy_direction, load_taxonomy, own_taxonomy, parse_taxonomy
from tracekit.kernels.decode import Decoded, decode
from tracekit.kernels.devices import Arch, DeviceModel, find_device
from tracekit.kernels.names import short_name, short_names
from tracekit.kernels.occupancy import Occupancy, occupancy

__all__ = [
    "Arch",
    "Decoded",
    "DeviceModel",
    "Occupancy",
    "Row",
    "Taxonomy",
    "classify",
    "classify_many",
    "copy_direction",
    "decode",
    "find_device",
    "load_taxonomy",
    "occupancy",
    "own_taxonomy",
    "parse_taxonomy",
    "short_name",
    "short_names",
]
