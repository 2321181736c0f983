"""What training keeps for each parameter, and what an optimiser's update costs: the parameter itself, its gradient, the
optimiser's state, and the copy in higher precision that mixed precision updates."""

from typing import NamedTuple

from tpu_kernels.models.roofline.amounts import itemsize, one_of


class Optimiser(NamedTuple):
    """``moments``: accumulators per parameter; ``flops``: arithmetic per parameter and update, every elementary
    operation counted as one and whatever depends on the step alone folded into constants."""

    moments: int
    flops: int


# The updates counted, with g the gradient and every constant precomputed:
# sgd       p -= r*g
# momentum  v = a*v + g; p -= r*v
# adam      m = a*m + b*g; v = c*v + d*g*g; p -= r*m / (sqrt(v) + e)      (Kingma and Ba, 2015, section 2)
# adamw     adam, and p -= w*p besides                                    (Loshchilov and Hutter, 2019)
OPTIMISERS = {
    "sgd": Optimiser(moments=0, flops=2),
    "momentum": Optimiser(moments=1, flops=4),
    "adam": Optimiser(moments=2, flops=12),
    "adamw": Optimiser(moments=2, flops=14),
}


class States(NamedTuple):
    """Formats of what training keeps. ``master`` is the format of a second copy of the parameters, or ``None``.

    The default is the scaling book's: bf16 parameters and fp32 moments, 10 bytes a parameter, and 2 of gradient.
    ``States(gradients="fp32", master="fp32")`` is Megatron's 18 bytes; ``States(master="fp32")``, the ZeRO paper's 16.
    """

    parameters: str = "bf16"
    gradients: str = "bf16"
    optimiser: str = "adam"
    moments: str = "fp32"
    master: str | None = None

    @property
    def parameter_bytes(self) -> float:
        """Bytes of a parameter as the model multiplies with it."""
        return itemsize(self.parameters)

    @property
    def gradient_bytes(self) -> float:
        """Bytes of the gradient of a parameter."""
        return itemsize(self.gradients)

    @property
    def optimiser_bytes(self) -> float:
        """Bytes of the optimiser per parameter: its moments, and the master copy if there is one."""
        return self.update.moments * itemsize(self.moments) + self.master_bytes

    @property
    def master_bytes(self) -> float:
        """Bytes of the master copy per parameter; zero without one."""
        return 0.0 if self.master is None else itemsize(self.master)

    @property
    def update(self) -> Optimiser:
        """The optimiser; ``ValueError`` for a name that is not one of :data:`OPTIMISERS`."""
        return OPTIMISERS[one_of("optimiser", self.optimiser, tuple(OPTIMISERS))]
