"""What the compiler, or the lowering before it, says when it refuses a program, as a learner's error.

Each rule knows one form of its messages, provoked with real programs. What no rule knows keeps the compiler's words.
"""

import re
import sysconfig
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax
import jaxlib

from tpu_kernels.phrases import phrase
from tpu_kernels.xray.errors import CompileError
from tpu_kernels.xray.kernel_call import KernelCall
from tpu_kernels.xray.sizes import parsed, readable

SIZE = r"(\d[\d.]*[KMGT]?)"
PLACE = re.compile(r"""["' ](?:[^"' ]*[/\\])?([^"'/\\ ]+\.py|<[^<>" ]+>)"?:(\d+)""")
OF_BLOCK = re.compile(r"(?<=Block spec for )\S+ in pallas_call \S+ at [^\n]*?:\d+(?= has block shape)")
FIRST_WORDS = 300
LIBRARIES = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
NOT_LEARNERS = {Path(__file__).parent, Path(jax.__file__).parent, Path(jaxlib.__file__).parent, *map(Path, LIBRARIES)}
NO_FILES = ("<string>", "<frozen ")  # code that Python writes for itself, as the __init__ of a dataclass


@dataclass(frozen=True)
class Refusal:
    """What a rule makes of a message: its kind, its sentence, the two numbers where there are any."""

    kind: str
    message: str
    got: int | None = None
    limit: int | None = None


Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], Refusal]]


def refused(text: str, calls: Sequence[KernelCall] = (), vmem: int | None = None) -> CompileError:
    """The error for what the compiler said; when ``calls`` holds one kernel, its place is known in any case.

    ``vmem`` is what a core has of it, in bytes: beyond that a kernel is not told to ask for more.
    """
    found = _recognised(text) or Refusal("other", phrase("xray.refused", reason=_first_line(text)))
    if found.kind == "vmem" and found.got is not None and found.limit is not None:
        found = over("vmem", found.got, found.limit, vmem)
    return _error(text, found, _place(text), calls)


def refusal(error: BaseException, calls: Sequence[KernelCall] = ()) -> CompileError | None:
    """The error for what jax raised while it traced or lowered; ``None`` when it is about something else."""
    text = f"{type(error).__name__}: {error}"
    found = _recognised(text)
    return _error(text, found, _place(text) or learners_line(error), calls) if found else None


def learners_line(error: BaseException) -> str | None:
    """The innermost line outside libraries and this package that an exception passed through, as ``kernel.py:12``.

    To what it raises while lowering, jax adds the line of the kernel at the end, or chains the stack of when the
    operation was written.
    """
    chain: list[BaseException] = []
    while error not in chain:
        chain.append(error)
        error = error.__cause__ or error
    places = [[_learners(frame) for frame in traceback.extract_tb(one.__traceback__)] for one in chain]
    for found in (places[0][-1:], *reversed(places)):
        for place in reversed(found):
            if place:
                return place
    return None


def _learners(frame: traceback.FrameSummary) -> str | None:
    path = Path(frame.filename)
    foreign = frame.filename.startswith(NO_FILES) or not NOT_LEARNERS.isdisjoint(path.parents)
    return None if foreign else f"{path.name}:{frame.lineno}"


def _error(text: str, found: Refusal, where: str | None, calls: Sequence[KernelCall]) -> CompileError:
    where = where or (calls[0].where if len(calls) == 1 else None)
    message = phrase("xray.at", where=where, message=found.message) if where else found.message
    return CompileError(message, text, found.kind, got=found.got, limit=found.limit, where=where)


def _recognised(text: str) -> Refusal | None:
    for pattern, rule in RULES:
        match = pattern.search(text)
        if match:
            return rule(match)
    return None


def _place(text: str) -> str | None:
    """The first place in Python code that a message names, but for that of a kernel whose BlockSpec is at fault."""
    match = PLACE.search(OF_BLOCK.sub("", text))
    return f"{match[1]}:{match[2]}" if match else None


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:FIRST_WORDS]


def _over(kind: str, got: str, limit: str) -> Refusal:
    return over(kind, parsed(got), parsed(limit))


def over(kind: str, got: int, limit: int, vmem: int | None = None) -> Refusal:
    """More memory asked for than there is, of this kind; ``vmem`` is what a core has of VMEM, where it is known."""
    asked = {"got": readable(got), "limit": readable(limit)}
    match kind:
        case "vmem" if vmem is not None and limit >= vmem:
            message = phrase("xray.over_whole_vmem", got=readable(got), limit=readable(vmem))
        case "vmem":
            message = phrase("xray.over_vmem", **asked)
        case "smem":
            message = phrase("xray.over_smem", **asked)
        case "semaphores":
            message = phrase("xray.over_semaphores", got=got // 4, limit=limit // 4)
        case _:
            message = phrase("xray.over_hbm", **asked)
    return Refusal(kind, message, got, limit)


SPACES = {"vmem": "vmem", "smem": "smem", "sflag": "semaphores", "hbm": "hbm"}

RULES: tuple[Rule, ...] = (
    (
        re.compile(rf"Scoped allocation with size {SIZE} and limit {SIZE} exceeded scoped vmem limit"),
        lambda found: _over("vmem", found[1], found[2]),
    ),
    (
        re.compile(rf"Ran out of memory in memory space (\w+)\. Used {SIZE} of {SIZE}"),
        lambda found: _over(SPACES.get(found[1], "hbm"), found[2], found[3]),
    ),
    (
        re.compile(r"Allocation \(size=(\d+)\) would exceed memory \(size=(\d+)\)[^\n]*?space=(\w+)"),
        lambda found: _over(SPACES.get(found[3], "hbm"), found[1], found[2]),
    ),
    (
        re.compile(rf"out of memory on HBM[^\n]*?\({SIZE}\) exceeds available HBM \({SIZE}\)"),
        lambda found: _over("hbm", found[1], found[2]),
    ),
    (
        re.compile(
            r"last two dimensions of your block shape are divisible by (\d+) and (\d+)[\s\S]*?Block spec for (\S+) "
            r"[\s\S]*?has block shape (\(.*?\)), array shape (\([\d, ]*\))"
        ),
        lambda found: Refusal(
            "block",
            phrase(
                "xray.bad_tile",
                operand=found[3],
                block=_sizes(found[4]),
                array=found[5],
                rows=found[1],
                columns=found[2],
            ),
        ),
    ),
    (
        re.compile(
            r"rank 1 block shapes[\s\S]*?is a multiple of (\d+)[\s\S]*?tiling size \((\d+)[\s\S]*?Block spec for (\S+) "
            r"[\s\S]*?has block shape (\(.*?\)), array shape (\([\d, ]*\))"
        ),
        lambda found: Refusal(
            "block",
            phrase(
                "xray.bad_row",
                operand=found[3],
                block=_sizes(found[4]),
                array=found[5],
                unit=found[1],
                least=found[2],
            ),
        ),
    ),
    (
        re.compile(
            r"Block shape for (\S+) \(= (\(.*?\))\) must have the same number of dimensions as the array shape "
            r"(\([\d, ]*\))"
        ),
        lambda found: Refusal(
            "block", phrase("xray.bad_rank", operand=found[1], block=_sizes(found[2]), array=found[3])
        ),
    ),
    (
        re.compile(
            r"Unsupported matmul \w+ type on target: '?vector<[\dx]*x(\w+)>|Bad lhs/rhs type: '?vector<[\dx]*x(\w+)>"
        ),
        lambda found: Refusal("dtype", phrase("xray.bad_product_type", dtype=_dtype(found[1] or found[2]))),
    ),
    (
        re.compile(r"Unsupported type for matmul: '?vector<[\dx]*x(\w+)>"),
        lambda found: Refusal("dtype", phrase("xray.bad_product_type", dtype=_dtype(found[1]))),
    ),
    (
        re.compile(r"Integer inputs with bitwidth (\d+) are not supported as matmul"),
        lambda found: Refusal("dtype", phrase("xray.bad_product_type", dtype=f"int{found[1]}")),
    ),
    (
        re.compile(r"Expected matmul acc to be 32-bit"),
        lambda found: Refusal("dtype", phrase("xray.narrow_sums")),
    ),
    (
        re.compile(r"Invalid vector type for load[\s\S]*?memref<[\dx]*x(\w+)"),
        lambda found: Refusal("dtype", phrase("xray.bad_type", dtype=_dtype(found[1]))),
    ),
    (
        re.compile(r"^NotImplementedError: (float(?!32\b)\d+\w*)$"),
        lambda found: Refusal("dtype", phrase("xray.bad_type", dtype=found[1])),
    ),
    (
        re.compile(r"failed to verify 'elementType': VectorElementTypeInterface"),
        lambda found: Refusal("dtype", phrase("xray.no_such_type")),
    ),
    (
        re.compile(r"Unimplemented primitive in Pallas TPU lowering[^:]*: (\w+)"),
        lambda found: Refusal("operation", phrase("xray.no_operation", operation=found[1])),
    ),
    (
        re.compile(r"unsupported shape cast[\s\S]*?\(vector<([\dx]+)x\w+>\) -> vector<([\dx]+)x\w+>"),
        lambda found: Refusal("operation", phrase("xray.bad_reshape", before=found[1], after=found[2])),
    ),
    (
        re.compile(r"cannot statically prove that index in dimension (\d+) is a multiple of (\d+)"),
        lambda found: Refusal("operation", phrase("xray.unaligned", axis=found[1], unit=found[2])),
    ),
    (
        re.compile(r"kernel function in the pallas_call (\S+) at \S+ captures constants \[(.*)\]\."),
        lambda found: Refusal("operation", phrase("xray.captured", kernel=found[1], arrays=found[2])),
    ),
    (
        re.compile(r"Loads are only allowed on VMEM and SMEM references"),
        lambda found: Refusal("operation", phrase("xray.far_load")),
    ),
    (
        re.compile(r"Can only (?:load|store) scalars (?:from|to) SMEM"),
        lambda found: Refusal("operation", phrase("xray.scalar_memory")),
    ),
    (
        re.compile(r"DMA source and target shape mismatch[\s\S]*?: \(memref<([\dx]+)x\w+[^>]*>>?, memref<([\dx]+)x"),
        lambda found: Refusal("operation", phrase("xray.odd_copy", source=found[1], target=found[2])),
    ),
    (
        re.compile(r"Out of bound slice: start=(\d+), (?:size=(\d+), stride=\d+, )?dim=(\d+)"),
        lambda found: Refusal(
            "operation",
            phrase("xray.outside", start=found[1], last=int(found[1]) + int(found[2] or 1) - 1, size=found[3]),
        ),
    ),
    (
        re.compile(
            r"Index map function (?:\S+ )+?at \S+ for (\S+) must return (\d+) values to match block_shape=(\(.*?\))\. "
            r"Currently returning (\d+) values"
        ),
        lambda found: Refusal(
            "block",
            phrase("xray.odd_index", operand=found[1], wanted=found[2], block=_sizes(found[3]), got=found[4]),
        ),
    ),
    (
        re.compile(r"Iteration bounds are too large: (\([\d, ]*\))"),
        lambda found: Refusal("grid", phrase("xray.long_grid", grid=found[1], limit=2**31 - 1)),
    ),
    (
        re.compile(r"len\(grid\)=(\d+), len\(dimension_semantics\)=(\d+)"),
        lambda found: Refusal("grid", phrase("xray.odd_semantics", axes=found[1], got=found[2])),
    ),
)

WORDS = {"i": "int", "si": "int", "ui": "uint", "f": "float", "bf": "bfloat"}


def _dtype(written: str) -> str:
    """A type as jax names it: ``f16`` is ``float16``."""
    match = re.fullmatch(r"(bf|f|si|ui|i)(\d+)(\w*)", written)
    if match is None:
        return written
    suffix = f"_{match[3].lower()}" if match[3] else ""
    return f"{WORDS[match[1]]}{match[2]}{suffix}"


def _sizes(block: str) -> str:
    """A block shape without the names of jax's classes: ``(Blocked(block_size=7), Squeezed())`` is ``(7, None)``."""
    return re.sub(r"Squeezed\(\)", "None", re.sub(r"\w+\(block_size=(\d+)\)", r"\1", block))
