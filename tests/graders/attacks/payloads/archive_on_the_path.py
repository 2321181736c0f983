# why: imports code from an archive with paths that lead outside
# score: 4
# shows: outside: False

# %% payload
import os
import sys
import zipfile

sys.path.insert(0, "code.zip")
zipfile.ZipFile("code.zip").extractall("here")
print("outside:", any(name.startswith("@mark@") for place in ("..", "/", "/tmp") for name in os.listdir(place)))

# %% hand-in
import zipfile


def hand_in(folder, notebook):
    write(folder, notebook)
    with zipfile.ZipFile(folder / "code.zip", "w") as archive:
        archive.writestr("../../../../../../@mark@.py", "print('BREACH')")
        archive.writestr("sitecustomize.py", "print('BREACH')")
