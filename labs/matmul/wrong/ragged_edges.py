# why: whole tiles only: what is left over at the borders stays zero
# score: 9
# fails: blocked.edges
# hints: blocked.edges-hint

# %% blocked
def blocked_matmul(a, b, block):
    rows, inner = a.shape
    columns = b.shape[1]
    accumulator = np.int32 if np.issubdtype(a.dtype, np.integer) else np.float32
    product = np.zeros((rows, columns), dtype=accumulator)
    for i in range(rows // block):
        for j in range(columns // block):
            for p in range(inner // block):
                r, c, s = (slice(n * block, (n + 1) * block) for n in (i, j, p))
                product[r, c] += a[r, s].astype(accumulator) @ b[s, c].astype(accumulator)
    return product
