"""The refusal of a measurement. Apart from what measures, so that a command line can name it without jax."""


class MeasurementError(RuntimeError):
    """A measurement that cannot be true."""
