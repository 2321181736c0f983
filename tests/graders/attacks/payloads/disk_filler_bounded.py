# why: writes 300 MB, in one file and in many
# score: 4
# shows: one file stopped: OSError
# shows: many stopped: OSError

# %% payload
attempt("one file", lambda: open("fill", "wb").write(bytes(300_000_000)))
attempt("many", lambda: [open(f"/tmp/fill{k}", "wb").write(bytes(10_000_000)) for k in range(30)] and 0)
