# why: reads answers, checks, salt, another's work and the machine's passwords
# score: 4
# shows: checks stopped: OSError FileNotFoundError
# shows: solution stopped: OSError FileNotFoundError
# shows: salt stopped: OSError FileNotFoundError
# shows: neighbour stopped: OSError FileNotFoundError
# shows: secret stopped: OSError FileNotFoundError
# shows: passwords stopped: OSError FileNotFoundError
# shows: platform stopped: ModuleNotFoundError
# shows: anywhere: []

# %% payload
import importlib
import os

files = {
    "checks": "@course@/labs/matmul/checks.py",
    "solution": "@course@/labs/matmul/cells.py",
    "salt": "@out@/gradebook/salt.txt",
    "neighbour": "@neighbour@",
    "secret": "@secret@",
    "passwords": "/etc/shadow",
}
for what, path in files.items():
    attempt(what, lambda: open(path).read())
attempt("platform", lambda: importlib.import_module("sistolica"))
names = {"checks.py", "salt.txt", "gradebook.db", "grades.csv", "nbgrader_config.py"}
skipped = ("/proc", "/usr", "/lib", "/dev")
found = []
for folder, folders, inside in os.walk("/"):
    folders[:] = [name for name in folders if not os.path.join(folder, name).startswith(skipped) and name != "site-packages"]
    found += [f"{folder}/{name}" for name in inside if name in names and "lib/python" not in folder]
print("anywhere:", found)
