"""What jax computes on here, asked of jax itself.

That takes the devices, and a wrong flag ends the process, so :func:`main` is run in a process of its own.
"""

import json
import sys
from dataclasses import dataclass
from typing import Any

from tpu_kernels.backend import BackendError, Here, describe, look

SIDE = 1024  # of the square product that stands for what a learner multiplies


@dataclass(frozen=True)
class Sight:
    """What jax computes on, in numbers and in a line for people, and what the library's kernels make of it."""

    here: Here
    described: str
    x64: bool  # whether 64-bit numbers stay 64-bit
    matmul: tuple[str, str] | None  # implementation and reason; None when the kernels do not come to choose one
    kernels_failure: str | None = None  # why they cannot be loaded

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        matmul = dict(zip(("implementation", "why"), self.matmul, strict=True)) if self.matmul else None
        return {
            "platform": self.here.platform,
            "count": self.here.count,
            "kind": self.here.kind,
            "chip": self.here.chip,
            "compute_capability": self.here.compute_capability,
            "described": self.described,
            "x64": self.x64,
            "matmul": matmul,
            "kernels_failure": self.kernels_failure,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Sight":
        """The inverse of :meth:`to_dict`."""
        here = Here(data["platform"], data["count"], data["kind"], data["chip"], data["compute_capability"])
        matmul = data["matmul"] and (data["matmul"]["implementation"], data["matmul"]["why"])
        return cls(here, data["described"], data["x64"], matmul, data["kernels_failure"])


def sight() -> Sight:
    """What jax computes on in this process; whatever jax raises passes."""
    seen = look()
    import jax.numpy as jnp

    x64 = bool(jnp.result_type(float) == jnp.float64)
    matmul, failure = None, None
    try:
        matmul = _planned()
    except (ImportError, AttributeError) as error:  # a library is missing, or this jax has dropped a name
        failure = f"{type(error).__name__}: {error}"
    except BackendError:  # a setting came too late or is misspelt: there are finders for that
        pass
    return Sight(seen, describe(seen), x64, matmul, failure)


def _planned() -> tuple[str, str]:
    import jax

    from tpu_kernels.kernels import plan

    operand = jax.ShapeDtypeStruct((SIDE, SIDE), "bfloat16")
    planned = plan(operand, operand)
    return planned.implementation, planned.why


def main() -> None:
    """Print the sight, or the error that jax ended with, as a last line of JSON."""
    try:
        answer = sight().to_dict()
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
        raise
    finally:
        sys.stdout.write(f"\n{json.dumps(answer)}\n")
