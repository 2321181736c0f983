"""The shape of a transformer and what follows from it: parameters, FLOP per token, bytes of its key-value cache.

``published("llama-3-70b")`` gives the shape of a public model, with its source; :func:`define` one of the reader's own.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from tpu_kernels.models.catalogue import Source, UnknownValueError
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.amounts import itemsize
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase


class ParameterCount(NamedTuple):
    """Parameters by where they are. ``active`` are those that one token meets: of the experts, only the chosen ones."""

    embedding: int
    unembedding: int
    attention: int
    mlp: int
    router: int
    norms: int
    active: int

    @property
    def total(self) -> int:
        """Every parameter."""
        return self.embedding + self.unembedding + self.attention + self.mlp + self.router + self.norms

    def table(self) -> Table:
        """Parts and their share of the total."""
        parts = {
            phrase("transformer.embedding"): self.embedding + self.unembedding,
            phrase("transformer.attention"): self.attention,
            phrase("transformer.mlp"): self.mlp + self.router,
            phrase("transformer.norms"): self.norms,
            phrase("transformer.total"): self.total,
        }
        rows = [
            [
                TableCell(part),
                TableCell(Quantity(count, "count").format(), numeric=True),
                TableCell(Quantity(count / self.total, "share").format(), numeric=True),
            ]
            for part, count in parts.items()
        ]
        headings = [phrase("transformer.part"), phrase("transformer.parameters"), phrase("transformer.share")]
        return Table(phrase("transformer.caption"), headings, rows)

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


class Transformer(NamedTuple):
    """A decoder: ``layers`` of attention and feed-forward block, without biases, between two tables of ``vocabulary``.

    ``gated``: three matrices in the feed-forward block instead of two. ``tied``: input and output table are one.
    ``norm_vectors``: vectors of ``d_model`` that a normalisation learns (1 gain; 2 with a bias); there are two
    normalisations a layer and one at the end. Made by :func:`define` and :func:`published`, which check it.
    """

    name: str
    layers: int
    d_model: int
    d_ff: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    gated: bool = True
    tied: bool = False
    experts: int = 1
    experts_per_token: int = 1
    norm_vectors: int = 1

    def __repr__(self) -> str:
        return phrase(
            "transformer.summary",
            name=self.name,
            layers=self.layers,
            width=self.d_model,
            hidden=self.d_ff,
            total=Quantity(self.parameters.total, "count"),
        )

    @property
    def mlp_matrices(self) -> int:
        """Matrices of ``d_model x d_ff`` in a feed-forward block."""
        return 3 if self.gated else 2

    @property
    def attention_parameters(self) -> int:
        """Of one layer: ``2 d_model head_dim (heads + kv_heads)``, for queries, keys, values and output."""
        return 2 * self.d_model * self.head_dim * (self.heads + self.kv_heads)

    @property
    def expert_parameters(self) -> int:
        """Of one feed-forward block, the only one of the layer or one of its experts."""
        return self.mlp_matrices * self.d_model * self.d_ff

    @property
    def router_parameters(self) -> int:
        """Of one layer: a score for each expert; none without experts."""
        return self.d_model * self.experts if self.experts > 1 else 0

    @property
    def parameters(self) -> ParameterCount:
        """How many parameters, and where. Source: scaling book, chapters 4 and 6."""
        table = self.vocabulary * self.d_model
        idle = self.layers * (self.experts - self.experts_per_token) * self.expert_parameters
        count = ParameterCount(
            embedding=table,
            unembedding=0 if self.tied else table,
            attention=self.layers * self.attention_parameters,
            mlp=self.layers * self.experts * self.expert_parameters,
            router=self.layers * self.router_parameters,
            norms=(2 * self.layers + 1) * self.norm_vectors * self.d_model,
            active=0,
        )
        return count._replace(active=count.total - idle)

    def attention_flops(self, sequence: int, *, causal: bool = True) -> float:
        """FLOP of the scores and of their sum of values, per token and layer, forward, in a sequence of that length.

        ``4 heads head_dim`` for each position that a token sees: all ``sequence`` of them, or half of that (exactly
        ``(sequence + 1) / 2``) under a causal mask whose kernel skips what is masked.
        """
        seen = (whole("sequence", sequence) + 1) / 2 if causal else whole("sequence", sequence)
        return 4 * self.heads * self.head_dim * seen

    def layer_flops(self, sequence: int, *, causal: bool = True) -> float:
        """FLOP per token and layer, forward: 2 for each parameter that multiplies it, and its attention."""
        met = self.attention_parameters + self.experts_per_token * self.expert_parameters + self.router_parameters
        return 2 * met + self.attention_flops(sequence, causal=causal)

    def flops_per_token(self, sequence: int, *, training: bool = False, causal: bool = True) -> Quantity:
        """FLOP per token, the product with the output table included; three times the forward ones in training.

        Normalisations and other elementwise work are not counted. Source: scaling book, chapter 4.
        """
        forward = self.layers * self.layer_flops(sequence, causal=causal) + 2 * self.vocabulary * self.d_model
        return Quantity(forward * (3 if training else 1), "FLOP")

    def kv_bytes_per_token(self, dtype: str = "bf16") -> Quantity:
        """Bytes of keys and values that a token leaves in the cache: ``2 layers kv_heads head_dim`` elements."""
        return Quantity(2 * self.layers * self.kv_heads * self.head_dim * itemsize(dtype), "bytes")


def define(
    *,
    layers: int,
    d_model: int,
    d_ff: int,
    heads: int,
    vocabulary: int,
    kv_heads: int | None = None,
    head_dim: int | None = None,
    gated: bool = True,
    tied: bool = False,
    experts: int = 1,
    experts_per_token: int = 1,
    norm_vectors: int = 1,
    name: str | None = None,
) -> Transformer:
    """A transformer of the reader's own. By default as many key-value heads as heads, and ``d_model / heads`` a head.

    Raises ``ValueError`` for a size that is not a whole number of at least one, for heads that the key-value heads do
    not divide (or that do not divide ``d_model`` when ``head_dim`` is not given), and for more chosen experts than
    there are.
    """
    heads, shared = whole("heads", heads), whole("kv_heads", heads if kv_heads is None else kv_heads)
    width, experts = whole("d_model", d_model), whole("experts", experts)
    chosen = whole("experts_per_token", experts_per_token)
    if heads % shared:
        raise ValueError(phrase("workload.not_divisible", name="heads", got=heads, by="kv_heads", divisor=shared))
    if head_dim is None and width % heads:
        raise ValueError(phrase("workload.not_divisible", name="d_model", got=width, by="heads", divisor=heads))
    if chosen > experts:
        raise ValueError(phrase("workload.too_many_chosen", got=chosen, experts=experts))
    return Transformer(
        name=phrase("transformer.own") if name is None else name,
        layers=whole("layers", layers),
        d_model=width,
        d_ff=whole("d_ff", d_ff),
        heads=heads,
        kv_heads=shared,
        head_dim=width // heads if head_dim is None else whole("head_dim", head_dim),
        vocabulary=whole("vocabulary", vocabulary),
        gated=bool(gated),
        tied=bool(tied),
        experts=experts,
        experts_per_token=chosen,
        norm_vectors=whole("norm_vectors", norm_vectors),
    )


def published(name: str) -> Transformer:
    """The public model of that name, one of :func:`names`; ``ValueError`` for any other."""
    entries = _document()["transformers"]
    if name not in entries:
        raise ValueError(phrase("transformer.unknown", got=repr(name), known=", ".join(entries)))
    return define(name=entries[name]["name"], **entries[name]["shape"])


def names() -> tuple[str, ...]:
    """The public models that :func:`published` knows."""
    return tuple(_document()["transformers"])


def sources(name: str) -> tuple[Source, ...]:
    """Where the shape of a public model was read, and then where its number of parameters was."""
    published(name)
    entry = _document()["transformers"][name]
    keys = [entry["source"], *([entry["parameters"]["source"]] if "parameters" in entry else [])]
    return tuple(Source(key=key, **_document()["sources"][key]) for key in dict.fromkeys(keys))


def published_parameters(name: str) -> Quantity:
    """How many parameters its source says that a public model has; :class:`UnknownValueError` where none was read."""
    published(name)
    entry = _document()["transformers"][name]
    if "parameters" not in entry:
        raise UnknownValueError(phrase("transformer.no_count", name=entry["name"]))
    return Quantity(entry["parameters"]["value"], "count")


@cache
def _document() -> Mapping[str, Any]:
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files("tpu_kernels.data").joinpath("transformers.toml").read_text(encoding="utf-8"))
