"""Make the stored dumps anew, with the libtpu that is found: ``python -m tests.tpu_kernels.xray.regenerate [NAME]``."""

import sys
from collections.abc import Sequence

from tests.tpu_kernels.xray import stored
from tpu_kernels.xray import libtpu, targets
from tpu_kernels.xray.compiler import Ending, compilation

SECONDS = 300
MEMORY = 8 * 2**30


def main(names: Sequence[str]) -> None:
    compiler = libtpu.find()
    for name in names or stored.NAMES:
        target = targets.target(name.rpartition("-")[2])
        with compilation(
            stored.program(name).code,
            target.topology,
            compiler,
            simulate=target.simulates(compiler.version),
            seconds=SECONDS,
            memory_bytes=MEMORY,
        ) as result:
            if result.ending is not Ending.COMPILED:
                raise SystemExit(f"{name}: {result.ending}: {result.answer or result.output}")
            (stored.FOLDER / f"{name}.json.gz").write_bytes(stored.pack(result, compiler.version))


if __name__ == "__main__":
    main(sys.argv[1:])
