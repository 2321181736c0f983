"""Addresses of links and files, compared across languages.

Two addresses are peers when they differ only in a mark of language: ``hl=es``, ``/pt-br/``, ``es.wikipedia.org``,
``figure.pt.svg``.
"""

import re

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_INTERNAL_SCHEMES = ("project:", "path:")
_LANGUAGE = r"(?:es(?:[-_]?(?:419|es|mx|ar|co|cl|pe))?|pt(?:[-_]?(?:br|pt))?)"
_MARK = re.compile(
    rf"""(?P<query>[?&](?:hl|lang|locale|language)=){_LANGUAGE}(?=[&\#]|$)  # ?hl=es
      | (?P<host>://){_LANGUAGE}(?=\.)                                     # es.wikipedia.org
      | (?P<folder>/){_LANGUAGE}(?=[/?\#]|$)                               # /pt-br/
      | (?P<name>[/._-]){_LANGUAGE}(?=\.[a-z0-9]+$)                        # figure.pt.svg
    """,
    re.VERBOSE | re.IGNORECASE,
)


def is_external(target: str) -> bool:
    """Whether a link leaves the course."""
    return target.startswith("//") or (
        _SCHEME.match(target) is not None and not target.lower().startswith(_INTERNAL_SCHEMES)
    )


def peer_address(target: str) -> str:
    """The address with each mark of language replaced by ``*``."""
    return _MARK.sub(lambda found: next(filter(None, found.groups())) + "*", target)
