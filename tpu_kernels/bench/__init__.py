"""Measurements that can be believed: every result waited for and checked, contestants timed in turns, one run.

``python -m tpu_kernels bench matmul``, ``bench training``, ``bench all-reduce`` and ``bench tcp`` from a terminal;
:mod:`~tpu_kernels.bench.timing`, :mod:`~tpu_kernels.bench.roof` and :mod:`~tpu_kernels.bench.correctness` for a
benchmark of one's own. ``bench xray`` and ``bench chooser`` count cycles in the TPU compiler's simulator, where nothing
runs.
"""
