# why: answers with values that have no end, no bottom or too many digits
# score: 0

# %% naive
def naive_matmul(a, b):
    knot = []
    knot.append(knot)
    return knot

# %% blocked
def blocked_matmul(a, b, block):
    return np.broadcast_to(np.float32(0), (100_000, 100_000))

# %% jax
def jax_matmul(a, b):
    return [0] * 10_000_000

# %% flops
def flops(m, k, n):
    return 1 << 10_000_000
