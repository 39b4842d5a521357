"""A click on a picture shows it in full size: sheets of many frames are small on a phone."""

from __future__ import annotations

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

_ALONE = re.compile(r'<p>(<img [^>]*src="([^"]+)"[^>]*>)</p>')


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make a link of each picture that stands by itself."""
    del page, config, files
    return _ALONE.sub(r'<p><a href="\2">\1</a></p>', html)
