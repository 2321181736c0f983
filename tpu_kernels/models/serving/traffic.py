"""Requests as clients make them: prompts that begin alike, questions asked again, conversations that grow, few
long-lived connections.

Every generator gives the same traffic for the same seed and makes it as it is asked for, so that a million requests
need no memory of their own.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from tpu_kernels.models.draws import Draws, Length, Popularity, as_length
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.roofline.amounts import not_negative
from tpu_kernels.models.serving.request import Prefix, Request, Session
from tpu_kernels.models.share import share
from tpu_kernels.phrases import phrase

# Keys of different kinds must not meet; a kind has room for 2**40 of them.
SYSTEM, QUESTION, ANSWER = (kind << 40 for kind in (1, 2, 3))


def plain(
    arrivals: Iterable[float], *, prompt: float | Length, output: float | Length, seed: int = 0, shed_share: float = 0.0
) -> Iterator[Request]:
    """Requests with nothing in common. ``shed_share`` of them (0 to 1) have a priority below zero.

    Lengths are tokens, fixed or drawn; raises ``ValueError`` for lengths under one and a share outside.
    """
    draws = Draws(seed)
    prompts, outputs = as_length("prompt", prompt), as_length("output", output)
    low = share("shed_share", shed_share)
    for time in arrivals:
        priority = -1 if low and draws.uniform() < low else 0
        yield Request(time, prompts.draw(draws), outputs.draw(draws), priority=priority)


class SharedPrefixes:
    """``groups`` of clients whose prompts begin with the same ``system`` tokens, each group with its own, and go on
    with one of the group's ``questions`` (of ``question`` tokens each); answers of ``output`` tokens.

    ``questions`` None: every question is new. ``order``: ``"random"`` draws a group (by Zipf's law if ``skew`` is above
    zero) and a question for each request; ``"cycle"`` shuffles all ``groups * questions`` prompts once and goes round
    them, as the shared-prefix load of inference-perf does. ``connections``: each request comes over one of so many.

    Raises ``ValueError`` for sizes under one, a negative skew and another order.
    """

    def __init__(
        self,
        *,
        groups: int,
        system: int,
        question: float | Length,
        output: float | Length,
        questions: int | None = None,
        order: str = "random",
        skew: float = 0.0,
        connections: int | None = None,
        seed: int = 0,
    ) -> None:
        self.groups, self.system = whole("groups", groups), whole("system", system)
        self.question, self.output = as_length("question", question), as_length("output", output)
        self.questions = None if questions is None else whole("questions", questions)
        self.connections = None if connections is None else whole("connections", connections)
        if order not in ("random", "cycle") or (order == "cycle" and self.questions is None):
            raise ValueError(phrase("serving.order", got=repr(order)))
        self._draws = Draws(seed)
        self._popularity = Popularity(self.groups, skew)
        self._asked = 0
        kinds = self.groups * (self.questions or 1)
        self._cycle = self._draws.shuffled(kinds) if order == "cycle" else None
        # The same question has the same length each time it is asked.
        self._lengths = [self.question.draw(self._draws) for _ in range(kinds)] if self.questions else []

    def at(self, arrivals: Iterable[float]) -> Iterator[Request]:
        """A request at each of these times; a second call goes on where the first one stopped."""
        draws, connections = self._draws, self.connections
        for time in arrivals:
            prefix, prompt = self._prompt(draws)
            connection = None if connections is None else draws.below(connections)
            output = self.output.draw(draws)
            yield Request(time, prompt, output, prefix, connection=connection)

    def _prompt(self, draws: Draws) -> tuple[Prefix, int]:
        if self.questions is None:
            group = self._popularity.draw(draws)
            return ((SYSTEM + group, self.system),), self.system + self.question.draw(draws)
        if self._cycle is not None:
            kind = self._cycle[self._asked % len(self._cycle)]
        else:
            kind = self._popularity.draw(draws) * self.questions + draws.below(self.questions)
        self._asked += 1
        length = self._lengths[kind]
        return ((SYSTEM + kind // self.questions, self.system), (QUESTION + kind, length)), self.system + length


MOST_TURNS: Final = 1 << 16


def conversations(
    starts: Iterable[float],
    *,
    turns: float | Length,
    question: float | Length,
    output: float | Length,
    system: float | Length | None = None,
    common: int = 0,
    think: float = 0.0,
    seed: int = 0,
    one_connection: bool = True,
) -> Iterator[Session]:
    """Conversations: each turn sends everything said before and a new question, ``think`` seconds after the last answer
    (on average, exponential; 0: at once).

    ``common``: tokens at the beginning of every conversation; ``system``: tokens that follow, each conversation's own.
    Every answer stays where a later turn can find it. ``one_connection``: all turns come over the same one.

    Raises ``ValueError`` for lengths under one, negative times, and more than 65,536 turns.
    """
    draws = Draws(seed)
    lengths = [as_length(name, value) for name, value in (("turns", turns), ("question", question), ("output", output))]
    own = None if system is None else as_length("system", system)
    pause, shared = not_negative("think", think), whole("common", common) if common else 0
    for number, start in enumerate(starts):
        count = lengths[0].draw(draws)
        if count > MOST_TURNS:
            raise ValueError(phrase("serving.too_many_turns", got=count, most=MOST_TURNS))
        chain: list[tuple[int, int]] = [(SYSTEM, shared)] if shared else []
        if own is not None:
            chain.append((SYSTEM + 1 + number, own.draw(draws)))
        said = sum(tokens for _, tokens in chain)
        made = []
        for turn in range(count):
            asked, answered = lengths[1].draw(draws), lengths[2].draw(draws)
            wait = start if not turn else draws.exponential(pause) if pause else 0.0
            keep = ANSWER + number * MOST_TURNS + turn
            connection = number if one_connection else None
            made.append(Request(wait, said + asked, answered, tuple(chain), keep, connection=connection))
            chain.append((keep, asked + answered))
            said += asked + answered
        yield Session(made)
