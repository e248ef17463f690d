"""An extension of griffe, which reads the docstrings for the site."""

import griffe

from tools.docs_site.docstrings import as_markdown


class AsMarkdown(griffe.Extension):
    """Rewrites the docstring of each object that griffe has read."""

    def on_instance(self, *, obj, **_):
        """Changes the docstring in its place."""
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)
