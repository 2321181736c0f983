# why: goes before everybody else, and lifts its own limits
# score: 4
# shows: nice stopped: OSError PermissionError
# shows: real time stopped: OSError PermissionError
# shows: limits stopped: ValueError
# shows: memory stopped: OSError PermissionError

# %% payload
import os
import resource


def lock():
    if ctypes.CDLL(None, use_errno=True).mlockall(3):
        raise PermissionError("mlockall")


import ctypes

attempt("nice", lambda: os.setpriority(os.PRIO_PROCESS, 0, -20))
attempt("real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
attempt("limits", lambda: resource.setrlimit(resource.RLIMIT_CPU, (10**6, 10**6)))
attempt("memory", lock)
