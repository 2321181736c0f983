# why: never comes back, and does not listen when it is interrupted
# score: 4
# shows: El kernel se cerró al llamar a naive_matmul

# %% naive
import signal
import time


def naive_matmul(a, b):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        time.sleep(60)
