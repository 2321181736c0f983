# why: brings a file whose name is not UTF-8
# score: 4
# shows: read: hola

# %% payload
import os

print("read:", open(os.fsdecode(b"caf\xe9.txt")).read())

# %% hand-in
import os


def hand_in(folder, notebook):
    write(folder, notebook)
    (folder / os.fsdecode(b"caf\xe9.txt")).write_text("hola")
