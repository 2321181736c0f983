"""A page of HTML that stands by itself: its style is in it, and it asks for nothing else."""

import re
from html import escape

from tpu_kernels.messages import language

TAGS = {"es": "es", "pt": "pt-BR"}

# The names are those of the site's theme, which pictures and tables take their colours from. The name of a row breaks
# only in a narrow table, which a phone then shows whole; a wide one scrolls anyway.
STYLE = """
:root {
  color-scheme: light dark;
  --pst-color-text-base: #1f2a2e; --pst-color-text-muted: #52636a; --pst-color-primary: #0a6d78;
  --pst-color-surface: #eef3f4; --pst-color-background: #ffffff;
}
@media (prefers-color-scheme: dark) {
  :root {
    --pst-color-text-base: #e3ebed; --pst-color-text-muted: #a3b4ba; --pst-color-primary: #4fc6d3;
    --pst-color-surface: #1f2b30; --pst-color-background: #12191c;
  }
}
body {
  margin: 0 auto; padding: 1rem; max-width: 64rem; font: 16px/1.5 system-ui, sans-serif;
  color: var(--pst-color-text-base); background: var(--pst-color-background);
}
h1 { font-size: 1.4rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 1.5rem 0 .5rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; font-size: .9rem; margin: .75rem 0; }
caption { color: var(--pst-color-text-muted); padding-bottom: .25rem; }
th, td { padding: .25rem .45rem; border-bottom: 1px solid var(--pst-color-surface); text-align: start; }
td, th[scope=row]:nth-last-child(n+4) { white-space: nowrap; }
thead th { color: var(--pst-color-text-muted); font-weight: 600; vertical-align: bottom; }
summary { cursor: pointer; margin: .75rem 0; }
:focus-visible { outline: 2px solid var(--pst-color-primary); outline-offset: 2px; }
"""

# What XML does not take, and what turns the direction of the text behind it: a name may hold either.
INVISIBLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(markup: str) -> str:
    """HTML with a sign in place of each character that nobody sees and that spoils what is around it."""
    return INVISIBLE.sub("\N{REPLACEMENT CHARACTER}", markup)


def page(title: str, body: str) -> str:
    """A whole document around a body that is HTML already, under its title, which is escaped here."""
    return visible(
        f'<!doctype html><html lang="{TAGS[language()]}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>"
        f"<h1>{escape(title)}</h1>{body}</main></body></html>\n"
    )
