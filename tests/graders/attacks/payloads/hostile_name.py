# why: a name that is markup, a command for the terminal and a formula
# score: 4

# %% hand-in
def hand_in(folder, notebook):
    write(folder.with_name(folder.name + "<img src=x onerror=alert(1)>\x1b]0;x\x07\u202e$(id)"), notebook)
