"""Reads what a report would look like."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import cmarkgfm
from cmarkgfm.cmark import Options

if TYPE_CHECKING:
    from pathlib import Path

NAME = "<script>alert(1)<&amp;|`a`[b](c)_d_*e* www.e.org @me"
"""Of a file that would act in a careless report."""


class Reader(HTMLParser):
    """What a browser would see: elements, attributes, and the text outside of styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: dict[str, set[str]] = {}
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, set()).add(value or "")

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def rendered(text: str) -> Reader:
    """Markdown as GitHub shows it, whatever is unsafe in it included."""
    return Reader(cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE))


def seen(path: Path) -> str:
    """The text of a report in Markdown as people see it, a cell of a table in a line."""
    return "".join(rendered(path.read_text()).text)
