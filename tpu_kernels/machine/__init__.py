"""What this machine and this process say of themselves, read without starting jax.

:mod:`tpu_kernels.backend` and :mod:`tpu_kernels.doctor` judge by it.
"""
