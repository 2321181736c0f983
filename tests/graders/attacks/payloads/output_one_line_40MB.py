# why: prints one line of 40 MB
# score: 4
# shows: escribió demasiado

# %% payload
print("x" * 40_000_000)
