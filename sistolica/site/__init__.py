"""The site: a Sphinx extension, a builder for both languages, a server."""
