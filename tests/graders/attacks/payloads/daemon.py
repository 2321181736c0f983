# why: leaves a process that belongs to nobody, deaf to signals, holding all that is open
# score: 4
# shows: left

# %% payload
import os
import signal
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1, 32):
            try:
                signal.signal(number, signal.SIG_IGN)
            except OSError:
                pass
        os.execv("/bin/sh", ["/bin/sh", "-c", "trap '' HUP INT TERM; sleep 600; exit", "@mark@"])
    os._exit(0)
time.sleep(0.1)
print("left")
