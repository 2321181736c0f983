"""``python -m tpu_kernels.models.serving``: the benchmark of the simulator."""

import argparse
import sys

from tpu_kernels.models.serving.benchmark import ROUTERS, lines


def main(arguments: list[str] | None = None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="python -m tpu_kernels.models.serving", description=__doc__)
    parser.add_argument(
        "--requests", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], help="sizes of the runs"
    )
    parser.add_argument("--routers", nargs="+", choices=list(ROUTERS), default=["round_robin", "weighted_scores"])
    parser.add_argument("--profile", action="store_true", help="profile the last router at the first size")
    options = parser.parse_args(arguments)
    for line in lines(options.requests, options.routers, options.profile):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
