# why: one call of a C function that takes for ever and hears no interrupt
# score: 4
# shows: El kernel se cerró al llamar a naive_matmul

# %% naive
import itertools


def naive_matmul(a, b):
    return sum(itertools.repeat(0))
