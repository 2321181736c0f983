"""Training on one device or many, in JAX: what a step is, how its sums cross devices, and the models it trains.

Import the modules: ``from tpu_kernels.training import data_parallel, transformer``. This package itself imports
nothing, so that its PyTorch side works where JAX is not installed.
"""
