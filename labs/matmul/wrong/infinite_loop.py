# why: the loop's counter never grows
# score: 7.5
# fails: naive.values, naive.exact, naive.edges, naive.inputs
# hints: error.timeout

# %% naive
def naive_matmul(a, b):
    product = []
    i = 0
    while i < len(a):
        row = [sum(x * y for x, y in zip(a[i], column)) for column in zip(*b)]
    return product
