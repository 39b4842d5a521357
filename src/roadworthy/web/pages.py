"""Pages: templates, what all of them show, and how errors look."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from roadworthy._version import __version__

__all__ = ["Destination", "Pages"]

_TEMPLATES = Path(__file__).with_name("templates")


@dataclass(frozen=True, slots=True)
class Destination:
    """An entry of the navigation."""

    path: str
    label: str


class Pages:
    """Renders templates with what every page shows.

    Args:
        destinations: The navigation, in order.

    Everything that is put into a page is escaped; nothing in a template is marked as safe.
    """

    def __init__(self, destinations: tuple[Destination, ...]) -> None:
        self.destinations = destinations
        self._templates = Environment(
            loader=FileSystemLoader(_TEMPLATES),
            autoescape=select_autoescape(default=True, default_for_string=True),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def page(self, request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a page."""
        text = self._templates.get_template(template).render(
            destinations=self.destinations,
            here=request.url.path,
            csrf=request.state.csrf,
            version=__version__,
            **values,
        )
        return HTMLResponse(text, status_code=status)
