"""What a cell printed and showed, kept small and harmless: caps on text, on images and on the number of outputs."""

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from nbformat import NotebookNode, v4

from graders.phrases import phrase
from graders.printable import plain_text
from graders.sanitised import harmless

MAX_TEXT = 64 * 2**10  # characters of a cell, over all its outputs
MAX_IMAGE = 512 * 2**10  # bytes of base64 of one image
MAX_OUTPUTS = 100
MAX_NOTEBOOK = 2 * 2**20  # characters of the outputs of a notebook together, images included

# Mime types that feedback can show; a notebook's other representations are dropped.
_TEXT_MIMES = ("text/plain", "text/html")
_IMAGE_MIMES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}


@dataclass
class OutputBox:
    """Collects the outputs of one cell as they come, and forgets what is over the caps while counting it."""

    lang: str
    outputs: list[NotebookNode] = field(default_factory=list)
    received: int = 0
    _left: int = MAX_TEXT
    _omitted_lines: int = 0

    def add(self, kind: str, content: dict[str, Any]) -> None:
        """One message of the kernel: ``stream``, ``display_data``, ``execute_result`` or ``error``."""
        if kind == "stream":
            self._add_stream(str(content.get("name")), str(content.get("text")))
        elif kind in ("display_data", "execute_result"):
            self._add_data(content.get("data"))
        elif kind == "error":
            lines = [str(line) for line in content.get("traceback") or []]
            self._append(
                v4.new_output(
                    "error",
                    ename=self._cut(str(content.get("ename"))),
                    evalue=self._cut(str(content.get("evalue"))),
                    traceback=[self._cut("\n".join(lines))],
                )
            )

    def finished(self) -> list[NotebookNode]:
        """The outputs, with a line that says how many lines were left out, if any were."""
        if self._omitted_lines:
            key = "output.omitted" if self._omitted_lines > 1 else "output.omitted-one"
            note = phrase(key, lang=self.lang, lines=self._omitted_lines)
            self.outputs.append(v4.new_output("stream", name="stdout", text=f"{note}\n"))
            self._omitted_lines = 0
        return self.outputs

    def _add_stream(self, name: str, written: str) -> None:
        shown = self._cut(written)
        last = self.outputs[-1] if self.outputs else None
        if last is not None and last.output_type == "stream" and last.name == name:
            last.text += shown
        elif shown:
            self._append(v4.new_output("stream", name=name if name == "stderr" else "stdout", text=shown))

    def _add_data(self, data: Any) -> None:
        kept: dict[str, str] = {}
        for mime, value in data.items() if isinstance(data, dict) else ():
            if not isinstance(value, str):
                continue
            if mime in _TEXT_MIMES:
                text = self._cut(value)
                # formgrader shows a page of what is kept here, and trusts it
                kept[mime] = harmless(text) if mime == "text/html" else text
                continue
            self.received += len(value)
            if mime in _IMAGE_MIMES and len(value) <= MAX_IMAGE and _is_image(mime, value):
                kept[mime] = value
        if any(kept.values()):
            self._append(v4.new_output("display_data", data=kept))

    def _append(self, output: NotebookNode) -> None:
        if len(self.outputs) < MAX_OUTPUTS:
            self.outputs.append(output)

    def _cut(self, written: str) -> str:
        """What may still be shown of ``written``, cleaned; only so much of it is cleaned as can be of use."""
        self.received += len(written)
        head, rest = plain_text(written[: 2 * self._left]), written[2 * self._left :]
        shown, rest = head[: self._left], head[self._left :] + rest
        self._left -= len(shown)
        self._omitted_lines += rest.count("\n") + (1 if rest and not rest.endswith("\n") else 0)
        return shown


def fitting(outputs: Sequence[NotebookNode], room: int, lang: str) -> tuple[list[NotebookNode], int]:
    """The first of ``outputs`` that fit in ``room`` characters, and the room that they leave.

    The first one that does not fit gives way to a line that says so; after it there is no room for anything.
    """
    kept: list[NotebookNode] = []
    for output in outputs if room else ():
        room -= len(json.dumps(output))
        if room <= 0:
            said = phrase("output.too-much", lang=lang)
            return [*kept, v4.new_output("stream", name="stdout", text=f"{said}\n")], 0
        kept.append(output)
    return kept, room


def _is_image(mime: str, encoded: str) -> bool:
    try:
        return base64.b64decode("".join(encoded.split()), validate=True).startswith(_IMAGE_MIMES[mime])
    except (binascii.Error, ValueError):
        return False
