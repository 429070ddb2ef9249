"""Devices."""

from __future__ import annotations

import pytest

from tracekit.kernels import find_device


@pytest.mark.parametrize(
    ("name", "capability", "bandwidth"),
    [
        ("NVIDIA A100-SXM4-80GB", "8.0", 2039),
        ("NVIDIA A100-SXM4-40GB", "8.0", 1555),
        ("NVIDIA H100 80GB HBM3", "9.0", 3350),
        ("NVIDIA H100 PCIe", "9.0", 2039),
        ("NVIDIA H200", "9.0", 4800),
        ("Tesla V100-SXM2-32GB", "7.0", 900),
        ("NVIDIA L40S", "8.9", 864),
        ("NVIDIA L4", "8.9", 300),
        ("NVIDIA A10G", "8.6", 600),
    ],
)
def test_models_are_told_apart(name: str, capability: str, bandwidth: float) -> None:
    """Also where one name holds another's letters."""
    device = find_device(name)
    assert device is not None
    assert device.arch is not None
    assert (device.arch.capability, device.bandwidth_gb_s) == (capability, bandwidth)


def test_amd_has_peaks_but_no_occupancy_rules() -> None:
    """The calculator is NVIDIA's."""
    device = find_device("AMD Instinct MI300X", {"warpSize": 64, "computeMajor": 9, "computeMinor": 4})
    assert device is not None
    assert device.arch is None
    assert device.peak_tflop_s["bf16"] == 1307.4


def test_the_traces_own_properties_win() -> None:
    """A device that no table knows, described by the file."""
    device = find_device("NVIDIA X999", {"computeMajor": 9, "computeMinor": 0, "numSms": 7, "maxThreadsPerMultiprocessor": 1024})
    assert device is not None
    assert device.arch is not None
    assert (device.multiprocessors, device.arch.max_threads) == (7, 1024)
    assert device.bandwidth_gb_s is None


def test_an_unknown_device_is_none() -> None:
    """No guess."""
    assert find_device("") is None
    assert find_device("Quantum Blaster 9", {}) is None
