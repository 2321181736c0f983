# why: locks every file that others need, and never lets go
# score: 4
# shows: locked

# %% payload
import fcntl
import os

import tpu_kernels

kept = []
for path in [tpu_kernels.__file__, np.__file__, "@cache@", *(entry.path for entry in os.scandir("@cache@"))]:
    kept.append(os.open(path, os.O_RDONLY))
    fcntl.flock(kept[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
print("locked", len(kept) > 3)
