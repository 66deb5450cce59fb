"""griffe extension: the docstrings of this project as Markdown, for mkdocstrings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parent))

from page_parts import markdown_of


class Plain(griffe.Extension):
    """Roles become links where what they name has a place in the reference, and code elsewhere."""

    def on_object(self, *, obj: griffe.Object, **options: Any) -> None:
        """Called for every object that was read."""
        if obj.docstring is None:
            return

        def link(name: str, shown: str) -> str:
            try:
                path = obj.resolve(name)
            except griffe.NameResolutionError:
                path = name
            return f'<autoref identifier="{path}" optional><code>{shown}</code></autoref>'

        obj.docstring.value = markdown_of(obj.docstring.value, link)
