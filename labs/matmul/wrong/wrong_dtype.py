# why: numpy's default float64 in one, the inputs' own type in the other
# score: 8
# fails: blocked.dtype, jax.dtype, jax.accumulation
# hints: blocked.dtype-hint, jax.dtype-hint, jax.accumulation-hint

# %% blocked
def blocked_matmul(a, b, block):
    rows, inner = a.shape
    columns = b.shape[1]
    product = np.zeros((rows, columns))
    for i in range(0, rows, block):
        for j in range(0, columns, block):
            for p in range(0, inner, block):
                product[i : i + block, j : j + block] += a[i : i + block, p : p + block].astype(np.float64) @ b[
                    p : p + block, j : j + block
                ].astype(np.float64)
    return product

# %% jax
@jax.jit
def jax_matmul(a, b):
    return a @ b
