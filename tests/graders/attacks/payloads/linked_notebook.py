# why: the notebook is a link to another learner's
# score: 0
# status: no-notebook

# %% hand-in
def hand_in(folder, notebook):
    folder.mkdir()
    (folder / "matmul.ipynb").symlink_to("@neighbour@")
