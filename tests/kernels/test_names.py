"""Short names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.kernels import short_name, short_names


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1> >(int)",
            "elementwise Fill fp32",
        ),
        (
            "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::(anonymous namespace)::where_kernel_impl(X)>>(P)",
            "elementwise where",
        ),
        ("void (anonymous namespace)::softmax_warp_forward<float, float, float, 11, false, false>(float*)", "softmax_warp_forward fp32"),
        ("Memcpy DtoD (Device -> Device)", "Memcpy DtoD (Device -> Device)"),
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(P)", "cutlass_80_simt_sgemm_128x32_8x5_nn_align1"),
        ("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256EEEvPT0_", "add_rmsnorm_quant_kernel"),
        ("", ""),
    ],
)
def test_a_short_name_keeps_what_tells_a_kernel_from_its_kin(name: str, short: str) -> None:
    """Function, functor and number format."""
    assert short_name(name) == short


def test_names_that_fall_together_are_numbered_in_order() -> None:
    """They stay different."""
    names = [f"void at::native::vectorized_elementwise_kernel<{n}, at::native::FillFunctor<float>>(int)" for n in (2, 4, 8)]
    assert list(short_names(names, 40).values()) == ["elementwise Fill fp32 #1", "elementwise Fill fp32 #2", "elementwise Fill fp32 #3"]


@given(st.lists(st.text(max_size=40), max_size=20), st.integers(12, 60))
def test_any_names_stay_different_and_fit(names: list[str], width: int) -> None:
    """Whatever stands in them."""
    short = short_names(names, width)
    assert set(short) == set(names)
    assert all(len(text) <= width for text in short.values())
    assert len(set(short.values())) == len(set(names))


def test_a_name_of_megabytes_is_shortened_at_once() -> None:
    """Only its start is looked at."""
    assert len(short_names(["void f<" + "a::b<" * 500_000], 60)["void f<" + "a::b<" * 500_000]) <= 60
