# why: keeps as many descriptors on their way as its user may, so that nobody of that user can send any
# score: 4
# shows: more stopped: OSError

# %% payload
import os
import socket

kept, files = [], [os.open("/dev/null", os.O_RDONLY) for _ in range(100)]


def more():
    while True:
        kept.append(socket.socketpair())
        socket.send_fds(kept[-1][0], [b"x"], files)


attempt("more", more)
