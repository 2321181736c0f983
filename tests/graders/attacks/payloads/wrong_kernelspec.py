# why: asks for a kernel of its own
# score: 4

# %% hand-in
def hand_in(folder, notebook):
    notebook["metadata"]["kernelspec"] = {"name": "evil", "display_name": "e", "argv": ["/bin/sh"]}
    notebook["metadata"]["language_info"] = {"name": "bash"}
    write(folder, notebook)
