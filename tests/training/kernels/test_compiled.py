"""How two versions of a kernel are compared (`tests/helpers/compiled_kernels.py`)."""

import pytest

triton = pytest.importorskip("triton", reason="Triton is not installed")

PTX = """
ld.param.b64 %rd1, [kernel_0];
ld.param.b64 %rd2, [kernel_1];
add.s64 %rd3, %rd1, 64;
ld.global.b32 %r1, [%rd3];
mul.rn.f32 %r2, %r1, %r1;
st.global.b32 [%rd2], %r2;
ret;
"""


def test_equal_effects_are_equal_bits_whatever_the_order_and_the_registers() -> None:
    import compiled_kernels

    def effects(ptx: str) -> list[str]:
        return compiled_kernels.effects(compiled_kernels.instructions(ptx, "by_rows"))

    pointer, address = "ld.param.b64 %rd2, [kernel_1];\n", "add.s64 %rd3, %rd1, 64;\n"
    turned = PTX.replace(pointer + address, address + pointer)
    assert turned != PTX
    renamed = PTX.replace("%r1", "%r7").replace("%rd3", "%rd9")
    assert effects(PTX) == effects(turned) == effects(renamed)
    assert effects(PTX) != effects(PTX.replace("mul.rn", "mul.rz"))
    assert effects(PTX) != effects(PTX.replace("%rd1, 64", "%rd1, 68"))
    assert effects(PTX) != effects(PTX.replace("%r1, %r1", "%r1, %r2"))
