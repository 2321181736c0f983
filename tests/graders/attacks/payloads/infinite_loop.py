# why: never comes back
# score: 4
# shows: superó el tiempo permitido

# %% naive
def naive_matmul(a, b):
    while True:
        pass
