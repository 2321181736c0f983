"""Machines from the catalogue: whose rates they are, how their links are counted, what they refuse to guess."""

import pickle
from typing import Any

import pytest

from tpu_kernels import messages
from tpu_kernels.models import hardware, roofline
from tpu_kernels.models.quantity import UNITS
from tpu_kernels.models.roofline.machine import FIELDS, ONE_WAY, SHARED, supplement
from tpu_kernels.models.roofline.workload import VECTOR


def test_rates_and_levels_are_those_of_the_catalogue() -> None:
    for chip in hardware.chips():
        machine = roofline.machine(chip)
        assert {dtype: rate for dtype, rate in machine.rates.items() if dtype != VECTOR} == dict(chip.peak_flops)
        assert all(machine.rates[dtype].unit == rate.unit for dtype, rate in chip.peak_flops.items())
        for name in ("hbm", "dcn"):
            assert (
                machine.levels[name].bandwidth == chip.value(f"{name}_bandwidth").value
                if name in machine.levels
                else True
            )
        assert machine.scope == "chip"
        assert machine.name == chip.name


@pytest.mark.parametrize("name", ["v2", "v5e", "v5p", "7x", "H100", "MI300X", "Gaudi 3", "EPYC 9654", "GC200"])
def test_a_level_is_there_when_the_catalogue_knows_it_and_only_then(name: str) -> None:
    chip, machine = hardware.chip(name), roofline.machine(name)
    for level, field in FIELDS.items():
        if level == "vmem":
            continue
        known = field in chip.values and chip.values[field].value is not None
        assert (level in machine.levels) == known


def test_links_between_chips_are_counted_one_way_and_memories_shared() -> None:
    v5p = hardware.chip("v5p")
    ring = roofline.machine("v5p").level("ici")
    assert ring.bandwidth == 2 * v5p.ici_bandwidth_per_link_oneway  # both links of one axis send at once
    assert roofline.machine("v5p", ici_wrapped=False).level("ici").bandwidth == v5p.ici_bandwidth_per_link_oneway
    # All the axes together send half of what Google counts both ways.
    assert roofline.machine("v5p", ici_axes=3).level("ici").bandwidth == v5p.ici_bandwidth_bidirectional / 2
    h100 = roofline.machine("H100")
    assert h100.level("interconnect").bandwidth == hardware.chip("H100").interconnect_bandwidth_bidirectional / 2
    assert {level.counted for name, level in roofline.machine("v5e").levels.items() if name in ("hbm", "vmem")} == {
        SHARED
    }
    assert {roofline.machine("v4").level(name).counted for name in ("ici", "dcn", "pcie")} == {ONE_WAY}


def test_a_tensorcore_has_its_share_and_the_same_ridge() -> None:
    chip, core = roofline.machine("v5p"), roofline.machine("v5p", per="TensorCore")
    assert core.scope == "TensorCore"
    assert core.rate("bf16") == chip.rate("bf16") / 2
    assert core.level("hbm").bandwidth == chip.level("hbm").bandwidth / 2
    assert core.capacity() == chip.capacity() / 2
    assert roofline.ridge_point(core) == roofline.ridge_point(chip)
    assert roofline.machine("v5e", per="TensorCore").rates == roofline.machine("v5e").rates


def test_what_has_no_source_is_not_guessed() -> None:
    with pytest.raises(hardware.UnknownValueError, match="dcn_bandwidth"):
        roofline.machine("v2").level("dcn")
    with pytest.raises(hardware.UnknownValueError, match=r"peak_flops\.int8"):
        roofline.machine("7x").rate("int8")
    for name, level in (("v5p", "vmem"), ("v5e", "pcie"), ("H100", "ici")):
        with pytest.raises(ValueError, match=f"no tiene el nivel '{level}'"):
            roofline.machine(name).level(level)
    with pytest.raises(ValueError, match="no tiene una tasa para 'vector'"):
        roofline.machine("v6e").rate(VECTOR)


def test_what_is_added_to_the_catalogue_has_its_source_and_arithmetic() -> None:
    values = [value for fields in supplement().values() for value in fields.values()]
    assert values
    for value in values:
        assert value.unit in UNITS
        assert value.published
        assert value.derived
        assert set(value.sources) <= set(hardware.sources())
    v5e, v5p = hardware.chip("v5e"), hardware.chip("v5p")
    assert supplement()["tpu_v5e"]["vmem_bandwidth"].value == 22 * v5e.hbm_bandwidth
    assert supplement()["tpu_v5e"]["vector_flops"].value == 8 * 128 * 4 * v5e.clock * v5e.tensorcores
    assert supplement()["tpu_v5p"]["vector_flops"].value == 8 * 128 * 4 * v5p.clock * v5p.tensorcores


def test_a_machine_of_ones_own() -> None:
    machine = roofline.custom(
        "Mía", rates={"bf16": 1e12, "int8": 2e12}, levels={"hbm": 1e11, "cable": 1e9}, capacities={"hbm": 8e9}
    )
    assert (machine.rate("int8"), machine.rate("int8").unit) == (2e12, "OP/s")
    assert (machine.level("cable").bandwidth, machine.capacity()) == (1e9, 8e9)
    wider = machine.with_level("disk", 5e8, capacity=1e12).with_rate("fp8", 3e12)
    assert (wider.level("disk").counted, wider.level("cable").counted) == (SHARED, ONE_WAY)
    assert set(wider.rates) == {"bf16", "int8", "fp8"}
    assert set(machine.rates) == {"bf16", "int8"}
    assert roofline.machine(wider) is wider
    with pytest.raises(ValueError, match="no dice cuánto cabe en cable"):
        machine.capacity("cable")
    assert pickle.loads(pickle.dumps(wider)) == wider
    assert pickle.loads(pickle.dumps(roofline.machine("v5e"))) == roofline.machine("v5e")


def test_a_machine_says_what_it_is() -> None:
    text = repr(roofline.custom("Mía", rates={"bf16": 1e12}, levels={"hbm": 1e11}))
    assert text.replace("\N{NO-BREAK SPACE}", " ") == "Mía (por chip): bf16 1 TFLOP/s; HBM 100 GB/s"
    messages.use("pt")
    assert "por TensorCore" in repr(roofline.machine("v4", per="TensorCore"))


@pytest.mark.parametrize("axes", [0, -1, 1.5, True, "1"])
def test_axes_that_are_not_axes_are_refused(axes: Any) -> None:
    with pytest.raises(ValueError, match="entero de 1 en adelante"):
        roofline.machine("v5p", ici_axes=axes)


def test_wrong_choices_are_refused() -> None:
    with pytest.raises(ValueError, match=r"4 ejes de ICI y Cloud TPU v5p tiene 3"):
        roofline.machine("v5p", ici_axes=4)
    with pytest.raises(ValueError, match=r"3 ejes de ICI y Cloud TPU v5e tiene 2"):
        roofline.machine("v5e", ici_axes=3)
    with pytest.raises(ValueError, match=r"'core'.*chip, TensorCore"):
        roofline.machine("v5e", per="core")
    with pytest.raises(ValueError, match=r"capacities.*'hbm'.*cable"):
        roofline.custom("m", rates={}, levels={"cable": 1.0}, capacities={"hbm": 1.0})
    with pytest.raises(ValueError, match=r"'half'"):
        roofline.custom("m", rates={"half": 1.0}, levels={})
