# why: floats are summed in the inputs' own format and converted at the end, when the bits are gone
# score: 8
# fails: blocked.accumulation, jax.accumulation
# hints: blocked.accumulation-hint, jax.accumulation-hint

# %% blocked
def blocked_matmul(a, b, block):
    rows, inner = a.shape
    columns = b.shape[1]
    integers = np.issubdtype(a.dtype, np.integer)
    product = np.zeros((rows, columns), dtype=np.int32 if integers else a.dtype)
    for i in range(0, rows, block):
        for j in range(0, columns, block):
            for p in range(0, inner, block):
                a_tile = a[i : i + block, p : p + block].astype(product.dtype)
                product[i : i + block, j : j + block] += a_tile @ b[p : p + block, j : j + block].astype(product.dtype)
    return product if integers else product.astype(np.float32)

# %% jax
@jax.jit
def jax_matmul(a, b):
    return jnp.matmul(a, b).astype(jnp.float32)
