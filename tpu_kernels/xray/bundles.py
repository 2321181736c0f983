"""The compiler's final program, bundle by bundle: what a core issues in one cycle, as the dump writes it.

A dump holds, for each bundle, its address, a mark where control may arrive, one ``>`` per loop around it, and the
instructions between braces; what follows them says which regions of the program begin and end there::

    0x10 LB: > { %s7_s3 = sadd.s32 1, %s5_s2  ;;  %9 = vst [vmem:[%s4_s1] sm:$0xff] %v8_v0 } /* Start region 94 */
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tpu_kernels.xray.errors import DumpError

HEAD = re.compile(r"^ *(0x[0-9a-f]+|0) +([A-Z]{2})? *:([ >]*)\{", re.MULTILINE)
LOOKS_LIKE_A_BUNDLE = re.compile(r"^ *0x[0-9a-f]+ ", re.MULTILINE)
REGION = re.compile(r"(Start/End empty|Start|End) region (\d+)")
SEPARATOR = re.compile(r" +;; +")
INSTRUCTION = re.compile(r"%(\w+) = ([\w.<>-]+(?: memory space>)?)(.*)", re.DOTALL)
SECOND = re.compile(r"%\w+ = ")
QUOTES_ANOTHER = "shalt.err"  # a check of bounds remarks which instruction it guards


@dataclass(frozen=True)
class Instruction:
    """``%target = opcode operands``, the operands as they are written."""

    target: str
    opcode: str
    operands: str

    @property
    def is_scalar(self) -> bool:
        """Whether it writes a scalar register or a predicate, or stores a scalar."""
        return self.target[0] in "sp" or self.opcode == "sst"


@dataclass(frozen=True)
class Bundle:
    """One bundle, in ``depth`` loops; ``starts`` and ``ends`` number the regions that begin and end there."""

    address: int
    mark: str
    depth: int
    body: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """What the bundle issues; :class:`DumpError` for what is no instruction."""
        found = []
        for written in filter(None, map(str.strip, SEPARATOR.split(self.body))):
            match = INSTRUCTION.match(written)
            if match is None or (SECOND.search(match[3]) and match[2] != QUOTES_ANOTHER):
                raise DumpError(f"bundle {self.address:#x}: no instruction: {written[:80]!r}")
            found.append(Instruction(*match.groups()))
        return tuple(found)


def parse(text: str) -> tuple[Bundle, ...]:
    """The bundles of a ``final_bundles`` dump, in order.

    Raises :class:`DumpError` when a line or an address is missing.
    """
    heads = list(HEAD.finditer(text))
    if not heads or len(heads) != 1 + len(LOOKS_LIKE_A_BUNDLE.findall(text)):
        raise DumpError(f"{len(heads)} bundles, and other lines that look like one")
    ends = [head.start() for head in heads[1:]] + [len(text)]
    bundles = tuple(_bundle(head, text[head.end() : end]) for head, end in zip(heads, ends, strict=True))
    _require_order(bundles)
    return bundles


def _bundle(head: re.Match[str], rest: str) -> Bundle:
    address, mark, loops = head.groups()
    body, brace, remarks = rest.rpartition("}")
    if not brace:
        raise DumpError(f"bundle {address}: no closing brace: {rest.strip()[:80]!r}")
    regions = [(kind, int(number)) for kind, number in REGION.findall(remarks)]
    return Bundle(
        int(address, 16),
        mark or "",
        loops.count(">"),
        body,
        tuple(number for kind, number in regions if kind != "End"),
        tuple(number for kind, number in regions if kind != "Start"),
    )


def _require_order(bundles: Sequence[Bundle]) -> None:
    for expected, bundle in enumerate(bundles):
        if bundle.address != expected:
            raise DumpError(f"bundle {bundle.address:#x} where {expected:#x} was expected")
