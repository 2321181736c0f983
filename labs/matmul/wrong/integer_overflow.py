# why: int8 tiles are multiplied in int8: the sum wraps around before it is widened
# score: 9
# fails: blocked.accumulation
# hints: blocked.overflow-hint

# %% blocked
def blocked_matmul(a, b, block):
    rows, inner = a.shape
    columns = b.shape[1]
    integers = np.issubdtype(a.dtype, np.integer)
    product = np.zeros((rows, columns), dtype=np.int32 if integers else np.float32)
    for i in range(0, rows, block):
        for j in range(0, columns, block):
            for p in range(0, inner, block):
                a_tile, b_tile = a[i : i + block, p : p + block], b[p : p + block, j : j + block]
                if not integers:
                    a_tile, b_tile = a_tile.astype(np.float32), b_tile.astype(np.float32)
                product[i : i + block, j : j + block] += a_tile @ b_tile
    return product
