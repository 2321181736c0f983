"""The platform of the course: lessons, site, checks of the text, command line."""

import sys
from importlib.metadata import version

# nbformat imports jsonschema, which builds a grammar for internationalised addresses if it finds this optional package:
# 2 s of every start, for a check that nothing here uses. Without the package jsonschema leaves that check out.
if "rfc3987_syntax" not in sys.modules:
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

__version__ = version("sistolica")
