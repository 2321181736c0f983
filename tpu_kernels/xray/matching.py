"""Which Pallas kernel of the caller's program each kernel of the compiled one is, and which dump shows its code."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from tpu_kernels.xray.hlo import Module, Operation
from tpu_kernels.xray.kernel_call import KernelCall
from tpu_kernels.xray.kernel_dump import KernelDump

# Types as jax names them and as XLA writes them.
DTYPES = {"bfloat16": "bf16", "bool": "pred", "float": "f", "uint": "u", "int": "s"}


def calls_of(module: Module, calls: Sequence[KernelCall]) -> Mapping[str, KernelCall]:
    """The call behind each Pallas kernel, by name, where only one can be meant, or all that can be are alike.

    They are told apart by the shapes of their results and, where XLA kept it, their place in the code; several at one
    place, as in a loop that is unrolled, are taken in order when there are as many of them as in the compiled program.
    """
    compiled: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in module.operations():
        if one.is_kernel:
            compiled[module.where(one), _shapes(one)].append(one.name)
    found: dict[str, KernelCall] = {}
    for (where, shapes), names in compiled.items():
        candidates = [call for call in calls if _results(call) == shapes and where in {"", call.where}]
        alike = len({(call.grid, call.windows, call.products) for call in candidates}) == 1
        if alike:
            found.update(dict.fromkeys(names, candidates[0]))
        elif len(candidates) == len(names):
            found.update(zip(names, candidates, strict=True))
    return found


def dumps_of(module: Module, dumps: Mapping[str, KernelDump], bodies: Mapping[str, str]) -> Mapping[str, KernelDump]:
    """The dump of each operation, by name. Operations that are alike are compiled, and dumped, once.

    ``bodies`` is the code of Pallas kernels, by name, to tell those apart that look alike from outside.
    """
    alike: dict[object, list[KernelDump]] = defaultdict(list)
    for name, dump in dumps.items():
        if name in module.runs:
            alike[module.signature(name)].append(dump)
    found = {}
    for name in module.runs:
        same = alike.get(module.signature(name), [])
        if len(same) > 1:
            same = [dump for dump in same if dump.name == name or bodies.get(dump.name) == bodies.get(name, dump.name)]
        if name in dumps:
            found[name] = dumps[name]
        elif same:
            found[name] = same[0]
    return found


def _results(call: KernelCall) -> str:
    return " ".join(f"{_dtype(dtype)}{list(sizes)}" for dtype, sizes in call.results)


def _shapes(operation: Operation) -> str:
    return " ".join(f"{array.dtype}{list(array.dimensions)}" for array in operation.arrays)


def _dtype(name: str) -> str:
    for long, short in DTYPES.items():
        if name.startswith(long):
            return short + name.removeprefix(long).replace("_", "")
    return name
