"""What holds a kernel up, and what to try next."""

from collections.abc import Sequence

from tpu_kernels.messages import decimal
from tpu_kernels.phrases import phrase
from tpu_kernels.xray.record import MODELLED, Bound, Kernel

NEAR = 0.85  # a resource that is needed for this share of the cycles holds the kernel up
WASTE = 1.2  # times the multiplications that the products have
MANY_SPILLS = 0.1  # of the vectors stored
OF_SPILLS = {"issue", "vload", "vstore"}  # what spills take; smaller blocks would cost more of anything else
STALLED = "stalls"


def bound(kernel: Kernel) -> str | None:
    """The resource that holds it up: ``"mxu"``, ``"hbm"``, ``"issue"``, ``"latency"``, or a slot as ``"vload"``.

    ``"latency"`` also when copies explain the cycles together: those of a step wait to begin, then for HBM.
    ``"stalls"`` when it takes much longer than any of that; ``None`` when too little is known.
    """
    if not kernel.bounds or kernel.cycles.value is None:
        return None
    first = leading(kernel.bounds)
    if kernel.cycles.label == MODELLED or first.cycles >= NEAR * kernel.cycles.value:
        return first.resource
    needed = {one.resource: one.cycles for one in kernel.bounds}
    copying = needed.get("latency", 0.0) + needed.get("hbm", 0.0)
    return "latency" if copying >= NEAR * kernel.cycles.value else STALLED


def beyond_bandwidth(kernel: Kernel) -> bool:
    """Whether its copies would need more than the published bandwidth of HBM to fit in its cycles."""
    needed = next((one.cycles for one in kernel.bounds if one.resource == "hbm"), 0.0)
    return kernel.cycles.value is not None and needed > kernel.cycles.value


def leading(bounds: Sequence[Bound]) -> Bound:
    """The longest bound; of those about as long, the one that says most: a unit before the bundles that feed it."""
    longest = bounds[0]
    about = [one for one in bounds if one.cycles >= NEAR * longest.cycles and one.resource != "issue"]
    return about[0] if longest.resource == "issue" and about else longest


def advice(kernel: Kernel) -> list[str]:
    """Sentences, most important first, in the language in force. Empty when there is nothing to say."""
    found = [_of_bound(kernel)]
    if kernel.mxu_flops and kernel.flops and kernel.mxu_flops > WASTE * kernel.flops:
        found.append(phrase("xray.try_padding", times=decimal(f"{kernel.mxu_flops / kernel.flops:.1f}")))
    if kernel.pallas and bound(kernel) in OF_SPILLS and _spills(kernel):
        found.append(phrase("xray.try_spills", spilled=kernel.spilled))
    return [one for one in found if one]


def _spills(kernel: Kernel) -> bool:
    if not kernel.spilled or not kernel.use:
        return False
    return kernel.use["SPILL"] > MANY_SPILLS * max(kernel.use["VSTORE"], 1e-9)


def _of_bound(kernel: Kernel) -> str:
    match bound(kernel):
        case "mxu":
            return phrase("xray.try_mxu")
        case "hbm":
            return phrase("xray.try_hbm")
        case "latency" | "stalls" if kernel.pallas and kernel.grid and kernel.steps == 1:
            return phrase("xray.try_steps")
        case "latency":
            return phrase("xray.try_latency")
        case "stalls":
            return phrase("xray.try_stalls")
        case "issue":
            return phrase("xray.try_issue")
        case "vload" | "vstore":
            return phrase("xray.try_memory_slots")
        case "valu" | "vpop" | "eup" | "salu":
            return phrase("xray.try_vector_slots")
        case _:
            return ""
