# why: cuts, stretches and seals the files that its prints go to
# score: 4
# shows: stretch stopped: OSError
# shows: seal stopped: OSError PermissionError
# shows: still here

# %% payload
import fcntl
import os

attempt("stretch", lambda: os.ftruncate(1, 1 << 45))
attempt("seal", lambda: fcntl.fcntl(1, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK))
os.ftruncate(2, 1 << 20)
os.ftruncate(2, 0)
print("still here")
fcntl.fcntl(1, fcntl.F_SETFL, 0)
os.lseek(1, 0, os.SEEK_SET)
