"""Code that enters the learner's process: the codec, the harness and the surroundings, as text, under their own names.

The course's package is not importable there afterwards: what stands under ``graders`` is this and nothing else. The
set-up cell's ``selfcheck`` becomes a function that does nothing, since the judge does the checking.
"""

import base64
from functools import cache
from pathlib import Path

from graders.phrases import phrase

_MODULES = ("plain", "harness", "surroundings")

_LOADER = """\
def _load(sources, skipped):
    import sys, types
    from IPython import get_ipython
    package = sys.modules["graders"] = types.ModuleType("graders")
    modules = {}
    for name, source in sources.items():
        module = modules[name] = types.ModuleType("graders." + name)
        sys.modules[module.__name__] = module
        setattr(package, name, module)
        exec(compile(source, module.__name__, "exec"), module.__dict__)
    modules["surroundings"].stand_in(modules)
    modules["harness"].active = modules["harness"].Harness(get_ipython().user_ns)
    modules["surroundings"].arrange(get_ipython(), skipped)
"""


@cache
def set_up_code(lang: str) -> str:
    """Runs first in a learner's process; leaves no name behind."""
    folder = Path(__file__).parent
    sources = {name: (folder / f"{name}.py").read_text(encoding="utf-8") for name in _MODULES}
    skipped = phrase("output.skipped", lang=lang, command="{command}")
    return f"{_LOADER}\n_load({sources!r}, {skipped!r})\ndel _load\n"


def checkpoint_code(key: str) -> str:
    """Remember the learner's names for the check ``key``."""
    return f"__import__('sys').modules['graders.harness'].active.checkpoint({key!r})"


def ask_expression(request: str) -> str:
    """An expression whose value is the harness's reply, in base64: one line of text whatever it holds."""
    encoded = base64.b64encode(request.encode("ascii")).decode("ascii")
    return f"__import__('sys').modules['graders.harness'].active.call_encoded({encoded!r})"
