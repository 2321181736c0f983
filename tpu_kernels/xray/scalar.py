"""What the scalar instructions that steer a program compute, as Python source: ``%s3_s1 = sadd.s32 1, %s2_s0``.

Registers hold 32 bits, kept here without a sign, and each is written by one instruction: it becomes a Python name, as
does a word of scalar memory that the compiler spills registers to. ``CORE`` is the number of the core. Addresses,
vectors and operands have no source.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tpu_kernels.xray.bundles import Instruction

CONSTANTS = {"WORD": 0xFFFF_FFFF, "SIGN": 0x8000_0000, "min": min, "max": max, "bool": bool}

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
PREDICATE = re.compile(r"\((!?)%(p\d+_p\d+)(?:, (%[sp]\d+_[sp]\d+))?\),?")
OPERAND = re.compile(r"\[smem:\[#(allocation\d+_spill)(?: \+ \$(0x[0-9a-f]+))?\]\]|%([sp]\d+_[sp]\d+)|\b(\d+)\b")
COMPARE = re.compile(r"scmp\.(eq|ne|lt|le|gt|ge)\.([su]32)\.totalorder")
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
CORE = "/* core id */"  # a program for two cores reads on which of them it runs

OPERATIONS = {
    "sadd.s32": "({0} + {1}) & WORD",
    "ssub.s32": "({0} - {1}) & WORD",
    "smul.u32": "({0} * {1}) & WORD",
    "sand.u32": "{0} & {1}",
    "sor.u32": "{0} | {1}",
    "sxor.u32": "{0} ^ {1}",
    "sshll.u32": "({0} << min({1}, 32)) & WORD",
    "sshrl.u32": "{0} >> min({1}, 32)",
    "sshra.s32": "((({0} ^ SIGN) - SIGN) >> min({1}, 31)) & WORD",
    "smin.u32": "min({0}, {1})",
    "smax.u32": "max({0}, {1})",
    "smov": "{0}",
    "sld": "{0}",
    "sst": "{1}",
    "scalar_select": "({1}) if {0} else ({2})",
    "pmov": "{0}",
    "pneg": "not {0}",
    "pand": "{0} and {1}",
    "pnand": "not ({0} and {1})",
    "por": "{0} or {1}",
    "pnor": "not ({0} or {1})",
    "pxor": "bool({0}) != bool({1})",
}


@dataclass(frozen=True)
class Assignment:
    """``target = source`` in Python, and ``target = again`` when a branch brings control back to a loop's first bundle.

    ``reads`` are the names that the two need; within a bundle, assignments are carried out in the order of ``turn``.
    """

    target: str
    source: str
    again: str
    reads: frozenset[str]
    turn: int


# A loop's registers have their value before the bundle begins; a load reads what was in memory before a store.
TURNS = {"sphi": 0, "sld": 1, "sst": 3}
COMPUTED = 2


@dataclass(frozen=True)
class Predicate:
    """The condition under which an instruction does anything: a register, or its negation."""

    register: str
    negated: bool

    @property
    def source(self) -> str:
        return f"not {self.register}" if self.negated else self.register


def predicate(instruction: Instruction) -> Predicate | None:
    """The condition that guards an instruction; ``None`` for one that is always carried out."""
    match = PREDICATE.search(COMMENT.sub("", instruction.operands))
    return Predicate(match[2], bool(match[1])) if match else None


def operands(written: str) -> list[str] | None:
    """Operands as Python names and numbers; ``None`` when one of them is neither a scalar nor a spilled one."""
    written = PREDICATE.sub("", COMMENT.sub("", written))
    if OPERAND.sub("", written).strip(" ,\n"):
        return None
    return [
        f"{spilled}_{offset or '0x0'}" if spilled else register or str(int(number))
        for spilled, offset, register, number in OPERAND.findall(written)
    ]


def assignment(instruction: Instruction) -> Assignment | None:
    """What the instruction assigns; ``None`` when it is not one that can be followed."""
    target = instruction.target
    if instruction.opcode == "sld" and CORE in instruction.operands:
        return Assignment(target, "CORE", "CORE", frozenset(), COMPUTED)
    given = operands(instruction.operands)
    if not given:
        return None
    turn = TURNS.get(instruction.opcode, COMPUTED)
    if instruction.opcode == "sphi" and len(given) == 2:
        return Assignment(target, given[0], given[1], _names(given), turn)
    source = _source(instruction.opcode, given)
    if source is None:
        return None
    reads = set(given)
    if instruction.opcode == "sst":
        target = given[0]
        reads = set(given[1:])
    guard = PREDICATE.search(COMMENT.sub("", instruction.operands))
    if guard:
        condition, old = Predicate(guard[2], bool(guard[1])), (guard[3] or target).removeprefix("%")
        source = f"({source}) if {condition.source} else {old}"
        reads |= {condition.register, old}
    return Assignment(target, source, source, _names(reads - {target}), turn)


def _names(words: Iterable[str]) -> frozenset[str]:
    return frozenset(word for word in words if not word.isdecimal())


def _source(opcode: str, given: list[str]) -> str | None:
    try:
        if compare := COMPARE.fullmatch(opcode):
            left, right = (f"({word} ^ SIGN)" if compare[2] == "s32" else word for word in given)
            return f"{left} {COMPARISONS[compare[1]]} {right}"
        return OPERATIONS[opcode].format(*given) if opcode in OPERATIONS else None
    except (IndexError, ValueError):  # not as many operands as the operation has
        return None
