# why: reads and writes the memory of other processes, and takes their open files
# score: 4
# shows: attach -1 1
# shows: read -1 1
# shows: take -1 1

# %% payload
import ctypes
import platform

libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(64)


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def tell(what, result):
    print(what, result, ctypes.get_errno())


vector = Vector(ctypes.addressof(buffer), 64)
number = 310 if platform.machine() == "x86_64" else 270
tell("attach", libc.ptrace(16, 1, 0, 0))
tell("read", libc.syscall(number, 1, ctypes.byref(vector), 1, ctypes.byref(vector), 1, 0))
tell("take", libc.syscall(438, 3, 0, 0))
