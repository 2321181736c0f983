"""Model serving, simulated: replicas with continuous batching and a prefix cache, routers, traffic, latencies.

``simulate(traffic, spec, router, replicas=8)`` runs requests to their last token and gives a report. Deterministic: the
same seed gives the same run, to the last digit, in every Python.
"""

from tpu_kernels.models.draws import Draws, Length, Popularity
from tpu_kernels.models.serving.arrivals import even_arrivals, gamma_arrivals, switching_arrivals, take, within
from tpu_kernels.models.serving.cluster import Cluster
from tpu_kernels.models.serving.comparison import Comparison, compare, simulate
from tpu_kernels.models.serving.endpoint import Endpoint
from tpu_kernels.models.serving.published import language_model, names, number, sources, table, values
from tpu_kernels.models.serving.replica_spec import ReplicaSpec, published_replica, replica_spec
from tpu_kernels.models.serving.report import Goodput, Latency, Report, percentile
from tpu_kernels.models.serving.request import Request, Session, block_chain
from tpu_kernels.models.serving.routing import (
    EXACT,
    ByConnection,
    KVUse,
    LeastRequests,
    Policy,
    PrefixAffinity,
    QueueDepth,
    RandomChoice,
    RoundRobin,
    Router,
)
from tpu_kernels.models.serving.routing_index import IndexSize, index_size, published_index
from tpu_kernels.models.serving.saturation import SaturationDetector
from tpu_kernels.models.serving.scoring import (
    StickyUntilSaturated,
    WeightedScores,
    kv_scores,
    prefix_scores,
    queue_scores,
    saturation_gap,
    token_load_score,
)
from tpu_kernels.models.serving.step_time import StepTime, roofline_step, step_time
from tpu_kernels.models.serving.traffic import SharedPrefixes, conversations, plain

__all__ = [
    "EXACT",
    "ByConnection",
    "Cluster",
    "Comparison",
    "Draws",
    "Endpoint",
    "Goodput",
    "IndexSize",
    "KVUse",
    "Latency",
    "LeastRequests",
    "Length",
    "Policy",
    "Popularity",
    "PrefixAffinity",
    "QueueDepth",
    "RandomChoice",
    "ReplicaSpec",
    "Report",
    "Request",
    "RoundRobin",
    "Router",
    "SaturationDetector",
    "Session",
    "SharedPrefixes",
    "StepTime",
    "StickyUntilSaturated",
    "WeightedScores",
    "block_chain",
    "compare",
    "conversations",
    "even_arrivals",
    "gamma_arrivals",
    "index_size",
    "kv_scores",
    "language_model",
    "names",
    "number",
    "percentile",
    "plain",
    "prefix_scores",
    "published_index",
    "published_replica",
    "queue_scores",
    "replica_spec",
    "roofline_step",
    "saturation_gap",
    "simulate",
    "sources",
    "step_time",
    "switching_arrivals",
    "table",
    "take",
    "token_load_score",
    "values",
    "within",
]
