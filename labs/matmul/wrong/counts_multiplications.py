# why: counts the multiplications and forgets the additions
# score: 9
# fails: flops.values, flops.exact
# hints: flops.half-hint

# %% flops
def flops(m, k, n):
    return m * k * n
