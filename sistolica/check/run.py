"""Runs every check over a course."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt

from sistolica.check.comments import read_comments
from sistolica.check.course import Pair, chapter_pairs, lab_pairs, message_files
from sistolica.check.fault import Findings, Outcome
from sistolica.check.page import Page
from sistolica.check.page_reader import parser_for, read_page
from sistolica.check.parity import Peers, compare_contents, compare_fixed_texts, compare_pages
from sistolica.check.passage import Passage
from sistolica.check.placement import Defined, check_placements, read_or_report
from sistolica.check.settings import check_book_settings, check_builder_version, check_colab_links, read_book_settings
from sistolica.check.structure import check_labels, check_outline, check_tree, refuse_unreadable
from sistolica.check.terms import Termbase, read_terms
from sistolica.check.terms_linter import Linter
from sistolica.check.texts import Spoken, check_lab_texts, check_messages, check_quiz_texts
from sistolica.check.waiver import Waivers
from sistolica.lesson import read_cells, read_prose, read_quiz
from sistolica.lesson.source import read_source
from sistolica.project import Project
from tpu_kernels.messages import LANGUAGES


def run(project: Project) -> Outcome:
    """Check parity, terms and settings of a course; reads files only and changes nothing."""
    findings = Findings(project.root)
    termbase = read_terms(project.book / "terms.csv", findings)
    settings = read_book_settings(project, findings)
    examiner = Examiner(parser_for(settings), termbase, findings)
    for pair in [*chapter_pairs(project, findings), *lab_pairs(project, findings)]:
        examiner.check_pair(pair)
    for language in LANGUAGES:
        chapters = examiner.pages[language]
        if language not in examiner.gaps:  # a page that was not read may hold the labels that others point to
            check_tree([*chapters, *examiner.quiz_pages[language]], project.root, findings)
        check_colab_links(project, settings, [*chapters, *examiner.lab_pages[language]], findings)
    for path in sorted(project.labs.glob("*/lab.toml")):
        examiner.lint(check_lab_texts(path, termbase, findings))
    for path in message_files(project):
        examiner.lint(check_messages(path, termbase, findings))
    check_builder_version(project, findings)
    check_book_settings(project, settings, findings)
    return findings.outcome()


@dataclass
class Examiner:
    """What the checks of one run share, and what they have read, by language.

    ``gaps`` names the languages of which some page could not be read.
    """

    parser: MarkdownIt
    termbase: Termbase
    findings: Findings
    pages: dict[str, list[Page]] = field(default_factory=lambda: {language: [] for language in LANGUAGES})
    lab_pages: dict[str, list[Page]] = field(default_factory=lambda: {language: [] for language in LANGUAGES})
    quiz_pages: dict[str, list[Page]] = field(default_factory=lambda: {language: [] for language in LANGUAGES})
    gaps: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._linters = {language: Linter(self.termbase, language) for language in LANGUAGES}

    def check_pair(self, pair: Pair) -> None:
        """Check one page in both languages with its script and its quiz."""
        self.findings.count("pages", len(pair.pages))
        pages: dict[str, Page] = {}
        waivers: dict[str, Waivers] = {}
        for language, path in pair.pages.items():
            if read_or_report(read_prose, path, "prose", self.findings) is None:
                self.gaps.add(language)
                continue  # what the lesson model cannot read would only echo here as many faults
            source = read_source(path, "no such page", "Write it")
            page = pages[language] = read_page(self.parser, path, source)
            waivers[language] = Waivers(path, source)
            (self.lab_pages if pair.notebook_only else self.pages)[language].append(page)
            check_outline(page, self.findings, labelled=not pair.notebook_only)
            check_labels(page, self.findings)
            refuse_unreadable(page, self.findings)
            self._lint_passages(language, path, page.passages, waivers[language])
        settled = self._check_script(pair, pages) | self._check_quiz(pair, pages)
        if len(pages) == len(pair.pages):
            spanish, portuguese = (pages[language] for language in LANGUAGES)
            peers = Peers(spanish, portuguese, (waivers["es"], waivers["pt"]))
            compare_pages(peers, self.termbase, self.findings, settled)
        for kept in waivers.values():
            kept.report(self.findings)

    def lint(self, spoken: Spoken) -> None:
        """Hold every text of a file to the termbase, and close its waivers."""
        for language, pages in spoken.pages.items():
            passages = [passage for page in pages for passage in page.passages]
            self._lint_passages(language, spoken.path, passages, spoken.waivers)
        spoken.waivers.report(self.findings)

    def _lint_passages(self, language: str, path: Path, passages: Iterable[Passage], waivers: Waivers) -> None:
        for passage in passages:
            self._linters[language].check(passage, path, waivers, self.findings)

    def _check_script(self, pair: Pair, pages: Mapping[str, Page]) -> set[tuple[str, str]]:
        lines: dict[str, int] = {}
        if pair.script.is_file():
            cells = read_or_report(read_cells, pair.script, "cell", self.findings)
            if cells is None:
                return {item.identity for page in pages.values() for item in page.of_kind("cell")}
            lines = {name: cell.line for name, cell in cells.items()}
            self._check_comments(pair.script)
        return check_placements(Defined("cell", pair.script, lines), pages, self.findings)

    def _check_comments(self, path: Path) -> None:
        source = read_source(path, "no such script", "Write it")
        waivers = Waivers(path, "")  # a waiver in a script would be shown to the reader: reword the comment instead
        for group in read_comments(path, source, self.termbase, self.findings):
            self.findings.count("spoken comments")
            spanish, portuguese = (group.page(path, language) for language in LANGUAGES)
            peers = Peers(spanish, portuguese, (waivers, waivers))
            compare_contents(peers, self.findings)
            for ours, theirs in zip(spanish.passages, portuguese.passages, strict=False):
                compare_fixed_texts(peers, ours, theirs, self.termbase, self.findings)
            for language, page in zip(LANGUAGES, peers.pages, strict=True):
                self._lint_passages(language, path, page.passages, waivers)

    def _check_quiz(self, pair: Pair, pages: Mapping[str, Page]) -> set[tuple[str, str]]:
        if pair.quiz is None:
            return set()
        questions = read_or_report(read_quiz, pair.quiz, "quiz", self.findings)
        if questions is None:
            return {item.identity for page in pages.values() for item in page.of_kind("quiz")}
        lines = {key: question.line for key, question in questions.items()}
        if questions:
            spoken = check_quiz_texts(self.parser, pair.quiz, self.termbase, self.findings)
            for language, found in spoken.pages.items():
                self.quiz_pages[language] += found
            self.lint(spoken)
        return check_placements(Defined("quiz", pair.quiz, lines), pages, self.findings)
