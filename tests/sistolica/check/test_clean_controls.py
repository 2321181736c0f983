"""Pages that look different and are sound: none of them may bring a fault."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Course

ES, PT = "book/es/tpu/array.md", "book/pt/tpu/array.md"
PARAGRAPHS = {
    "decimal comma and point": ("Tarda 2,5 s y 0,125 s.", "Leva 2.5 s e 0.125 s."),
    "thousands with point, space and none": (
        "Hay 8960 chips, 1 000 000 de pesos y 2.048 filas.",
        "São 8.960 chips, 1.000.000 de pesos e 2\u202f048 linhas.",
    ),
    "thousands and decimals together": ("Son 1.234,5 pasos.", "São 1234,5 passos."),
    "a minus sign typed in two ways": ("Baja a -3 grados.", "Cai para −3 graus."),
    "a power of ten": ("Son 10⁹ sumas en cada paso.", "A cada passo, 10⁹ somas."),
    "a version": ("Usa la versión 1.0.4.", "Use a versão 1.0.4."),
    "sentences in another order": (
        "Primero van 3 filas y luego 5. El ciclo es $k + n$.",
        "O ciclo é $k + n$. Depois de 5 linhas\nvêm 3 linhas.",
    ),
    "numbers inside code": ("Escribe `range(7)` en ella.", "Escreva nela."),
    "numbers inside names": ("La v5e suma en fp32.", "A soma é em bf16 na v6e."),
    "numbers inside addresses": (
        "Lee [esto](https://pt.wikipedia.org/wiki/TPU).",
        "Leia [isto](https://es.wikipedia.org/wiki/TPU).",
    ),
    "a bare address": ("Está en https://example.org/es/18.", "Fica em https://example.org/pt-br/18."),
    "a link repeated in one language": (
        "Hay [guía](https://example.org/a) y [más guía](https://example.org/a).",
        "Há um [guia](https://example.org/a).",
    ),
    "English as a gloss in parentheses": ("El rendimiento (en inglés, throughput) sube.", "A vazão (throughput) sobe."),
    "English as a gloss in italics": ("El *throughput* sube.", "A *throughput* sobe."),
    "English marked as English": ("El [throughput]{lang=en} sube.", "A [throughput]{lang=en} sobe."),
    "English marked in HTML": ('El <i lang="en">throughput</i> sube.', 'O <i lang="en">throughput</i> sobe.'),
    "English in HTML italics": ("El <em>throughput</em> sube.", "O <em>throughput</em> sobe."),
    "a name with an English word": (
        "En Cloud TPU y en Google Cloud hay más.",
        "No Cloud TPU e no Google Cloud há mais.",
    ),
    "a name that opens a sentence": ("Cloud TPU cobra por hora.", "Cloud TPU é cobrada por hora."),
    "a plural that is no English one": ("Suma los gradientes.", "Some os gradientes todos."),
    "English that one language keeps": ("Guarda un checkpoint nuevo.", "Grave um checkpoint novo."),
    "English in code and in a label": (
        "Mira `throughput` y {ref}`esto <tpu-array>`.",
        "Veja `inference` e {ref}`isto <tpu-array>`.",
    ),
    "a forbidden word inside a right term": ("La ficha técnica lo dice.", "A ficha técnica diz isso."),
    "a forbidden word inside a longer word": ("El fichaje y la enficha.", "As livrarias vendem."),
    "another language's forbidden word": ("Hay ícones.", "Uma ficha de papel."),
    "a forbidden word in code": ("Llama a `ficha()`.", "Chame `ficha()`."),
    "a real interference, waived": (
        "% terms: allow interferencia -- two signals on one wire\nDos señales hacen interferencia.",
        "% terms: allow interferência -- two signals on one wire\nDois sinais fazem\ninterferência.",
    ),
    "the same words, waived": (
        "% parity: same text -- a motto in Latin\nNon multa sed multum, dixit magister.",
        "Non multa sed multum, dixit magister.",
    ),
    "a table whose words are the same": ("| Total | Valor |\n|---|---|\n| TPU | 3 |",) * 2,
    "an entry of the bibliography": ("Kung, H. T. *Why systolic architectures?* IEEE Computer, 1982.",) * 2,
    "an English title of an outside page": (
        "Lee [measured throughput](https://a.org).",
        "Leia [measured throughput](https://a.org).",
    ),
    "two words that tables share": ("| Local | Norte sur |\n|---|---|\n| TPU | 3 |",) * 2,
    "an abbreviation": ("La {abbr}`MXU (unidad de matrices)` suma.", "A {abbr}`MXU (unidade de matrizes)` soma."),
    "a comment for authors": ("% revisar con la hoja de datos 2\n\nSe suma.", "Soma-se."),
    "an image in HTML": (
        '<img src="a.es.png" alt="Un cuadrado que crece">',
        '<img src="a.pt.png" alt="Um quadrado que cresce">',
    ),
    "an image in Markdown": ("![Un cuadrado\nque crece](a.png)", "![Um quadrado que cresce](a.png)"),
    "a block of text with words": ("```text\nentrada -> celda\n```", "```text\nentrada -> célula\n```"),
    "a title of its own": (":::{admonition} Error frecuente\nSuma.\n:::", ":::{admonition} Erro comum\nSome.\n:::"),
    "paragraphs broken in another way": ("Una cosa.\n\nOtra cosa distinta.", "Uma coisa. Outra coisa diferente."),
}


@pytest.mark.parametrize("name", PARAGRAPHS)
def test_sound_paragraphs_bring_no_fault(course: "Course", name: str) -> None:
    spanish, portuguese = PARAGRAPHS[name]
    course.replace(ES, "### Detalles\n", f"### Detalles\n\n{spanish}\n")
    course.replace(PT, "### Pormenores\n", f"### Pormenores\n\n{portuguese}\n")
    assert [str(fault) for fault in course.faults()] == []


def test_waiver_in_a_quiz_covers_the_key_below_it(course: "Course") -> None:
    quiz = "lessons/tpu/array.quiz.toml"
    course.replace(quiz, 'es.text = "Solo los pesos."', '# terms: allow librería -- a shop\nes.text = "La librería."')
    course.replace(
        quiz, 'es.feedback = "No se mide', '# terms: allow ficha -- of paper\nes.feedback = """\nUna ficha no se mide'
    )
    course.replace(quiz, 'mide en ciclos."\npt.text = "128', 'mide en ciclos."""\npt.text = "128')
    assert [str(fault) for fault in course.faults()] == []


def test_comment_sign_inside_a_string_is_no_comment(course: "Course") -> None:
    course.replace("lessons/tpu/array.py", "reads = 2 / 128", 'reads = 2 / 128 if "#es hola a todos" else 0')
    assert course.faults() == []


def test_english_comment_above_the_first_cell_is_for_contributors(course: "Course") -> None:
    course.replace(
        "lessons/tpu/array.py", "# %% reads", "# This says more about the throughput of 7 chips.\n\n# %% reads"
    )
    assert course.faults() == []


def test_comment_of_one_word_belongs_to_the_code(course: "Course") -> None:
    course.replace("lessons/tpu/array.py", "# (M, K)", "# bytes")
    assert course.faults() == []


def test_cell_may_quote_another_languages_word(course: "Course") -> None:
    course.replace("lessons/tpu/array.py", "#es Cada peso", "#es Cada peso (*weight* o `ficha`)")
    assert course.faults() == []
