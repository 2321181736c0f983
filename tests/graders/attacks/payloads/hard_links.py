# why: links what it may read under a name of its own, to change it there
# score: 4
# shows: library stopped: OSError
# shows: users stopped: OSError
# shows: program stopped: OSError

# %% payload
import os

attempt("library", lambda: os.link(np.__file__, "mine.py"))
attempt("users", lambda: os.link("/etc/passwd", "users"))
attempt("program", lambda: os.link(next(os.scandir("@cache@")).path, "program"))
