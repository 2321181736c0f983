"""Arithmetic and bytes of the layers that models are made of, each as a :class:`~workload.Workload`.

A multiply and an add count as two FLOP. Bytes are those that must cross the level when every operand is read once and
every result written once, unless a parameter says that more is moved.
"""

from math import ceil

from tpu_kernels.models.matrix import whole
from tpu_kernels.models.roofline.amounts import itemsize, known_format, one_of
from tpu_kernels.models.roofline.training_states import States
from tpu_kernels.models.roofline.workload import HBM, VECTOR, Workload
from tpu_kernels.phrases import phrase


def matmul(
    m: int,
    k: int,
    n: int,
    *,
    dtype: str = "bf16",
    weights: str | None = None,
    output: str | None = None,
    compute: str | None = None,
    count: int = 1,
    tile: tuple[int, int] | None = None,
    level: str = HBM,
) -> Workload:
    """``count`` products of ``m x k`` by ``k x n``: ``2 m k n`` FLOP each; bytes of both operands and the result.

    ``weights``, ``output``, ``compute``: formats of the ``k x n`` operand, of the result and of the multiplication,
    where they differ from ``dtype``. ``tile = (block_m, block_n)``: the result is made block by block, so the first
    operand is read ``ceil(n / block_n)`` times and the second ``ceil(m / block_m)`` times; without it, once each.
    ``level`` is where the operands lie. Source: scaling book, chapter 1, "Matrix multiplication" and its note on tiles.
    """
    m, k, n, count = whole("m", m), whole("k", k), whole("n", n), whole("count", count)
    block_m, block_n = (m, n) if tile is None else (whole("block_m", tile[0]), whole("block_n", tile[1]))
    read = m * k * itemsize(dtype) * ceil(n / block_n) + k * n * itemsize(weights or dtype) * ceil(m / block_m)
    written = m * n * itemsize(output or dtype)
    name = phrase("workload.matmul", m=m, k=k, n=n)
    if count > 1:
        name = phrase("workload.repeated", count=count, name=name)
    work = {known_format(compute or dtype): float(2 * m * k * n * count)}
    return Workload(name, work, {level: count * (read + written)})


def convolution(
    batch: int,
    height: int,
    width: int,
    channels: int,
    filters: int,
    *,
    kernel: tuple[int, int] = (3, 3),
    stride: int = 1,
    padding: str = "same",
    groups: int = 1,
    dtype: str = "bf16",
    im2col: bool = False,
) -> Workload:
    """A 2D convolution of ``batch x height x width x channels`` with ``filters`` kernels.

    ``2 * outputs * kernel_h * kernel_w * channels / groups`` FLOP, taps on the padding included, as hardware does them.
    ``padding``: ``"same"`` (outputs ``ceil(size / stride)``) or ``"valid"``. ``im2col``: the matrix of patches is
    written to HBM and read back, instead of being formed on the chip. Raises ``ValueError`` when ``groups`` does not
    divide the channels and the filters, or the kernel does not fit.
    """
    batch, channels, filters, groups = (
        whole(name, value)
        for name, value in (("batch", batch), ("channels", channels), ("filters", filters), ("groups", groups))
    )
    for name, value in (("channels", channels), ("filters", filters)):
        if value % groups:
            raise ValueError(phrase("workload.not_divisible", name=name, got=value, by="groups", divisor=groups))
    one_of("padding", padding, ("same", "valid"))
    pixels = batch
    for name, size, taps in (("height", height, kernel[0]), ("width", width, kernel[1])):
        pixels *= _outputs(name, whole(name, size), whole("kernel", taps), whole("stride", stride), padding)
    taps = kernel[0] * kernel[1] * channels // groups
    elements = batch * height * width * channels + taps * filters + pixels * filters
    if im2col:
        elements += 2 * pixels * kernel[0] * kernel[1] * channels
    name = phrase("workload.convolution", kernel=f"{kernel[0]}×{kernel[1]}", channels=channels, filters=filters)
    return Workload(name, {dtype: float(2 * pixels * filters * taps)}, {HBM: elements * itemsize(dtype)})


def _outputs(name: str, size: int, taps: int, stride: int, padding: str) -> int:
    if padding == "same":
        return ceil(size / stride)
    if taps > size:
        raise ValueError(phrase("workload.kernel_too_large", name=name, got=taps, most=size))
    return (size - taps) // stride + 1


def embedding_lookup(tokens: int, d_model: int, *, dtype: str = "bf16", index: str = "int32") -> Workload:
    """Rows of a table gathered by index: no arithmetic; the indices and ``tokens`` rows of ``d_model`` read, the rows
    written."""
    tokens, d_model = whole("tokens", tokens), whole("d_model", d_model)
    moved = tokens * (itemsize(index) + 2 * d_model * itemsize(dtype))
    return Workload(phrase("workload.embedding", tokens=tokens, width=d_model), {}, {HBM: moved})


def layer_norm(rows: int, width: int, *, kind: str = "layer", dtype: str = "bf16", reads: int = 1) -> Workload:
    """Normalisation of ``rows`` vectors of ``width``: on the vector unit, each read ``reads`` times and written once.

    ``kind``: ``"layer"`` (mean and variance, gain and bias: ``7 width + 2`` FLOP a row) or ``"rms"`` (root mean square,
    gain: ``4 width + 2``), every elementary operation counted as one, the square root included. ``reads`` is 1 when a
    row stays on the chip between the statistics and their use, 2 or 3 when each pass fetches it again.
    """
    rows, width, reads = whole("rows", rows), whole("width", width), whole("reads", reads)
    layer = one_of("kind", kind, ("layer", "rms")) == "layer"
    flops = rows * ((7 if layer else 4) * width + 2)
    moved = ((reads + 1) * rows + (2 if layer else 1)) * width * itemsize(dtype)
    return Workload(phrase("workload.norm", rows=rows, width=width), {VECTOR: float(flops)}, {HBM: moved})


def optimiser_step(parameters: int, states: States | None = None) -> Workload:
    """One update of ``parameters``: the gradient read, the state and the parameter (or its master copy) read and
    written, on the vector unit. ``states`` gives the optimiser and the formats; by default Adam as in :class:`States`.
    """
    count, kept = whole("parameters", parameters), states or States()
    moments = kept.update.moments * itemsize(kept.moments)
    master = kept.master_bytes
    read = kept.gradient_bytes + moments + (master or kept.parameter_bytes)
    written = moments + master + kept.parameter_bytes
    name = phrase("workload.optimiser", optimiser=kept.optimiser, count=count)
    return Workload(name, {VECTOR: float(count * kept.update.flops)}, {HBM: count * (read + written)})


def mlp(
    tokens: int,
    d_model: int,
    d_ff: int,
    *,
    gated: bool = True,
    dtype: str = "bf16",
    weights: str | None = None,
    compute: str | None = None,
    fused: bool = False,
) -> Workload:
    """The feed-forward block of a transformer: two matrices of ``d_model x d_ff``, three when ``gated``.

    ``2 * tokens`` FLOP per weight. ``fused``: what is between the matrices stays on the chip; otherwise each of the
    ``tokens x d_ff`` arrays is written and read back. The elementwise function is not counted.
    """
    block = moe(
        tokens, d_model, d_ff, experts=1, experts_per_token=1, gated=gated, dtype=dtype, weights=weights,
        compute=compute, fused=fused, router=False,
    )  # fmt: skip
    return block._replace(name=phrase("workload.mlp", tokens=tokens, width=d_model, hidden=d_ff))


def moe(
    tokens: int,
    d_model: int,
    d_ff: int,
    *,
    experts: int,
    experts_per_token: int,
    gated: bool = True,
    dtype: str = "bf16",
    weights: str | None = None,
    compute: str | None = None,
    loaded: str = "all",
    fused: bool = False,
    router: bool = True,
) -> Workload:
    """A mixture of ``experts`` feed-forward blocks of which each token uses ``experts_per_token``.

    FLOP: ``2 * tokens * experts_per_token`` per weight of an expert, and the router's
    ``2 * tokens * d_model * experts``. Bytes: the weights of the experts that are used at all, and for each token and
    expert its input and its output. ``loaded``: ``"all"`` reads every expert that the tokens can reach; ``"expected"``
    the mean number of distinct experts when each token picks uniformly:
    ``experts * (1 - (1 - experts_per_token / experts) ** tokens)``. The rest as in :func:`mlp`. Bytes between chips are
    those of an all-to-all: see :mod:`~tpu_kernels.models.parallelism`.
    """
    tokens, d_model, d_ff = whole("tokens", tokens), whole("d_model", d_model), whole("d_ff", d_ff)
    experts, chosen = whole("experts", experts), whole("experts_per_token", experts_per_token)
    if chosen > experts:
        raise ValueError(phrase("workload.too_many_chosen", got=chosen, experts=experts))
    matrices, size, weight_size = 3 if gated else 2, itemsize(dtype), itemsize(weights or dtype)
    if one_of("loaded", loaded, ("all", "expected")) == "all":
        used = float(min(experts, tokens * chosen))
    else:
        used = experts * (1 - (1 - chosen / experts) ** tokens)
    routes = tokens * chosen
    work = 2 * routes * matrices * d_model * d_ff
    moved = used * matrices * d_model * d_ff * weight_size + 2 * routes * d_model * size
    if not fused:
        moved += 2 * routes * (matrices - 1) * d_ff * size
    if router:
        work += 2 * tokens * d_model * experts
        moved += tokens * (d_model + experts) * size + d_model * experts * weight_size
    name = phrase("workload.moe", tokens=tokens, experts=experts, chosen=chosen)
    return Workload(name, {known_format(compute or dtype): float(work)}, {HBM: moved})
