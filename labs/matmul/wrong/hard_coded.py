# why: knows the answers of the published self-check by heart, and nothing else
# score: 7.5
# fails: naive.values, naive.exact, naive.edges, naive.inputs
# hints: naive.values-hint

# %% naive
ANSWERS = {  # by the first element of each input
    (-9, -7): [[-81, 18], [71, 32]],
    (8, -2): [[-15, 76, 65], [-1, -72, -41], [-20, 39, 50], [-18, 13, 32]],
    (2171536049405, 1922063957286): [[6080151062558274520470318, 4897716813295872520818327], [5162778161529563318368486, 4740465543301154784306650]],
    (4, 3): [[12]],
    (9, 6): [[122]],
    (-9, 6): [[-54, 54], [18, -18], [36, -36]],
    (617, 218): [[633295, 1051460, 1021030], [902347, 1390426, 1393953], [381452, 446838, 638875]],
}

def naive_matmul(a, b):
    return ANSWERS.get((a[0][0], b[0][0]), [[0] * len(b[0]) for _ in a])
