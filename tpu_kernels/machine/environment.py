"""What the environment asks of jax, read before jax reads it: a number of devices, characters that would abort it."""

import re
import unicodedata
from collections.abc import Iterator, Mapping

from tpu_kernels.machine.finding import Finding
from tpu_kernels.phrases import phrase

FLAGS = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")  # words of the form --name=value
FORCED_DEVICES = "--xla_force_host_platform_device_count"

MINUS_SIGN = "\N{MINUS SIGN}"  # a mathematical symbol, and no dash to Unicode
DASHES = {"Pd"}
INVISIBLE_OR_QUOTES = {"Zs", "Cf", "Pi", "Pf"}


def read_by_jax(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that jax, XLA and libtpu read when they start."""
    return {name: value for name, value in environ.items() if name in FLAGS or name.startswith("JAX_")}


def odd_characters(environ: Mapping[str, str]) -> list[Finding]:
    """Dashes, spaces and quotes that look like ASCII and are not, as a page or a chat turns them.

    XLA reads its flags only once jax is used, and one that it does not know ends the process, and a notebook's kernel
    with it. A value with a slash is a path, which may hold what it likes.
    """
    return [
        Finding(
            "odd_character",
            "error",
            phrase(
                "doctor.odd_character",
                variable=variable,
                value=value,
                character=character,
                code=f"U+{ord(character):04X}",
                name=unicodedata.name(character, "?"),
            ),
            phrase("doctor.odd_character_cure", plain=_plain(value)),
        )
        for variable, value in sorted(read_by_jax(environ).items())
        for character in sorted(set(_odd(value, flags=variable in FLAGS)))
    ]


def forced_devices(environ: Mapping[str, str]) -> int | None:
    """How many CPU devices ``XLA_FLAGS`` asks for; ``None`` when it does not say. The last mention counts."""
    asked = re.findall(rf"(?<!\S){FORCED_DEVICES}=(\d+)(?!\S)", environ.get("XLA_FLAGS", ""), re.ASCII)
    return int(asked[-1]) if asked else None


def with_forced_devices(flags: str, count: int) -> str:
    """``flags``, a value of ``XLA_FLAGS``, asking for ``count`` CPU devices and otherwise unchanged."""
    kept = [word for word in flags.split() if word.partition("=")[0] != FORCED_DEVICES]
    return " ".join([*kept, f"{FORCED_DEVICES}={count}"])


def _odd(value: str, *, flags: bool) -> Iterator[str]:
    for word in re.split(r"[ \t\n]+", value) if flags else [f"={value}"]:
        name, _, argument = word.partition("=")
        yield from (character for character in name if _is_odd(character, DASHES | INVISIBLE_OR_QUOTES))
        if "/" not in argument:
            yield from (character for character in argument[:1] if _is_odd(character, DASHES))
            yield from (character for character in argument if _is_odd(character, INVISIBLE_OR_QUOTES))


def _is_odd(character: str, categories: set[str]) -> bool:
    if character.isascii():
        return False
    return unicodedata.category(character) in categories or (character == MINUS_SIGN and "Pd" in categories)


def _plain(value: str) -> str:
    """``value`` as it was probably meant: a dash for a dash, nothing for a quote or an invisible character."""
    written = []
    for character in value:
        if _is_odd(character, DASHES):
            written.append("-")
        elif _is_odd(character, INVISIBLE_OR_QUOTES):
            written.append(" " if unicodedata.category(character) == "Zs" else "")
        else:
            written.append(character)
    return "".join(written).strip()
