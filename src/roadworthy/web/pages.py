"""Pages: templates, what all of them show, pictures they ask for, and how errors look."""

from __future__ import annotations

import shlex
from collections import OrderedDict
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from fastapi import HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from numpy.typing import NDArray

from roadworthy._version import __version__
from roadworthy.images import encode_image
from roadworthy.report.results import count, number, percent, signed
from roadworthy.web.settings import RunFolders, ServerLimits

_TEMPLATES = Path(__file__).with_name("templates")


class Pages:
    """Renders templates with what every page shows.

    Args:
        limits: How much one request may ask for.

    Everything that is put into a page is escaped; nothing in a template is marked as safe.
    """

    def __init__(self, limits: ServerLimits) -> None:
        self._templates = Environment(
            loader=FileSystemLoader(_TEMPLATES),
            autoescape=select_autoescape(default=True, default_for_string=True),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

        self._templates.globals["limits"] = limits
        self.filters = self._templates.filters
        filters: dict[str, Any] = {"count": count, "number": number, "percent": percent, "signed": signed}
        self.filters |= filters | {"sentence": _sentence, "shell": lambda path: shlex.quote(str(path))}

    def page(self, request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a page."""
        text = self._templates.get_template(template).render(
            here=request.url.path, csrf=request.state.csrf, version=__version__, **values
        )
        # A folder may have a name that is no text.
        return HTMLResponse(text.encode("utf-8", "replace"), status_code=status)


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


class PictureCache:
    r"""The latest pictures, as PNG, by their digests.

    Args:
        at_most: How many bytes are kept; the eldest go first.

    Example:
        >>> pictures = PictureCache()
        >>> digest = pictures.add(np.zeros((2, 2, 3), np.uint8))
        >>> pictures.get(digest)[:4]
        b'\x89PNG'
    """

    def __init__(self, at_most: int = 64 * 1024 * 1024) -> None:
        self._at_most = at_most
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def add(self, image: NDArray[np.uint8]) -> str:
        """Keep a picture and return its digest."""
        return self.keep(encode_image(image, ".png"))

    def keep(self, data: bytes) -> str:
        """Keep a picture that is PNG already and return its digest."""
        digest = sha256(data).hexdigest()
        with self._lock:
            if digest not in self._kept:
                self._kept[digest] = data
                self._size += len(data)
            self._kept.move_to_end(digest)
            while self._size > self._at_most and len(self._kept) > 1:
                _, gone = self._kept.popitem(last=False)
                self._size -= len(gone)
        return digest

    def all(self) -> list[bytes]:
        """Return the pictures that are kept."""
        with self._lock:
            return list(self._kept.values())

    def get(self, digest: str) -> bytes | None:
        """Return a picture; None where it is not kept any more."""
        with self._lock:
            return self._kept.get(digest)
