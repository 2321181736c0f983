"""What the matrix units are given: operations, the multiplications that each stands for, and how long a unit is held.

One operation streams some rows past the weights that a unit holds, ``side x side`` of them: 8 rows of 32-bit numbers,
16 of 16-bit ones, 32 of 8-bit ones, 64 of 4-bit ones. Found by counting: the operations of products of known sizes, in
each type and for each generation, stood for exactly the products' multiplications. On v5e an operation may take its
rows from where one of 32-bit numbers left them (``lmr``): it stands for as many, and the two together are then as many
as v4 needs of the first kind alone.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from tpu_kernels.xray.bundles import Bundle
from tpu_kernels.xray.errors import DumpError
from tpu_kernels.xray.targets import Target

MULTIPLY = re.compile(r"= vmatmul\.(\S+)")
MODIFIERS = re.compile(r"\d+|mubr|msk|hi|low|vlgmr|gmra|ms[ra][ab]?|mrb|dwg|mxu\d")
TYPE = re.compile(r"(bf16|f32|f8|[su]8|[su]4)(?:e\d+m\d+\w*)?")
BITS_OF_ROWS = 256
LEFT_THERE = "lmr"

# The published rate that a type is multiplied at; where none was published, the next.
RATES = {
    "bf16": ("bf16",),
    "f32": ("bf16",),
    "f8": ("fp8", "bf16"),
    "s8": ("int8",),
    "u8": ("int8",),
    "s4": ("int4",),
    "u4": ("int4",),
}


def operations(bundles: Sequence[Bundle]) -> list[Mapping[str, int]]:
    """For each bundle, its multiplying operations by type of the streamed numbers: ``{"bf16": 2}``.

    Raises :class:`DumpError` for an operation whose type is not known.
    """
    return [Counter(_streamed(written, bundle) for written in MULTIPLY.findall(bundle.body)) for bundle in bundles]


def given(bundles: Sequence[Bundle], executions: Sequence[int]) -> Mapping[str, int]:
    """The operations of a whole run, by type, when each bundle is executed as often as ``executions`` says."""
    total: Counter[str] = Counter()
    for counts, times in zip(operations(bundles), executions, strict=True):
        for dtype, number in counts.items():
            total[dtype] += number * times
    return total


def flops(counts: Mapping[str, int], target: Target) -> int:
    """What the operations stand for, two for each multiplication and addition, places left empty included."""
    return sum(2 * number * rows(dtype) * target.mxu_side**2 for dtype, number in counts.items())


def cycles(counts: Mapping[str, int], target: Target) -> float:
    """How long one core's units are held by the operations, shared evenly, at the published rate."""
    return sum(flops({dtype: number}, target) / _rate(dtype, target) for dtype, number in counts.items()) * target.clock


def rows(dtype: str) -> int:
    """Rows that one operation streams."""
    match = TYPE.fullmatch(dtype)
    if match is None:
        raise DumpError(f"a multiplication of unknown type {dtype}")
    return BITS_OF_ROWS // int(re.sub(r"\D", "", match[1]))


def _streamed(written: str, bundle: Bundle) -> str:
    """The first type in an opcode's suffixes, ``mubr.bf16.gmra.mxu0``."""
    words = written.split(".")
    if words[0] == LEFT_THERE:
        return "f32"
    for word in words:
        match = TYPE.fullmatch(word)
        if match:
            return match[1]
        if not MODIFIERS.fullmatch(word):
            break
    raise DumpError(f"bundle {bundle.address:#x}: a multiplication of unknown type, vmatmul.{written}")


def _rate(dtype: str, target: Target) -> float:
    for name in RATES[dtype]:
        peak = target.peak(name)
        if peak is not None:
            return peak / target.cores
    raise DumpError(f"{target.chip}: no published rate for {dtype}")
