"""``%xray f(a, b) --chip v5e`` in a notebook, and ``%%xray`` over a cell that ends in the call."""

import argparse
import ast
import re
import shlex
import traceback
from typing import Any, cast

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments

from tpu_kernels.phrases import phrase
from tpu_kernels.xray.capture import Call, NotACallError, capture, parse
from tpu_kernels.xray.comparison import Comparison, examined, name_of
from tpu_kernels.xray.report import Report

OPTION = re.compile(r"\s--(?=[a-z])")


@magics_class
class XrayMagics(Magics):
    """What ``%load_ext tpu_kernels.xray`` registers."""

    @magic_arguments()
    @argument("--chip", default="v5e", help="v4, v5e, v5p, v6e, tpu7x; several, with commas, are compared.")
    @argument("--topology", help="A slice as the compiler names it: v5e:2x2.")
    @argument("--no-simulate", dest="simulate", action="store_false", default=None, help="Do not count cycles.")
    @argument("--simulate", dest="simulate", action="store_true", help="Count cycles, however long it takes.")
    @argument("--flag", dest="flags", action="append", help="Passed to the compiler; may be repeated.")
    @argument("--seconds", type=float, help="Processor time for the compiler.")
    @argument("--no-cache", dest="cache", action="store_false", help="Compile again what was compiled before.")
    @argument("call", nargs=argparse.REMAINDER, help="The call, as f(a, b); in %%%%xray the last line of the cell.")
    @line_cell_magic
    def xray(self, line: str, cell: str | None = None) -> Report | Comparison:
        """X-ray a call without making it: its function is compiled for a TPU, for arguments like those given."""
        __tracebackhide__ = True  # so that IPython shows the learner's own lines only
        written, options = split(line)
        try:
            chosen = self.xray.parser.parse_args(_words(options))
            written = written or " ".join(chosen.call)
            call = self._from_cell(cell) if cell is not None else capture(parse(written), self._shell.user_ns)
        except NotACallError as error:
            raise UsageError(str(error)) from None
        given = {name: value for name, value in vars(chosen).items() if name not in {"chip", "call"}}
        return seen(call, chosen.chip, {name: value for name, value in given.items() if value is not None})

    @property
    def _shell(self) -> InteractiveShell:
        """The one that these magics are registered in."""
        return cast(InteractiveShell, self.shell)

    def _from_cell(self, cell: str) -> Call:
        """Run a cell but for its last line, which must be the call."""
        __tracebackhide__ = True
        shell = self._shell
        source = shell.transform_cell(cell)
        file = shell.compile.cache(source)  # so that an error can show the learner's line
        try:
            *statements, last = ast.parse(source, file).body or [ast.Pass()]
        except SyntaxError as error:
            raise UsageError("".join(traceback.format_exception_only(error))) from None
        if not isinstance(last, ast.Expr):
            raise NotACallError(phrase("xray.not_a_call", got=ast.unparse(last).splitlines()[0][:60]))
        exec(compile(ast.Module(statements, []), file, "exec"), shell.user_ns)
        return capture(last.value, shell.user_ns)


def split(line: str) -> tuple[str, str]:
    """A line as the call that it begins with, if it does, and its options: the call may hold ``--`` itself."""
    for option in OPTION.finditer(line):
        before = line[: option.start()]
        try:
            ast.parse(before.strip(), mode="eval")
        except SyntaxError:
            continue
        return before, line[option.start() :]
    return ("", line) if line.lstrip().startswith("--") else (line, "")


def _words(options: str) -> list[str]:
    """Words apart, with their quotes, since a call may be among them."""
    try:
        return shlex.split(options, posix=False)
    except ValueError:
        raise NotACallError(phrase("xray.not_a_call", got=options.strip()[:60])) from None


def seen(call: Call, chips: str, options: dict[str, Any]) -> Report | Comparison:
    """The report of a call, or the comparison of those for several chips."""
    from tpu_kernels.xray.examine import xray

    function, specs = call.positional()
    names = [name.strip() for name in chips.split(",") if name.strip()]
    if len(names) == 1:
        return xray(function, *specs, chip=names[0], **options)
    if not names:
        raise UsageError(phrase("xray.no_chip"))
    return Comparison(tuple(examined(name_of(function), function, specs, name, **options) for name in names))
