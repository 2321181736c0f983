# why: right shape, wrong values: adds where it should multiply
# score: 7.5
# fails: naive.values, naive.exact, naive.edges, naive.inputs
# hints: naive.values-hint

# %% naive
def naive_matmul(a, b):
    return [[sum(x + y for x, y in zip(row, column)) for column in zip(*b)] for row in a]
