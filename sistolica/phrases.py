"""What the platform says to readers, in each language of the course: ``phrase("page.solution")``."""

from pathlib import Path

from tpu_kernels.messages import Catalogue

phrase = Catalogue(Path(__file__).with_name("messages.toml"))
