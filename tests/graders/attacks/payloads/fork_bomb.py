# why: starts processes until no more can be
# score: 4
# shows: forks stopped: OSError BlockingIOError

# %% payload
import os
import time


def forks():
    for _ in range(1000):
        if os.fork() == 0:
            while True:
                time.sleep(60)


attempt("forks", forks)
