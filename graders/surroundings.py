"""The learner's process made ready for grading: no installing, no shell, no windows. Sent to a kernel as text.

It does for the learner's code what a notebook on another machine would have done; it is no sandbox, and nothing that is
judged depends on it.
"""

import importlib.machinery
import os
import random
import sys
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

_INSTALLERS = ("pip", "conda", "mamba", "micromamba", "uv")
_SHELLS = ("system", "sx", "!", "bash", "sh", "script")


def stand_in(modules: Mapping[str, types.ModuleType]) -> None:
    """Let ``graders`` be these modules and nothing else; its self-check does nothing, since the judge does that."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "graders"]:
        del sys.modules[name]
    package = types.ModuleType("graders")
    package.__path__ = []
    selfcheck = types.ModuleType("graders.selfcheck")
    selfcheck.selfcheck = lambda lab, namespace: lambda exercise: None  # type: ignore[attr-defined]
    sys.modules["graders"] = package
    for name, module in {**modules, "selfcheck": selfcheck}.items():
        sys.modules[f"graders.{name}"] = module
        setattr(package, name, module)


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

    def use(backend: str, **options: object) -> None:
        skip(f"matplotlib.use({backend!r})")

    if "matplotlib" in sys.modules:
        sys.modules["matplotlib"].use = use  # type: ignore[attr-defined]
    sys.meta_path.insert(0, _Headless(use))
    # Numbers that nobody seeded are the same each time a notebook is graded.
    random.seed(0)
    np.random.seed(0)


class _Headless:
    """Imports matplotlib with its ``use`` replaced: a request for a window gets a picture instead of an error."""

    def __init__(self, use: Any) -> None:
        self._use = use

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "matplotlib":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            module.use = self._use

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
