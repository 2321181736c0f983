# why: starts threads until no more can be, and keeps them
# score: 4
# shows: threads stopped: RuntimeError

# %% payload
import threading


def threads():
    for _ in range(1000):
        threading.Thread(target=threading.Event().wait, daemon=True).start()


attempt("threads", threads)
