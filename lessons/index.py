"""The picture on the front page: the heart of a TPU, caught in the act."""

# %% heart
from tpu_kernels.models import systolic

array = systolic.simulate(
    weights=[[2, 7, 1], [8, 2, 8], [1, 8, 2]],
    inputs=[[3, 1, 4], [1, 5, 9], [2, 6, 5], [3, 5, 8]],
)
array.filmstrip(cycles=(1, 4))
