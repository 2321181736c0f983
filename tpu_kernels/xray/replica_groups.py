"""Which devices of a program take part in a collective together, in the three forms in which XLA writes them.

``{{0,1},{2,3}}`` lists them. ``[2,4]<=[4,2]T(1,0)`` counts the devices through a grid of ``4,2``, turns that round, and
cuts it into 2 groups of 4. ``mesh['a'=2,'b'=4] {'b'}`` counts them through a mesh; a group runs along the axes named.
"""

import math
import re
from collections.abc import Iterable, Sequence
from itertools import product

from tpu_kernels.xray.errors import DumpError

Groups = tuple[tuple[int, ...], ...]

LISTED = re.compile(r"\breplica_groups=\{((?:\{[\d,]*\},?)*)\}")
IOTA = re.compile(r"\breplica_groups=\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
MESH = re.compile(r"\breplica_groups=mesh\[([^\]]*)\] ?\{([^}]*)\}")
AXIS = re.compile(r"'([^']+)'=(\d+)")
ALONG = re.compile(r"'([^']+)'(?::\((\d+)\)(\d+))?")  # the whole axis, or a part of it: after how many, of how many
PAIRS = re.compile(r"\bsource_target_pairs=\{((?:\{\d+,\d+\},?)*)\}")
INSIDE = re.compile(r"\{([\d,]*)\}")


def groups(attributes: str, devices: int) -> Groups:
    """The groups of a collective of a program for so many devices; one of all of them when XLA writes none.

    Raises :class:`DumpError` for another form, and for groups that name a device twice or one that is not there.
    """
    if listed := LISTED.search(attributes):
        found = [_numbers(group) for group in INSIDE.findall(listed[1])] or [tuple(range(devices))]
    elif iota := IOTA.search(attributes):
        count, size = _two(iota[1], attributes)
        dimensions = _numbers(iota[2])
        order = _numbers(iota[3]) if iota[3] else tuple(range(len(dimensions)))
        found = _cut(_counted(dimensions, order), size) if count * size == math.prod(dimensions) else []
    elif mesh := MESH.search(attributes):
        found = _along(mesh[1], mesh[2], attributes)
    else:
        raise DumpError(f"no replica groups: {attributes[:200]!r}")
    members = [member for group in found for member in group]
    if not members or len(set(members)) != len(members) or not set(members) <= set(range(devices)):
        raise DumpError(f"replica groups that do not fit {devices} devices: {attributes[:200]!r}")
    return tuple(tuple(group) for group in found)


def pairs(attributes: str) -> tuple[tuple[int, int], ...]:
    """Who sends to whom in a permute. Raises :class:`DumpError` when that is not written as expected."""
    found = PAIRS.search(attributes)
    if found is None:
        raise DumpError(f"no pairs of sender and receiver: {attributes[:200]!r}")
    return tuple(_two(pair, attributes) for pair in INSIDE.findall(found[1]))


def joined(sent: Iterable[tuple[int, int]]) -> Groups:
    """The devices that a permute joins, however many steps apart; those that send only to themselves are left out."""
    following: dict[int, set[int]] = {}
    for source, target in sent:
        if source != target:
            following.setdefault(source, set()).add(target)
            following.setdefault(target, set()).add(source)
    found = []
    while following:
        waiting, group = [next(iter(following))], set()
        while waiting:
            member = waiting.pop()
            group.add(member)
            waiting += following.pop(member, set()) - group
        found.append(tuple(sorted(group)))
    return tuple(sorted(found))


def written(of: Groups) -> str | None:
    """The groups as XLA's second form has them, whichever they came in; ``None`` when it has no such form for them."""
    size = len(of[0])
    if any(len(group) != size for group in of):
        return None
    members = [member for group in of for member in group]
    axes = _strides(members)
    if axes is None:
        return None
    by_stride = sorted(axes, key=lambda axis: -axis[1])
    dimensions = [length for length, _ in by_stride]
    order = [by_stride.index(axis) for axis in axes]
    turned = f"T({','.join(map(str, order))})" if order != sorted(order) else ""
    if _counted(dimensions, order) != members:
        return None
    return f"[{len(of)},{size}]<=[{','.join(map(str, dimensions)) if turned else len(members)}]{turned}"


def _counted(dimensions: Sequence[int], order: Sequence[int]) -> list[int]:
    """0, 1, 2, … laid in a grid of these dimensions, and read with its axes in another order."""
    strides = [math.prod(dimensions[axis + 1 :]) for axis in range(len(dimensions))]
    return [
        sum(at * strides[axis] for at, axis in zip(place, order, strict=True))
        for place in product(*(range(dimensions[axis]) for axis in order))
    ]


def _strides(members: Sequence[int]) -> list[tuple[int, int]] | None:
    """Lengths and strides of the axes, outermost first, through which these numbers are counted, if they are."""
    axes: list[tuple[int, int]] = []
    inner = 1
    while inner < len(members):
        stride = members[inner] - members[0]
        length = 1
        while inner * length < len(members) and members[inner * length] - members[0] == stride * length:
            length += 1
        if length < 2 or len(members) % (inner * length):
            return None
        axes.append((length, stride))
        inner *= length
    return axes[::-1] or [(1, 1)]


def _along(mesh: str, axes: str, attributes: str) -> list[tuple[int, ...]]:
    """The groups that run along some axes of a mesh, or parts of axes."""
    sizes = {name: int(size) for name, size in AXIS.findall(mesh)}
    named = ALONG.findall(axes)
    wanted = {name: (int(before or 1), int(size or sizes.get(name, 0))) for name, before, size in named}
    rest = AXIS.sub("", mesh).strip(", ") + ALONG.sub("", axes).strip(", ")
    if rest or len(wanted) < len(named) or not set(wanted) <= set(sizes):
        raise DumpError(f"replica groups along axes that are not understood: {attributes[:200]!r}")
    dimensions: list[int] = []
    inside: list[int] = []
    for name, size in sizes.items():
        before, taken = wanted.get(name, (1, 1))
        parts = (before, taken, size // max(1, before * taken))
        if math.prod(parts) != size:
            raise DumpError(f"replica groups along a part that does not divide its axis: {attributes[:200]!r}")
        inside.append(len(dimensions) + 1)
        dimensions += parts
    outside = [axis for axis in range(len(dimensions)) if axis not in inside]
    return _cut(_counted(dimensions, [*outside, *inside]), math.prod(dimensions[axis] for axis in inside))


def _cut(members: Sequence[int], size: int) -> list[tuple[int, ...]]:
    return [tuple(members[start : start + size]) for start in range(0, len(members), size)]


def _two(text: str, attributes: str) -> tuple[int, int]:
    numbers = _numbers(text)
    if len(numbers) != 2:
        raise DumpError(f"two numbers were expected, not {text!r}: {attributes[:200]!r}")
    return numbers[0], numbers[1]


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(",") if number)
