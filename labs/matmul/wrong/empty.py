# why: every answer cell was emptied
# score: 0
# fails: naive.values, naive.exact, naive.edges, naive.inputs, blocked.values, blocked.edges, blocked.dtype, blocked.accumulation, blocked.inputs, jax.values, jax.dtype, jax.accumulation, flops.values, flops.exact
# hints: error.missing

# %% naive
# ...

# %% blocked
# ...

# %% jax
# ...

# %% flops
# ...
