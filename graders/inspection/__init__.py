"""What reads a learner's exported program: it runs in a process of its own, with none of the learner's code.

These modules are sent there as text, like :mod:`graders.harness`. They may import numpy, jax and ``tpu_kernels``, and
of ``graders`` only each other. They decide nothing and know no expected value.
"""
