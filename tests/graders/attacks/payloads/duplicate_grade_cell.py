# why: adds an empty copy of a check after the real one
# score: 4
# shows: está repetida

# %% hand-in
def hand_in(folder, notebook):
    check = next(cell for cell in notebook["cells"] if cell["id"] == "naive-check")
    notebook["cells"].append({**check, "id": "copy", "source": "pass"})
    write(folder, notebook)
