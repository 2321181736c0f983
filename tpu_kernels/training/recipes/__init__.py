"""Whole runs, from data to a trained model: digits in seconds, a text in minutes, on whatever devices there are.

Importing this raises ``MissingExtraError`` without the libraries of the extra ``train``.
"""

from tpu_kernels.training.extra import extra

with extra():
    from tpu_kernels.training.recipes.digits import DIGITS, DigitsRun, train_digits
    from tpu_kernels.training.recipes.options import Options
    from tpu_kernels.training.recipes.text import TEXT, TextRun, train_text

__all__ = ["DIGITS", "TEXT", "DigitsRun", "Options", "TextRun", "train_digits", "train_text"]
