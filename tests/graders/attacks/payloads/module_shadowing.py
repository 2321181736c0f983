# why: brings modules with the names of those that the judge and the course import
# score: 4
# shows: not mine: True

# %% payload
import importlib
import json

print("not mine:", all("learner" not in str(importlib.import_module(name).__file__) for name in ("json", "numpy", "IPython")))

# %% hand-in
def hand_in(folder, notebook):
    write(folder, notebook)
    for name in ("numpy", "json", "graders", "checks", "harness", "sitecustomize", "usercustomize", "base64", "asyncio"):
        (folder / f"{name}.py").write_text("print('BREACH')\n")
    (folder / "IPython").mkdir()
    (folder / "IPython" / "__init__.py").write_text("print('BREACH')\n")
