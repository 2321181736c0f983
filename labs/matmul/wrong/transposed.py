# why: the right numbers in the wrong places
# score: 5.5
# fails: naive.values, naive.exact, naive.edges, naive.inputs, jax.values, jax.accumulation
# hints: naive.transposed-hint, jax.transposed-hint

# %% naive
def naive_matmul(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for row in a] for column in zip(*b)]

# %% jax
@jax.jit
def jax_matmul(a, b):
    return jnp.matmul(a, b, preferred_element_type=jnp.float32).T
