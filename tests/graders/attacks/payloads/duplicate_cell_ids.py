# why: gives every cell the same id
# score: 4

# %% hand-in
def hand_in(folder, notebook):
    for cell in notebook["cells"]:
        cell["id"] = "same"
    write(folder, notebook)
