"""The platform of the course: lessons, site, checks of the text, command line."""

from importlib.metadata import version

__version__ = version("sistolica")
