# why: kills whoever started it, and the grader by its number
# score: 4
# shows: grader stopped: OSError ProcessLookupError

# %% payload
import os
import signal

os.kill(os.getppid(), signal.SIGKILL)
attempt("grader", lambda: os.kill(@pid@, signal.SIGKILL))
