"""Search that forgives: accents, plurals and final vowels do not count, the same in the index and in the browser.

Sphinx's own stemmers (Snowball) miss what people type: the Spanish one strips accents last, the Portuguese one never,
and the JavaScript copy is older than the Python one, so the two sides disagree on ``multiplicacion``. Here one table of
rules is applied by Python to the index and written out as JavaScript for the query.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence

from sphinx.application import Sphinx
from sphinx.search.es import SearchSpanish
from sphinx.search.pt import SearchPortuguese

# (ending, replacement), tried in order on a word without accents; the first that fits is applied, once.
SPANISH_PLURALS = (
    ("iones", "ion"),  # operaciones
    ("ces", "z"),  # matrices
    ("([bcdfghjlmnpqrtvxyz])es", "$1"),  # tensores
    ("s", ""),
)
PORTUGUESE_PLURALS = (
    ("[oa]es", "ao"),  # operações, pães
    ("([rzs])es", "$1"),  # matrizes
    ("([ao])is", "$1l"),  # canais, sóis
    ("eis", "el"),  # níveis
    ("ns", "m"),  # nuvens
    ("s", ""),
)
NETWORK_NODES = ("no", "nos", "nós")  # folded, *nó* and *nós* are Portuguese stopwords
FINAL_VOWEL = "[aeo]"
SHORTEST_STEMMED = 5  # letters; a shorter word only loses its accents


def fold(word: str) -> str:
    """The word in lower case without accents: ``Operação`` becomes ``operacao``."""
    letters = unicodedata.normalize("NFD", word.lower())
    return "".join(letter for letter in letters if unicodedata.category(letter) != "Mn")


def forgiving_stopwords(stopwords: Iterable[str], kept: Iterable[str] = ()) -> set[str]:
    """The words that do not count, also as people type them: ``tambien`` would else be sought, and found nowhere."""
    return {form for word in stopwords for form in (word, fold(word))} - set(kept)


def stem(word: str, plurals: Sequence[tuple[str, str]]) -> str:
    """What of a word counts for search."""
    word = fold(word)
    if len(word) < SHORTEST_STEMMED:
        return word
    for ending, replacement in plurals:
        shorter, changed = re.subn(f"{ending}$", replacement.replace("$1", r"\1"), word)
        if changed:
            word = shorter
            break
    return re.sub(f"{FINAL_VOWEL}$", "", word)


def javascript_stemmer(plurals: Sequence[tuple[str, str]]) -> str:
    """The same rules as :func:`stem`, as the ``Stemmer`` that Sphinx's search page constructs."""
    rules = ",".join(f"[/{ending}$/,{json.dumps(replacement)}]" for ending, replacement in plurals)
    return f"""
var Stemmer = function () {{
  const rules = [{rules}];
  this.stemWord = function (word) {{
    word = word.toLowerCase().normalize("NFD").replace(/\\p{{Mn}}/gu, "");
    if (word.length < {SHORTEST_STEMMED}) return word;
    const rule = rules.find(([ending]) => ending.test(word));
    if (rule) word = word.replace(rule[0], rule[1]);
    return word.replace(/{FINAL_VOWEL}$/, "");
  }};
}};
"""


class ForgivingSpanish(SearchSpanish):
    """Spanish for Sphinx's index."""

    lang = "es"
    stopwords = forgiving_stopwords(SearchSpanish.stopwords)
    js_stemmer_rawcode = ""
    js_stemmer_code = javascript_stemmer(SPANISH_PLURALS)

    def stem(self, word: str) -> str:
        return stem(word, SPANISH_PLURALS)


class ForgivingPortuguese(SearchPortuguese):
    """Portuguese for Sphinx's index."""

    lang = "pt"
    stopwords = forgiving_stopwords(SearchPortuguese.stopwords, kept=NETWORK_NODES)
    js_stemmer_rawcode = ""
    js_stemmer_code = javascript_stemmer(PORTUGUESE_PLURALS)

    def stem(self, word: str) -> str:
        return stem(word, PORTUGUESE_PLURALS)


def setup(app: Sphinx) -> None:
    app.add_search_language(ForgivingSpanish)
    app.add_search_language(ForgivingPortuguese)
