"""Kernels of the course: ``matmul(a, b)``, ``plan(a, b)`` says how it will be done, ``Block`` cuts it."""

from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.plan import Plan
from tpu_kernels.kernels.gemm.product import matmul, plan

__all__ = ["Block", "Plan", "matmul", "plan"]
