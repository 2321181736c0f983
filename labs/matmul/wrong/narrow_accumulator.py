# why: sums in the inputs' own format and converts at the end: bf16 rounds, int8 overflows
# score: 8
# fails: blocked.accumulation, jax.accumulation

# %% blocked
def blocked_matmul(a, b, block):
    rows, inner = a.shape
    columns = b.shape[1]
    product = np.zeros((rows, columns), dtype=a.dtype)
    for i in range(0, rows, block):
        for j in range(0, columns, block):
            for p in range(0, inner, block):
                product[i : i + block, j : j + block] += a[i : i + block, p : p + block] @ b[p : p + block, j : j + block]
    return product.astype(np.int32 if np.issubdtype(a.dtype, np.integer) else np.float32)

# %% jax
@jax.jit
def jax_matmul(a, b):
    return jnp.matmul(a, b).astype(jnp.float32)
