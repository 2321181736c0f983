"""Measurements that can be believed: every result waited for and checked, contestants timed in turns, one run.

``python -m tpu_kernels bench matmul``, ``bench training`` and ``bench all-reduce`` from a terminal;
:mod:`~tpu_kernels.bench.timing`, :mod:`~tpu_kernels.bench.roof` and :mod:`~tpu_kernels.bench.correctness` for a
benchmark of one's own.
"""
