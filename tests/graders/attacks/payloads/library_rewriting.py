# why: changes the course's own library, and what else lies there to read
# score: 4
# shows: library stopped: OSError
# shows: rights stopped: OSError
# shows: time stopped: OSError
# shows: folder stopped: OSError

# %% payload
import os

import tpu_kernels

library = tpu_kernels.__file__
attempt("library", lambda: open(library, "a").write("raise SystemExit"))
attempt("rights", lambda: os.chmod(library, 0o777))
attempt("time", lambda: os.utime(library))
attempt("folder", lambda: os.mkdir(os.path.dirname(library) + "/@mark@"))
