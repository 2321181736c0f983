"""One run, and routers side by side on the same traffic."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from tpu_kernels.models.numerals import number
from tpu_kernels.models.serving.cluster import Cluster
from tpu_kernels.models.serving.replica_spec import ReplicaSpec
from tpu_kernels.models.serving.report import Report
from tpu_kernels.models.serving.request import Request, Session, Traffic
from tpu_kernels.models.serving.routing import Policy, Router
from tpu_kernels.models.serving.saturation import SaturationDetector
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase


def simulate(
    traffic: Traffic,
    spec: ReplicaSpec,
    router: Router | Policy,
    *,
    replicas: int,
    concurrency: int | None = None,
    refresh: float | None = None,
    detector: SaturationDetector | None = None,
) -> Report:
    """One run of fresh replicas, to the last answer; see :class:`Cluster` for the parameters and errors."""
    return Cluster(spec, replicas, router, refresh=refresh, detector=detector).run(traffic, concurrency=concurrency)


class Comparison(Mapping[str, Report]):
    """Runs by name, shown as a table in the language in force."""

    def __init__(self, reports: Mapping[str, Report], titles: Mapping[str, Callable[[], str]]) -> None:
        self._reports, self._titles = dict(reports), dict(titles)

    def __getitem__(self, name: str) -> Report:
        return self._reports[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._reports)

    def __len__(self) -> int:
        return len(self._reports)

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def table(self) -> Table:
        """Runs as rows: TTFT (median, p90, p99), TPOT, throughput in requests and output tokens, share of cached
        prompts."""
        headings = [
            phrase("serving.router"),
            phrase("serving.ttft", share="p50"),
            phrase("serving.ttft", share="p90"),
            phrase("serving.ttft", share="p99"),
            phrase("serving.tpot"),
            phrase("serving.requests"),
            phrase("serving.output"),
            phrase("serving.hits"),
        ]
        rows = [[TableCell(self._titles[name]()), *_cells(report)] for name, report in self.items()]
        return Table(phrase("serving.caption"), headings, rows)


def compare(
    traffic: Callable[[], Traffic] | Sequence[Request | Session],
    spec: ReplicaSpec,
    routers: Sequence[Router],
    *,
    replicas: int,
    concurrency: int | None = None,
    refresh: float | None = None,
) -> Comparison:
    """A run for each router, by its ``name``, on the same traffic: a list, or a function that makes it anew.

    Of routers with one name the first keeps it, the next ones get a number. Raises what :func:`simulate` raises.
    """
    reports: dict[str, Report] = {}
    titles = {}
    for router in routers:
        same = sum(known.partition(" ")[0] == router.name for known in reports)
        name = f"{router.name} {same + 1}" if same else router.name
        titles[name] = router.title
        requests = traffic() if callable(traffic) else traffic
        reports[name] = simulate(requests, spec, router, replicas=replicas, concurrency=concurrency, refresh=refresh)
    return Comparison(reports, titles)


def _cells(report: Report) -> list[TableCell]:
    latencies = (report.ttft.p50, report.ttft.p90, report.ttft.p99, report.tpot.mean)
    rates = (report.request_throughput, report.output_throughput)
    texts = [latency.format() for latency in latencies] + [number(rate, digits=3) for rate in rates]
    return [TableCell(text, numeric=True) for text in (*texts, report.hit_rate.format())]
