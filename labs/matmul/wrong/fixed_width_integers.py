# why: 64-bit integers overflow in one, floats lose digits in the other
# score: 9
# fails: naive.exact, flops.exact
# hints: naive.exact-hint, flops.exact-hint

# %% naive
def naive_matmul(a, b):
    return [[sum((float(x) * y for x, y in zip(row, column)), 0.0) for column in zip(*b)] for row in a]

# %% flops
def flops(m, k, n):
    return int(2 * np.prod(np.array([m, k, n], dtype=np.int64)))
