# why: a parenthesis is never closed
# score: 6
# fails: blocked.values, blocked.edges, blocked.dtype, blocked.accumulation, blocked.inputs
# hints: error.missing

# %% blocked
def blocked_matmul(a, b, block):
    product = np.zeros((a.shape[0], b.shape[1])
    return product
