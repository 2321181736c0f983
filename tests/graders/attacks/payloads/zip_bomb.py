# why: unpacks an archive that is a hundred times its size
# score: 4
# shows: bomb stopped: OSError

# %% payload
import zipfile

attempt("bomb", lambda: zipfile.ZipFile("bomb.zip").extractall("."))

# %% hand-in
import zipfile


def hand_in(folder, notebook):
    write(folder, notebook)
    with zipfile.ZipFile(folder / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as bomb:
        for k in range(16):
            bomb.writestr(f"zeros{k}", bytes(4_000_000))
