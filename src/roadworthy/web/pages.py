"""Pages: templates, what all of them show, and how errors look."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from roadworthy._version import __version__
from roadworthy.web.folders import RunFolders

__all__ = ["Destination", "Pages", "shown_file"]

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

        self._templates.filters["sentence"] = _sentence

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


def _sentence(text: str) -> str:
    """Return text that begins and ends as a sentence does: errors are written to stand after a colon.

    Example:
        >>> _sentence("there is no run 'x' here: all are on the page Runs")
        "There is no run 'x' here: all are on the page Runs."
        >>> _sentence("R1 is violated!")
        'R1 is violated!'
    """
    begun = text[:1].upper() + text[1:]
    return begun if not begun or begun[-1] in ".!?…" else f"{begun}."


def shown_file(file: Path | None, *, films: bool = False, otherwise: str) -> FileResponse:
    """Return a picture, or a film, for a page to show.

    Args:
        file: The file; None where there is none.
        films: Whether films are shown as well.
        otherwise: What to say where there is no such file, or it is neither.

    Raises:
        HTTPException: There is nothing to show.
    """
    media_type = None if file is None else RunFolders.media_type(file, films=films)
    if file is None or media_type is None:
        raise HTTPException(404, otherwise)
    return FileResponse(file, media_type=media_type, headers={"cache-control": "private, max-age=3600"})
