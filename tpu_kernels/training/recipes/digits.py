"""A classifier of handwritten digits: right on more than 95 of 100 that it never saw, in seconds on a CPU."""

from typing import NamedTuple

from tpu_kernels.training import classifier
from tpu_kernels.training.digits import digits
from tpu_kernels.training.evaluation import accuracy
from tpu_kernels.training.metrics import Work
from tpu_kernels.training.recipes.options import Options
from tpu_kernels.training.recipes.run import placed, train
from tpu_kernels.training.report import Report
from tpu_kernels.training.state import Params

DIGITS = Options(steps=400, batch_size=64, learning_rate=3e-3)

# Each weight multiplies once forward, and twice backward; a multiplication and an addition are 2 FLOP.
FLOPS = 6.0 * (classifier.PIXELS * classifier.HIDDEN + classifier.HIDDEN * classifier.CLASSES)


class DigitsRun(NamedTuple):
    """The trained ``params``, the ``reports`` of this call, and the share of the validation digits that are right."""

    params: Params
    reports: list[Report]
    accuracy: float


def train_digits(options: Options = DIGITS) -> DigitsRun:
    """Trains on 1,437 digits, validates on 360.

    Raises ``MissingExtraError`` without scikit-learn, optax or orbax-checkpoint, and what ``fit`` raises.
    """
    training, validation = digits()
    measure = accuracy(validation, **placed(options))
    run = train(
        classifier.losses,
        classifier.init(options.seed),
        training,
        lambda params: {"accuracy": measure(params)},
        options,
        {"recipe": "digits"},
        Work(flops=FLOPS),
    )
    return DigitsRun(run.state.params, run.reports, measure(run.state.params))
