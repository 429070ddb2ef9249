"""What kernel names say about themselves."""

from __future__ import annotations

import pytest

from tracekit.kernels import Decoded, decode


@pytest.mark.parametrize(
    ("name", "decoded"),
    [
        ("volta_sgemm_128x32_nt", Decoded("fp32", "128x32", "sm70", False)),
        ("ampere_sgemm_128x64_nn", Decoded("fp32", "128x64", "sm80", False)),
        (
            "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas",
            Decoded("fp32", "128x128x8", "sm80", False),
        ),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1", Decoded("bf16", "128x128x64", "sm90", True)),
        (
            "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8>(P)",
            Decoded("bf16", "256x128x32", "sm80", True),
        ),
        (
            "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT320x224x64_MI16x16x1_SN_ISA942_IU1",
            Decoded("bf16", "320x224x64", "gfx942", True),
        ),
        ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT", Decoded("bf16", "256x128x64", "sm90", True)),
        ("Memcpy DtoD (Device -> Device)", Decoded()),
        ("xyzzy", Decoded()),
    ],
)
def test_real_names_are_understood(name: str, decoded: Decoded) -> None:
    """Format, tile, architecture and tensor cores; None where the name is silent."""
    assert decode(name) == decoded


def test_cudnns_f16_is_either_of_two_formats() -> None:
    """It runs bfloat16 too, so the name doesn't tell."""
    decoded = decode("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0")
    assert (decoded.dtype, decoded.arch, decoded.tensor_cores) == (None, "sm90", True)


def test_only_products_are_asked_for_tensor_cores() -> None:
    """An elementwise kernel has no use for them."""
    assert decode("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)").tensor_cores is None
