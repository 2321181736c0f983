# why: writes to the folder of compiled programs that all learners read
# score: 4
# shows: new file stopped: OSError
# shows: old file stopped: OSError
# shows: remove stopped: OSError

# %% payload
import os

folder = "@cache@"
entries = [entry.path for entry in os.scandir(folder)]
attempt("new file", lambda: open(f"{folder}/@mark@-cache", "wb"))
attempt("old file", lambda: open(entries[0], "r+b"))
attempt("remove", lambda: os.unlink(entries[0]))
os.environ["JAX_COMPILATION_CACHE_DIR"] = folder
jax.config.update("jax_compilation_cache_dir", folder)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.jit(lambda x: x * 3.25 + 1)(np.ones(7, np.float32))
