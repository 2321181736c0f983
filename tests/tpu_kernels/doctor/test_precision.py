"""64-bit numbers: a note where jax halves them."""

from dataclasses import replace

from tpu_kernels.doctor.precision import find


def test_halved_numbers_are_a_note(evidence, seen) -> None:
    (found,) = find(evidence(jax=replace(seen(), x64=False)))
    assert (found.kind, found.severity) == ("x64_off", "note")
    assert "JAX_ENABLE_X64=1" in found.cure


def test_whole_numbers_or_no_jax_are_no_finding(evidence) -> None:
    assert find(evidence()) == []
    assert find(evidence(jax=None)) == []
