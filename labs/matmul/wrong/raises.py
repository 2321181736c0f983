# why: an exception on every call
# score: 6
# fails: blocked.values, blocked.edges, blocked.dtype, blocked.accumulation, blocked.inputs
# hints: error.raised

# %% blocked
def blocked_matmul(a, b, block):
    tiles = [a[i : i + block] for i in range(0, len(a), block)]
    return tiles[len(tiles)] @ b
