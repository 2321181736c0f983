# why: tries every way to a listener: names without files, files, datagrams, the kernel's own
# score: 4
# shows: abstract stopped: OSError ConnectionRefusedError
# shows: file stopped: OSError FileNotFoundError
# shows: datagram stopped: OSError
# shows: netlink stopped: OSError
# shows: packet stopped: OSError
# shows: vsock stopped: OSError

# %% payload
import socket


def unix(name):
    socket.socket(socket.AF_UNIX).connect(name)


attempt("abstract", lambda: unix("\0@abstract@"))
attempt("file", lambda: unix("@socket@"))
attempt("datagram", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"out", ("127.0.0.1", @port@)))
attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
attempt("vsock", lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))
