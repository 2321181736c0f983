# why: connects to a port of the grader's machine, and to the outside
# score: 4
# shows: this machine stopped: OSError
# shows: outside stopped: OSError

# %% payload
import socket

attempt("this machine", lambda: socket.create_connection(("127.0.0.1", @port@), 3).send(b"out"))
attempt("outside", lambda: socket.create_connection(("192.0.2.1", 80), 3))
