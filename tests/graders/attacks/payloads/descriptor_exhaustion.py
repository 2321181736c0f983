# why: keeps every file descriptor that it can have
# score: 4
# shows: files stopped: OSError

# %% payload
kept = []


def files():
    while True:
        kept.append(open("/dev/null"))


attempt("files", files)
