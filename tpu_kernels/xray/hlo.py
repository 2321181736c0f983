"""The compiled program as XLA prints it: which operations there are, in what order, how often, on what."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from tpu_kernels.xray.errors import DumpError

COMPUTATION = re.compile(r"^(ENTRY )?%?([^\s(]+) \(.*\{$")
OPERATION = re.compile(r"^\s+(ROOT )?%?(\S+) = (.+?) ([a-z][a-z0-9-]*)\(")
NAME = re.compile(r"%([^\s,()]+)")
CALLED = re.compile(r"\b(?:calls|to_apply|body|condition|called_computations|branch_computations)=(\{[^}]*\}|%[^\s,]+)")
ARRAY = re.compile(r"([a-z]+\d*(?:e\d+m\d+\w*)?)\[([\d,]*)\](?:\{([\d,]*)(?::([^}]*))?\})?")
TILE = re.compile(r"T\(([\d,]+)\)")
FRAME = re.compile(r"stack_frame_id=(\d+)")
SOURCE = re.compile(r'source_file="([^"]*)"(?: source_line=(\d+))?')
KNOWN_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
INDEX = re.compile(r"index=(\d+)")

BODY = re.compile(r'^\s+(?:ROOT )?%?(\S+) = .*?"body":"([^"]*)"', re.MULTILINE)
# In an operation's attributes, what differs between operations that compile to the same code.
UNLIKE = re.compile(r"metadata=\{[^}]*\}|calls=%?[^\s,]+")

NOWHERE = {"", "-"}  # how XLA writes that a file has no name
BITS = {"pred": 8, "token": 0}
NEAR = ("S(1)", "S(3)")  # the second is where slices of an array come in


@dataclass(frozen=True)
class Array:
    """One array of a shape: ``bf16[1024,512]`` with its layout.

    ``bytes`` are as stored, padded to its tiles, ``unpadded`` as they would be without. ``near`` is true for an array
    that XLA keeps in the memory nearer than HBM that it manages: VMEM, or CMEM where there is one.
    """

    dtype: str
    dimensions: tuple[int, ...]
    bytes: int
    unpadded: int
    near: bool


@dataclass(frozen=True)
class Operation:
    """One operation of the program, as ``%name = shape opcode(operands), attributes``."""

    name: str
    shape: str
    opcode: str
    operands: tuple[str, ...]
    literal: str
    attributes: str
    root: bool

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        return tuple(_array(*found) for found in ARRAY.findall(self.shape))

    @property
    def is_kernel(self) -> bool:
        """Whether it is a Pallas kernel."""
        return 'custom_call_target="tpu_custom_call"' in self.attributes

    @property
    def vmem(self) -> int | None:
        """Bytes of VMEM that it takes while it runs, without operands kept there; ``None`` when XLA does not say."""
        found = re.search(r'"used_scoped_memory_configs":(\[[^]]*\])', self.attributes)
        sizes = json.loads(found[1]) if found else []
        return sum(int(one["size"]) for one in sizes if one["memory_space"] == "1") if sizes else None


@dataclass(frozen=True)
class Module:
    """``computations`` maps each name to its operations, in the order in which they run; ``runs`` counts them."""

    entry: str
    computations: Mapping[str, tuple[Operation, ...]]
    places: Mapping[int, str]

    @cached_property
    def runs(self) -> Mapping[str, int | None]:
        """How often each operation is run; ``None`` when that depends on data. What is never run is not there."""
        found: dict[str, int | None] = {}
        self._count(self.entry, 1, found)
        return found

    def operations(self) -> Iterator[Operation]:
        """Every operation that is run by itself, not as a part of a fusion."""
        reached = self.runs
        for operations in self.computations.values():
            yield from (one for one in operations if one.name in reached)

    def inside(self, operation: Operation) -> Iterator[Operation]:
        """The operations that a fusion is made of, those of fusions within it too."""
        for name in called(operation):
            for one in self.computations.get(name, ()):
                yield one
                yield from self.inside(one)

    def where(self, operation: Operation) -> str:
        """The line of the learner's code, as ``kernel.py:12``; empty when XLA did not keep it."""
        source = SOURCE.search(operation.attributes)
        if source:
            return f"{source[1]}:{source[2]}" if source[2] else source[1]
        frame = FRAME.search(operation.attributes)
        return self.places.get(int(frame[1]), "") if frame else ""

    @cached_property
    def named(self) -> Mapping[str, Operation]:
        """Every operation by its name, which is unique in a module."""
        return {one.name: one for operations in self.computations.values() for one in operations}

    def signature(self, name: str) -> tuple[object, ...]:
        """What an operation computes on what, names left out: the same for operations that compile to the same code."""
        one = self.named[name]
        given = tuple(self.named[operand].shape for operand in one.operands if operand in self.named)
        inside = tuple(
            (part.opcode, part.shape, part.literal if part.opcode == "constant" else "") for part in self.inside(one)
        )
        return one.opcode, one.shape, given, one.vmem, UNLIKE.sub("", one.attributes), inside

    def _count(self, computation: str, times: int | None, found: dict[str, int | None]) -> None:
        for one in self.computations[computation]:
            known = found.get(one.name, 0)
            found[one.name] = None if times is None or known is None else known + times
            if one.opcode == "while":
                trips = self._trips(one)
                inner = None if trips is None or times is None else times * trips
            elif one.opcode in {"call", "async-start", "call-start"}:
                inner = times
            elif one.opcode == "conditional":
                inner = None
            else:
                continue
            for name in called(one):
                self._count(name, inner, found)

    def _trips(self, loop: Operation) -> int | None:
        """Of a loop that counts from one constant up to another; ``None`` for any other loop."""
        stated = KNOWN_TRIPS.search(loop.attributes)
        if stated:
            return int(stated[1])
        parts = dict(re.findall(r"\b(condition|body)=%?([^\s,]+)", loop.attributes))
        condition, body = (self._named(parts.get(name, "")) for name in ("condition", "body"))
        test = next((one for one in condition.values() if one.root and one.opcode == "compare"), None)
        if test is None or "direction=LT" not in test.attributes or len(test.operands) != 2:
            return None
        counter, bound = (condition.get(name) for name in test.operands)
        at, end = _element(counter, condition), _constant(bound, condition)
        turned = next((one for one in body.values() if one.root and one.opcode == "tuple"), None)
        if at is None or end is None or turned is None:
            return None
        step = _step(body.get(turned.operands[at]), body, at)
        start = self._start(loop, at)
        return None if step is None or start is None or step <= 0 else max(0, -(-(end - start) // step))

    def _start(self, loop: Operation, at: int) -> int | None:
        for operations in self.computations.values():
            named = {one.name: one for one in operations}
            if loop.name in named:
                given = named.get(loop.operands[0])
                return _constant(named.get(given.operands[at]), named) if given and given.opcode == "tuple" else None
        return None

    def _named(self, computation: str) -> Mapping[str, Operation]:
        return {one.name: one for one in self.computations.get(computation, ())}


def bodies(text: str) -> dict[str, str]:
    """The code of each Pallas kernel, by the operation's name, from a module that is printed with it."""
    return dict(BODY.findall(text))


def parse(text: str) -> Module:
    """Read a module. Raises :class:`DumpError` when it has no entry, or a line of a computation is not an operation."""
    computations: dict[str, tuple[Operation, ...]] = {}
    inside: list[Operation] = []
    entry, name = "", ""
    for line in text.splitlines():
        head = COMPUTATION.match(line)
        if head:
            name, inside = head[2], []
            entry = name if head[1] else entry
        elif line.startswith("}") and name:
            computations[name], name = tuple(inside), ""
        elif name and line.strip():
            inside.append(_operation(line))
    if entry not in computations:
        raise DumpError(f"a module without an entry, that begins {text[:80]!r}")
    return Module(entry, computations, _places(text))


def _operation(line: str) -> Operation:
    match = OPERATION.match(line)
    if match is None:
        raise DumpError(f"no operation: {line.strip()[:80]!r}")
    root, name, shape, opcode = match.groups()
    depth, end = 1, match.end()
    while depth and end < len(line):
        depth += {"(": 1, ")": -1}.get(line[end], 0)
        end += 1
    given = line[match.end() : end - 1]
    return Operation(name, shape, opcode, tuple(NAME.findall(given)), given, line[end:], bool(root))


def called(operation: Operation) -> list[str]:
    """The computations that an operation names: the body of a loop, the program of a fusion, what a sum adds by."""
    groups = CALLED.findall(operation.attributes)
    return [name.lstrip("%") for group in groups for name in group.strip("{}").split(", ")]


def _copied(operation: Operation | None, named: Mapping[str, Operation]) -> Operation | None:
    """What an operation is a copy of, however many times over; itself when it is none."""
    while operation and operation.opcode in {"copy", "bitcast"} and operation.operands:
        operation = named.get(operation.operands[0])
    return operation


def _constant(operation: Operation | None, named: Mapping[str, Operation]) -> int | None:
    """The whole number that an operation is."""
    found = _copied(operation, named)
    whole = found and found.opcode == "constant" and re.fullmatch(r"-?\d+", found.literal)
    return int(found.literal) if found and whole else None


def _element(operation: Operation | None, named: Mapping[str, Operation]) -> int | None:
    """Which element of a loop's state, not of any other tuple, an operation is."""
    found = _copied(operation, named)
    if found is None or found.opcode != "get-tuple-element":
        return None
    state, index = named.get(found.operands[0]), INDEX.search(found.attributes)
    return int(index[1]) if index and state and state.opcode == "parameter" else None


def _step(operation: Operation | None, body: Mapping[str, Operation], at: int) -> int | None:
    """What a loop adds to its counter, ``element at of the state + constant``."""
    added = _copied(operation, body)
    if added is None or added.opcode != "add":
        return None
    state = [body.get(name) for name in added.operands]
    return next((_constant(by, body) for of, by in (state, state[::-1]) if _element(of, body) == at), None)


def _array(dtype: str, dimensions: str, order: str, layout: str) -> Array:
    sizes = [int(size) for size in dimensions.split(",") if size]
    padded = list(sizes)
    tile = TILE.search(layout)
    if tile and order:
        minor = [int(axis) for axis in order.split(",")]
        for axis, side in zip(minor, reversed([int(side) for side in tile[1].split(",")]), strict=False):
            padded[axis] = -(-padded[axis] // side) * side
    bits = BITS.get(dtype) or int((re.search(r"\d+", dtype) or ["8"])[0])
    stored, unpadded = (math.prod(sides) * bits // 8 for sides in (padded, sizes))
    return Array(dtype, tuple(sizes), stored, unpadded, any(space in layout for space in NEAR))


def _places(text: str) -> dict[int, str]:
    """Frame number to file and line, from the tables at the top of the module."""
    tables: dict[str, dict[int, str]] = {}
    current: dict[int, str] = {}
    for line in text.splitlines():
        if line in {"FileNames", "FunctionNames", "FileLocations", "StackFrames"}:
            current = tables.setdefault(line, {})
        elif COMPUTATION.match(line):
            break
        elif found := re.match(r"(\d+) (.*)", line):
            current[int(found[1])] = found[2]
    located = {}
    for number, frame in tables.get("StackFrames", {}).items():
        location = tables.get("FileLocations", {}).get(_field(frame, "file_location_id"), "")
        file = tables.get("FileNames", {}).get(_field(location, "file_name_id"), "").strip('"')
        if file not in NOWHERE:
            located[number] = f"{file.rpartition('/')[2]}:{_field(location, 'line')}"
    return located


def _field(text: str, name: str) -> int:
    found = re.search(rf"\b{name}=(\d+)", text)
    return int(found[1]) if found else 0
