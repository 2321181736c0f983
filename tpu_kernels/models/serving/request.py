"""What a client asks of a model: one request, or a session of several turns that share what was said before."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from tpu_kernels.models.matrix import whole
from tpu_kernels.models.roofline.amounts import not_negative
from tpu_kernels.phrases import phrase

PICOSECONDS = 10**12  # time inside the simulator is a whole number of these: sums are exact in any order

# FNV-1a, 64 bits: a hash that does not depend on the process, as Python's hash() of a str does.
FNV_OFFSET, FNV_PRIME, FNV_MASK = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1

Prefix: TypeAlias = tuple[tuple[int, int], ...]


class Request(NamedTuple):
    """One prompt and the answer that it will get.

    ``arrival``: seconds since the run began, or, from the second turn of a session on, since the answer before it
    ended. ``prompt_tokens`` counts the whole prompt, ``prefix`` included: a chain of ``(key, tokens)``, where a key
    stands for one content *and everything before it* (a chained hash). ``keep``: the key under which the rest of the
    prompt and the answer can be asked for by a later turn. ``priority`` below zero may be shed. ``connection``: the
    client connection that carries the request, for balancers that balance those.
    """

    arrival: float
    prompt_tokens: int
    output_tokens: int
    prefix: Prefix = ()
    keep: int | None = None
    priority: int = 0
    connection: int | None = None


class Session(NamedTuple):
    """Turns of one client, each sent ``arrival`` seconds after the answer to the one before."""

    turns: Sequence[Request]


Traffic: TypeAlias = Iterable[Request | Session]


def block_chain(tokens: Sequence[int], block: int = 16) -> Prefix:
    """The prefix of a prompt given by its token ids: every full block of ``block`` tokens under its chained hash.

    A block's key is the hash of its tokens and of the key before it, as in vLLM's prefix caching, so that a key stands
    for a whole prompt up to there. The tokens after the last full block belong to no key.
    """
    block = whole("block", block)
    chain, parent = [], 0
    for start in range(0, len(tokens) - block + 1, block):
        parent = fnv1a((parent, *tokens[start : start + block]))
        chain.append((parent, block))
    return tuple(chain)


def fnv1a(numbers: Iterable[int]) -> int:
    """The 64-bit FNV-1a hash of whole numbers under 2**64, eight bytes each."""
    code = FNV_OFFSET
    for number in numbers:
        for byte in number.to_bytes(8, "little"):
            code = (code ^ byte) * FNV_PRIME & FNV_MASK
    return code


def checked_turns(item: Request | Session) -> Sequence[Request]:
    """The turns of an item of traffic, each checked; a request is a session of one."""
    turns = item.turns if isinstance(item, Session) else (item,)
    if not turns or not all(isinstance(turn, Request) for turn in turns):
        raise ValueError(phrase("serving.not_a_request", got=repr(item)[:80]))
    for turn in turns:
        _check(turn)
    return turns


def _check(request: Request) -> None:
    # The common case in one line each: this runs once a request, a million times in a benchmark.
    arrival, prompt, output, prefix = request[:4]
    if not (type(arrival) is float and 0 <= arrival < 1e9):
        not_negative("arrival", arrival)
    if not (type(prompt) is int and prompt > 0 and type(output) is int and output > 0):
        whole("prompt_tokens", prompt)
        whole("output_tokens", output)
    shared = 0
    for key, tokens in prefix:
        if not (type(tokens) is int and tokens > 0 and type(key) is int and key >= 0):
            raise ValueError(phrase("serving.bad_prefix", got=repr((key, tokens))))
        shared += tokens
    if shared > prompt:
        raise ValueError(phrase("serving.long_prefix", got=shared, prompt=prompt))


def ordered(traffic: Traffic, *, closed: bool = False) -> Iterator[Sequence[Request]]:
    """The turns of each item, checked; ``ValueError`` when a later item arrives earlier, unless the loop is closed."""
    last = 0.0
    for item in traffic:
        turns = checked_turns(item)
        if turns[0].arrival < last and not closed:
            raise ValueError(phrase("serving.unordered", got=turns[0].arrival, before=last))
        last = turns[0].arrival
        yield turns
