"""Prints one digest for each of a set of model runs, to the last bit: compared between CPython and Pyodide."""

import hashlib

from tpu_kernels.models import cost, serving, systolic
from tpu_kernels.models.serving.benchmark import ROUTERS, benchmark_traffic


def digest(*parts):
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def of_report(report):
    ledger = report.ledger
    times = (ledger.arrival, ledger.first, ledger.finish)
    per_request = (*times, ledger.prompt, ledger.output, ledger.cached, ledger.replica)
    latencies = [[float(value).hex() for value in latency] for latency in (report.ttft, report.tpot, report.itl)]
    rates = (float(report.output_throughput).hex(), float(report.mean_waiting).hex())
    return digest([list(column) for column in per_request], latencies, rates, sorted(ledger.gaps.items()))


def of_array(rows, columns, length):
    weights = [[(3 * k + 5 * n) % 7 - 3 for n in range(columns)] for k in range(rows)]
    inputs = [[(2 * m + k) % 5 / 4 for k in range(rows)] for m in range(length)]
    trace = systolic.simulate(weights, inputs)
    states = [trace.table(cycles=[cycle]) for cycle in range(trace.cycles)]
    tiled = systolic.matmul(inputs, weights, 2, 3)
    return digest(trace.cycles, trace.product, [repr(state) for state in states], tiled.product, tiled.cycles)


def main():
    server = serving.published_replica("qwen3_32b_2xh100")
    for name, router in ROUTERS.items():
        print(name, of_report(serving.simulate(benchmark_traffic(1500), server, router(), replicas=8)))
    for shape in ((1, 1, 1), (4, 3, 5), (5, 4, 9)):
        print("systolic", *shape, of_array(*shape))
    print("checkpoint", float(cost.best_interval(0.1, 24)).hex())


if __name__ == "__main__":
    main()
