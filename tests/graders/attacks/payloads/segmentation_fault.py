# why: reads from address zero when it is asked
# score: 4
# shows: El kernel se cerró al llamar a naive_matmul

# %% naive
import ctypes


def naive_matmul(a, b):
    ctypes.string_at(0)
