# why: promises four gigabytes and sends them never
# score: 4
# shows: El kernel se cerró al llamar a naive_matmul

# %% naive
def naive_matmul(a, b):
    get_ipython().outlet.send(b"\xff\xff\xff\xff\x09" + b"x" * 100)
