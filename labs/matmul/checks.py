"""What the matmul lab asks. Nothing here knows where the learner's code runs."""

import ml_dtypes
import numpy as np

from graders.tolerance import equal, product_bound, within

LOW_PRECISION = ("float16", ml_dtypes.bfloat16)


def naive(learner, rng, report):
    def product(m, k, n, low=-9, high=9, repeat=1):
        a = rng.integers(low, high, (m, k), endpoint=True).tolist()
        b = rng.integers(low, high, (k, n), endpoint=True).tolist()
        want = [[sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*b, strict=True)] for row in a]
        return learner.call("naive_matmul", a, b, returns=list, repeat=repeat), want

    with report.criterion("values") as values:
        for shape in ((2, 3, 2), (4, 2, 3)):
            got, want = product(*shape)
            transposed = [list(column) for column in zip(*want, strict=True)]
            values.require(equal(got, want), hint="transposed-hint" if equal(got, transposed) else None)
    with report.criterion("exact", after="values") as large:
        # Products above 2**53: a float cannot hold them.
        got, want = product(2, 2, 2, low=2**40, high=2**41)
        large.require(equal(got, want))
    with report.criterion("edges", after="values") as edges:
        for shape in ((1, 1, 1), (1, 5, 1), (3, 1, 2)):
            got, want = product(*shape)
            edges.require(equal(got, want))
    with report.criterion("inputs", after="values") as inputs:
        got, want = product(3, 3, 3, low=1, high=999, repeat=2)
        inputs.require(equal(got, want))


def blocked(learner, rng, report):
    def floats(m, k, n, dtype="float32"):
        # Positive: nothing cancels, so a rounded partial sum cannot hide.
        return rng.uniform(0.5, 1.5, (m, k)).astype(dtype), rng.uniform(0.5, 1.5, (k, n)).astype(dtype)

    def integers(m, k, n):
        return rng.integers(-128, 128, (m, k), dtype=np.int8), rng.integers(-128, 128, (k, n), dtype=np.int8)

    def product(a, b, block, repeat=1):
        return learner.call("blocked_matmul", a, b, block, returns=np.ndarray, repeat=repeat)

    with report.criterion("values") as values:
        for shape, block in (((8, 16, 12), 4), ((16, 8, 24), 8)):
            a, b = floats(*shape)
            got = product(a, b, block)
            values.require(close(got, a, b), hint="transposed-hint" if close(got, a, b, transposed=True) else None)
    with report.criterion("edges", after="values") as edges:
        for shape, block in (((5, 7, 3), 4), ((1, 9, 2), 8), ((6, 4, 11), 4), ((2, 3, 2), 16)):
            a, b = floats(*shape)
            edges.require(close(product(a, b, block), a, b))
    with report.criterion("dtype", after="values") as dtype:
        given = [(floats(8, 8, 8, name), "float32") for name in ("float32", *LOW_PRECISION)]
        for (a, b), expected in [*given, (integers(8, 8, 8), "int32")]:
            got = product(a, b, 4)
            dtype.require((got.dtype.name, got.shape) == (expected, (8, 8)))
    with report.criterion("accumulation", after="values") as accumulation:
        for narrow in LOW_PRECISION:
            a, b = floats(4, 512, 4, narrow)
            accumulation.require(close(product(a, b, 4), a, b))
        a, b = integers(4, 512, 4)
        accumulation.require(equal(product(a, b, 4).astype(np.int64), a.astype(np.int64) @ b), hint="overflow-hint")
    with report.criterion("inputs", after="values") as inputs:
        a, b = floats(8, 8, 8)
        inputs.require(close(product(a, b, 4, repeat=2), a, b))


def jax(learner, rng, report):
    def product(m, k, n, dtype="float32"):
        a, b = rng.uniform(0.5, 1.5, (m, k)).astype(dtype), rng.uniform(0.5, 1.5, (k, n)).astype(dtype)
        return learner.call("jax_matmul", a, b, returns=np.ndarray), a, b

    with report.criterion("values") as values:
        for shape in ((9, 17, 5), (6, 4, 6)):
            got, a, b = product(*shape)
            values.require(not close(got, a, b, learner.backend, transposed=True), "transposed-hint")
            values.require(close(got, a, b, learner.backend))
    with report.criterion("dtype", after="values") as dtype:
        for given in ("float32", *LOW_PRECISION):
            got, _, _ = product(6, 4, 6, given)
            dtype.require((got.dtype.name, got.shape) == ("float32", (6, 6)))
    with report.criterion("accumulation", after="values") as accumulation:
        for narrow in LOW_PRECISION:
            accumulation.require(close(*product(4, 512, 4, narrow), learner.backend))


def flops(learner, rng, report):
    def count(low, high):
        m, k, n = (int(size) for size in rng.integers(low, high, 3))
        return learner.call("flops", m, k, n, returns=int), m * k * n

    with report.criterion("values") as values:
        for _ in range(3):
            got, multiplications = count(2, 100)
            values.require(got == 2 * multiplications, hint="half-hint" if got == multiplications else None)
    with report.criterion("exact", after="values") as large:
        got, multiplications = count(2**21, 2**22)  # more than 2**63: neither int64 nor float holds it
        large.require(got == 2 * multiplications)


def exact(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


def close(got, a, b, backend="cpu", transposed=False):
    want, bound = exact(a, b), product_bound(a, b, backend)
    return within(got, want.T, bound.T) if transposed else within(got, want, bound)
