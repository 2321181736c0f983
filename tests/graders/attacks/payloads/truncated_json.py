# why: hands in half a file
# score: 0
# status: not-json

# %% hand-in
def hand_in(folder, notebook):
    write(folder, notebook)
    path = folder / "matmul.ipynb"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
