# why: the starter code was handed in as it came, except for the last exercise
# score: 1
# fails: naive.values, naive.exact, naive.edges, naive.inputs, blocked.values, blocked.edges, blocked.dtype, blocked.accumulation, blocked.inputs, jax.values, jax.dtype, jax.accumulation
# hints: error.not-written

# %% naive
def naive_matmul(a, b):
    raise NotImplementedError()

# %% blocked
def blocked_matmul(a, b, block):
    raise NotImplementedError()

# %% jax
@jax.jit
def jax_matmul(a, b):
    raise NotImplementedError()
