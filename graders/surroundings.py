"""The learner's kernel made ready for grading: no installing, no shell, no windows. Sent there as text.

It does for the learner's code what a notebook on another machine would have done; it is no sandbox, and nothing that is
judged depends on it.
"""

import importlib.machinery
import os
import sys
from typing import Any

_INSTALLERS = ("pip", "conda", "mamba", "micromamba", "uv")
_SHELLS = ("system", "sx", "!", "bash", "sh", "script")


def arrange(shell: Any, skipped: str) -> None:
    """Prepare the IPython ``shell``; ``skipped`` is the notice printed for each command left out."""

    def skip(command: str) -> None:
        print(skipped.format(command=(command.strip().splitlines() or [""])[0]))  # noqa: T201 - the learner's output

    # Their own modules are found, but never instead of an installed one.
    sys.path.append(os.getcwd())  # noqa: PTH109 - a path entry is text
    shell.system = lambda command: skip("!" + command)

    def no_output(command: str, split: bool = True, depth: int = 0) -> list[str]:
        skip("!" + command)
        return []

    shell.getoutput = no_output
    # exit() ends a kernel a moment later, in the middle of whatever comes next.
    shell.ask_exit = lambda: skip("exit()")
    for name in _INSTALLERS:
        shell.register_magic_function(lambda line, name=name: skip(f"%{name} {line}"), "line", name)
    for name in _SHELLS:
        shell.register_magic_function(lambda line, name=name: skip(f"%{name} {line}"), "line", name)
        shell.register_magic_function(lambda line, cell, name=name: skip(f"%%{name} {line}"), "cell", name)
    sys.meta_path.insert(0, _Headless(lambda backend: skip(f"matplotlib.use({backend!r})")))


class _Headless:
    """Imports matplotlib with its ``use`` replaced: a request for a window gets a picture instead of an error."""

    def __init__(self, notice: Any) -> None:
        self._notice = notice

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "matplotlib":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            module.use = lambda backend, **options: self._notice(backend)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
