# why: transposes B in place in one, clears what it has used in the other
# score: 9
# fails: naive.inputs, blocked.inputs
# hints: naive.inputs-hint, blocked.inputs-hint

# %% naive
def naive_matmul(a, b):
    b[:] = [list(column) for column in zip(*b)]
    return [[sum(x * y for x, y in zip(row, column)) for column in b] for row in a]

# %% blocked
def blocked_matmul(a, b, block):
    accumulator = np.int32 if np.issubdtype(a.dtype, np.integer) else np.float32
    product = np.zeros((a.shape[0], b.shape[1]), dtype=accumulator)
    for p in range(0, a.shape[1], block):
        a_tile = a[:, p : p + block]
        product += a_tile.astype(accumulator) @ b[p : p + block].astype(accumulator)
        a_tile[:] = 0
    return product
