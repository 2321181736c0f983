"""The copies between memories that a program starts: from where to where, how much, under which condition."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tpu_kernels.xray import scalar
from tpu_kernels.xray.bundles import Bundle, Instruction
from tpu_kernels.xray.errors import DumpError

START = re.compile(r"dma\.(?:([a-z]+)_to_([a-z_]+)|general)")
POINTER = re.compile(r"(?:int_to_ptr|scalar_lea|inlined_call_operand)\.(hbm|vmem|smem|cmem)")
OPERAND = re.compile(r"inlined_call_operand\.(hbm|vmem|smem|cmem)")
INDEX = re.compile(r"index: (\d+)")
FIELD = re.compile(r"/\*(\w+)=\*/([^\s,]+)")
REGISTER = re.compile(r"%([sp]\d+_[sp]\d+)")
ANYWHERE = "general"


@dataclass(frozen=True)
class Copy:
    """One instruction that starts a copy, in bundle ``bundle``.

    ``granules`` is a number or the register that holds it, in units of the chip's granule. ``operand`` is the index of
    the operand outside VMEM that is read or written, ``None`` where that cannot be told.
    """

    bundle: int
    source: str
    destination: str
    granules: str
    guard: scalar.Predicate | None
    operand: int | None

    @property
    def from_hbm(self) -> bool:
        return self.source == "hbm"

    @property
    def to_hbm(self) -> bool:
        return self.destination == "hbm"


def copies(bundles: Sequence[Bundle]) -> tuple[Copy, ...]:
    """Every instruction that starts a copy, in the order of the program. :class:`DumpError` for one without a size."""
    defined = {one.target: one for bundle in bundles for one in bundle.instructions if one.target.startswith("s")}
    spilled = _spilled(bundles)
    found = []
    for bundle in bundles:
        for one in bundle.instructions:
            match = START.fullmatch(one.opcode)
            if match is None:
                continue
            fields = dict(FIELD.findall(one.operands))
            if "size_in_granules" not in fields:
                raise DumpError(f"bundle {bundle.address:#x}: a copy without a size: {one.operands[:80]!r}")
            ends = [_memory(fields.get(name, ""), defined) for name in ("src", "dst")]
            source, destination = match.groups() if match[1] else ends
            outer = (
                fields.get("hbm")
                or fields.get("cmem")
                or next(
                    (fields[name] for name, memory in zip(("src", "dst"), ends, strict=True) if memory == "hbm"), ""
                )
            )
            found.append(
                Copy(
                    bundle.address,
                    source,
                    destination,
                    fields["size_in_granules"].removeprefix("%"),
                    scalar.predicate(one),
                    _operand(outer, defined, spilled),
                )
            )
    return tuple(found)


def operand_memories(bundles: Sequence[Bundle]) -> dict[int, str]:
    """In which memory the compiler placed each operand of the kernel, inputs first: ``{0: "hbm", 1: "vmem"}``."""
    return {
        int(index[1]): memory[1]
        for bundle in bundles
        for one in bundle.instructions
        if (memory := OPERAND.fullmatch(one.opcode)) and (index := INDEX.search(one.operands))
    }


def _memory(pointer: str, defined: Mapping[str, Instruction]) -> str:
    instruction = defined.get(pointer.removeprefix("%"))
    match = POINTER.fullmatch(instruction.opcode) if instruction else None
    return match[1] if match else ANYWHERE


def _spilled(bundles: Sequence[Bundle]) -> dict[str, str]:
    """What each spilled word was last written from."""
    stores = (scalar.assignment(one) for bundle in bundles for one in bundle.instructions if one.opcode == "sst")
    return {store.target: store.source for store in stores if store}


def _operand(pointer: str, defined: Mapping[str, Instruction], spilled: Mapping[str, str]) -> int | None:
    """Back along the arithmetic of an address to the operand it starts from."""
    waiting, seen = [pointer.removeprefix("%")], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in spilled:
            waiting.append(spilled[name])
            continue
        one = defined.get(name)
        if one is None:
            continue
        if OPERAND.fullmatch(one.opcode):
            index = INDEX.search(one.operands)
            return int(index[1]) if index else None
        if POINTER.fullmatch(one.opcode) or one.opcode in {"sshll.u32", "sshra.s32", "smov", "sphi"}:
            waiting += REGISTER.findall(scalar.COMMENT.sub("", one.operands))
        elif one.opcode == "sld":
            waiting += scalar.operands(one.operands) or []
    return None
