"""Compares two lists of items, and says for each difference which side it is on and what stands opposite."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from sistolica.check.fault import Findings
from sistolica.check.page import Item, Page


@dataclass(frozen=True)
class Difference:
    """What one side has and the other has not; both are set where one thing stands for the other."""

    spanish: Item | None
    portuguese: Item | None
    moved: bool = False


def compare_in_order(
    spanish: Sequence[Item], portuguese: Sequence[Item]
) -> tuple[list[tuple[Item, Item]], list[Difference]]:
    """The peers of two sequences that must run in the same order, and where they part."""
    matcher = SequenceMatcher(
        None, [item.identity for item in spanish], [item.identity for item in portuguese], autojunk=False
    )
    peers: list[tuple[Item, Item]] = []
    gaps: list[tuple[Sequence[Item], Sequence[Item]]] = []
    for operation, first, last, other_first, other_last in matcher.get_opcodes():
        ours, theirs = spanish[first:last], portuguese[other_first:other_last]
        if operation == "equal":
            peers += zip(ours, theirs, strict=True)
        else:
            gaps.append((ours, theirs))
    moved, _, _ = _paired([i for gap in gaps for i in gap[0]], [i for gap in gaps for i in gap[1]], _identity)
    settled = {id(item) for pair in moved for item in pair}
    differences = [Difference(one, other, moved=True) for one, other in moved]
    for gap in gaps:
        ours, theirs = ([item for item in side if id(item) not in settled] for side in gap)
        changed, alone, left = _paired(ours, theirs, _kind)
        differences += [Difference(one, other) for one, other in changed]
        differences += [Difference(item, None) for item in alone]
        differences += [Difference(None, item) for item in left]
    return peers, differences


def _identity(item: Item) -> object:
    return item.identity


def _kind(item: Item) -> object:
    return item.kind


def compare_in_any_order(
    spanish: Sequence[Item], portuguese: Sequence[Item], pages: tuple[Page, Page]
) -> list[Difference]:
    """Where two multisets part.

    A section that has one thing too many on each side has one slip, so the two make one difference; where there are
    more, nobody can tell which stands for which.
    """
    ours, theirs = _surplus(spanish, portuguese), _surplus(portuguese, spanish)
    differences = []
    for place in dict.fromkeys([*(_place(pages[0], i) for i in ours), *(_place(pages[1], i) for i in theirs)]):
        here = [item for item in ours if _place(pages[0], item) == place]
        there = [item for item in theirs if _place(pages[1], item) == place]
        if len(here) == len(there) == 1:
            differences.append(Difference(here[0], there[0]))
        else:
            differences += [Difference(item, None) for item in here]
            differences += [Difference(None, item) for item in there]
    return differences


def _place(page: Page, item: Item) -> tuple[str, int]:
    """An item's kind and the number of its section."""
    return item.kind, sum(heading.line <= item.line for heading in page.headings)


def once_each(items: Sequence[Item]) -> list[Item]:
    """The first of each identity: a multiset made a set."""
    return list({item.identity: item for item in reversed(items)}.values())[::-1]


def _surplus(items: Sequence[Item], others: Sequence[Item]) -> list[Item]:
    """The items beyond what ``others`` has of each, those that fall out of step with it first."""
    excess = Counter(item.identity for item in items) - Counter(item.identity for item in others)
    if not excess:
        return []
    matcher = SequenceMatcher(None, [i.identity for i in items], [i.identity for i in others], autojunk=False)
    in_step = {block.a + offset for block in matcher.get_matching_blocks() for offset in range(block.size)}
    chosen = []
    for index in sorted(range(len(items)), key=lambda index: (index in in_step, index)):
        if excess[items[index].identity] > 0:
            excess[items[index].identity] -= 1
            chosen.append(index)
    return [items[index] for index in sorted(chosen)]


def _paired(
    ours: Sequence[Item], theirs: Sequence[Item], by: Callable[[Item], object]
) -> tuple[list[tuple[Item, Item]], list[Item], list[Item]]:
    """Pairs of items that agree ``by`` something, in order, and what is left on each side."""
    pairs = []
    left = list(theirs)
    alone = []
    for item in ours:
        peer = next((other for other in left if by(other) == by(item)), None)
        if peer is None:
            alone.append(item)
        else:
            left.remove(peer)
            pairs.append((item, peer))
    return pairs, alone, left


def report(findings: Findings, pages: tuple[Page, Page], differences: Collection[Difference]) -> None:
    """Write each difference as a fault, at the line that holds the odd one."""
    for page, other_page, item, peer, moved in _placed(pages, differences):
        other = other_page.title or findings.name(other_page.path)
        if peer is None:
            kind, got = item.kind, f"{item}, which {other} does not have"
            expected, cure = "the same in both languages", f"Add it to {other}, or remove it here"
        elif moved:
            kind, got = "order", f"{item} in another place than in {other}, line {peer.line}"
            expected, cure = "the same order in both languages", "Move one of the two"
        else:
            kind, got = item.kind, str(item)
            expected, cure = f"{peer}, as in {other}, line {peer.line}", "Make the two equal"
        findings.add(kind, page.path, item.line, got=got, expected=expected, cure=cure)


def _placed(
    pages: tuple[Page, Page], differences: Collection[Difference]
) -> Iterator[tuple[Page, Page, Item, Item | None, bool]]:
    spanish, portuguese = pages
    for difference in differences:
        if difference.portuguese is not None:
            yield portuguese, spanish, difference.portuguese, difference.spanish, difference.moved
        elif difference.spanish is not None:
            yield spanish, portuguese, difference.spanish, None, False
