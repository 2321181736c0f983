"""What a run says of itself each time that it looks at its numbers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tpu_kernels.messages import decimal
from tpu_kernels.phrases import phrase
from tpu_kernels.training.metrics import Speed


@dataclass(frozen=True)
class Report:
    """After ``step`` of ``steps``: the mean ``loss`` of the steps since the report before, the last ``grad_norm``.

    ``speed`` is None where none was measured, ``validation`` what the run's ``validate`` gave, if it was time for it.
    """

    step: int
    steps: int
    loss: float
    grad_norm: float
    speed: Speed | None = None
    validation: Mapping[str, float] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """For the log: rates as ``steps_per_second`` and so on; None for what is not known."""
        speed = self.speed or Speed(*[None] * len(Speed._fields))  # type: ignore[arg-type]  # all of it unknown
        rates = {name if name == "mfu" else f"{name}_per_second": value for name, value in speed._asdict().items()}
        # A gradient that overflowed, which loss scaling skips, has no finite norm, and JSON no word for that.
        grad_norm = self.grad_norm if math.isfinite(self.grad_norm) else None
        return {"step": self.step, "loss": self.loss, "grad_norm": grad_norm, **rates, **self.validation}

    def __str__(self) -> str:
        parts = [phrase("report.step", step=self.step, steps=self.steps, loss=decimal(f"{self.loss:.4f}"))]
        names = {"accuracy": phrase("report.accuracy"), "bits_per_byte": phrase("report.bits_per_byte")}
        parts += [f"{names.get(key, key)} {decimal(f'{value:.4f}')}" for key, value in self.validation.items()]
        if self.speed:
            parts.append(phrase("report.speed", steps=decimal(f"{self.speed.steps:.1f}")))
            if self.speed.tokens:
                parts.append(f"{self.speed.tokens:.0f} tokens/s")
            if self.speed.mfu:
                parts.append(f"MFU {decimal(f'{100 * self.speed.mfu:.1f}')} %")
        return ", ".join(parts)
