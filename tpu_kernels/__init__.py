"""Models, kernels and measurements of AI accelerators.

Importing this package, or :mod:`tpu_kernels.models`, imports nothing outside the standard library.
"""
