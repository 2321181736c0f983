# why: brings links to what lies beside the submissions
# score: 4
# shows: beside it: []
# shows: link stopped: OSError FileNotFoundError

# %% payload
import os

print("beside it:", [name for name in os.listdir(".") if not name.startswith(".")])
attempt("link", lambda: open("data.txt").read())

# %% hand-in
from pathlib import Path


def hand_in(folder, notebook):
    write(folder, notebook)
    (folder / "data.txt").symlink_to("@secret@")
    (folder / "data").symlink_to(Path("@secret@").parent, target_is_directory=True)
