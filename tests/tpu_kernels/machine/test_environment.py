"""Flags as jax will read them: what looks like a dash and is none is seen, and nothing else is complained of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_kernels.machine.environment import forced_devices, odd_characters, read_by_jax, with_forced_devices

FORCE = "--xla_force_host_platform_device_count"


@pytest.mark.parametrize(
    ("variable", "value", "code", "meant"),
    [
        ("XLA_FLAGS", f"-–{FORCE[2:]}=4", "U+2013", f"{FORCE}=4"),
        ("XLA_FLAGS", f"——{FORCE[2:]}=4", "U+2014", f"{FORCE}=4"),
        ("XLA_FLAGS", f"−−{FORCE[2:]}=4", "U+2212", f"{FORCE}=4"),
        ("XLA_FLAGS", "--xla_a=1 ‑-xla_b=2", "U+2011", "--xla_a=1 --xla_b=2"),
        ("XLA_FLAGS", "--xla_a=1\N{NO-BREAK SPACE}--xla_b=2", "U+00A0", "--xla_a=1 --xla_b=2"),
        ("XLA_FLAGS", "“--xla_a=1”", "U+201C", "--xla_a=1"),
        ("LIBTPU_INIT_ARGS", "–xla_tpu_x=true", "U+2013", "-xla_tpu_x=true"),
        ("JAX_PLATFORMS", "cpu\N{ZERO WIDTH SPACE}", "U+200B", "cpu"),
        ("JAX_ENABLE_X64", "–1", "U+2013", "-1"),
    ],
)
def test_a_character_that_only_looks_right_is_shown_with_its_code(
    variable: str, value: str, code: str, meant: str
) -> None:
    finding = odd_characters({variable: value})[0]
    assert (finding.kind, finding.severity) == ("odd_character", "error")
    assert finding.message.startswith(f"{variable} contiene «{chr(int(code[2:], 16))}» ({code}, ")
    assert value in finding.message
    assert finding.cure.endswith(f": {meant}")


def test_each_character_of_each_variable_is_told_once() -> None:
    found = odd_characters({"XLA_FLAGS": "––xla_a=1 —xla_b=2", "JAX_PLATFORMS": "–", "PATH": "–"})
    assert [finding.message.split()[0] for finding in found] == ["JAX_PLATFORMS", "XLA_FLAGS", "XLA_FLAGS"]


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("XLA_FLAGS", f"{FORCE}=8  --xla_dump_to=/tmp/a–b"),
        ("XLA_FLAGS", "--xla_dump_to=/tmp/a\N{NO-BREAK SPACE}b"),
        ("XLA_FLAGS", "--xla_dump_hlo_module_re=ñandú–2"),
        ("XLA_FLAGS", "'--xla_a=1'"),
        ("JAX_COMPILATION_CACHE_DIR", "/data/José – cuadernos"),
        ("JAX_PLATFORMS", "tpus"),
        ("XLA_FLAGS", ""),
        ("EDITOR", "—"),
    ],
)
def test_what_jax_would_take_is_left_alone(variable: str, value: str) -> None:
    assert odd_characters({variable: value}) == []


@given(st.text(st.characters(max_codepoint=127)), st.sampled_from(["XLA_FLAGS", "JAX_PLATFORMS"]))
def test_plain_text_is_never_odd(value: str, variable: str) -> None:
    assert odd_characters({variable: value}) == []


@pytest.mark.parametrize(
    ("flags", "count"),
    [
        (f"{FORCE}=8", 8),
        (f"--xla_a=1 {FORCE}=8 --xla_b", 8),
        (f"{FORCE}=4 {FORCE}=6", 6),
        (f"{FORCE}=eight", None),
        (f"{FORCE} 8", None),
        (f"{FORCE}s=8", None),
        (f"x{FORCE}=8", None),
        (f"{FORCE}=٨", None),
        ("", None),
    ],
)
def test_the_number_of_devices_that_is_asked_for(flags: str, count: int | None) -> None:
    assert forced_devices({"XLA_FLAGS": flags}) == count


def test_nothing_is_asked_for_without_flags() -> None:
    assert forced_devices({}) is None


@given(st.integers(1, 10**6), st.lists(st.sampled_from([f"{FORCE}=3", "--xla_a=1", "--xla_b"])))
def test_asking_for_a_number_changes_that_flag_and_no_other(count: int, words: list[str]) -> None:
    changed = with_forced_devices(" ".join(words), count)
    assert forced_devices({"XLA_FLAGS": changed}) == count
    assert changed.count(FORCE) == 1
    assert [word for word in changed.split() if FORCE not in word] == [word for word in words if FORCE not in word]


def test_the_variables_that_jax_reads() -> None:
    environ = {"XLA_FLAGS": "a", "LIBTPU_INIT_ARGS": "b", "JAX_PLATFORMS": "c", "HOME": "d", "TOKEN": "e"}
    assert read_by_jax(environ) == {"XLA_FLAGS": "a", "LIBTPU_INIT_ARGS": "b", "JAX_PLATFORMS": "c"}
