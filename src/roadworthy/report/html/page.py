"""From what a page shows to the file."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from roadworthy._files import write_text
from roadworthy._version import __version__
from roadworthy.cases import Severity, Status
from roadworthy.report import results as formats
from roadworthy.report.html.contents import Limits, Page, contents_of
from roadworthy.report.results import Standing, clipped

if TYPE_CHECKING:
    from jinja2 import Environment

    from roadworthy.runs.store import StoredRun


_STATIC = Path(__file__).with_name("static")


def write_report(run: StoredRun, path: str | Path, limits: Limits | None = None) -> Path:
    """Write the report of a run.

    Args:
        run: The run; it may still be going on, and the page says so.
        path: The file; links to images work where it lies in the folder of the run.
        limits: How much is shown at most.

    Raises:
        InputError: The file cannot be written.
    """
    path = Path(path)
    beside = path.resolve().parent == run.folder.resolve()
    write_text(path, render(contents_of(run, limits), linked=beside))
    return path


def render(page: Page, *, linked: bool = False) -> str:
    """Return the page as HTML.

    Args:
        page: What it shows.
        linked: Whether images link to their full size, which is found below the folder of the page.
    """
    return environment().get_template("report.html.jinja").render(page=page, linked=linked)


@cache
def style() -> Markup:
    """Return the style sheet of every page."""
    return Markup("\n").join(
        Markup((_STATIC / name).read_text("utf-8")) for name in ("tokens.css", "report.css")
    )


@cache
def policy() -> str:
    """Return what a page may load: its own style sheet, by its checksum, and images that are data URIs."""
    digest = base64.b64encode(hashlib.sha256(f"\n{style()}\n".encode()).digest()).decode("ascii")
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


@cache
def environment() -> Environment:
    """Return the templates, which escape everything that is not marked as safe."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("roadworthy.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Any] = {
        "clip": clipped,
        "count": formats.count,
        "number": formats.number,
        "percent": formats.percent,
        "signed": formats.signed,
        "plain": _plain,
    }
    made.filters |= filters
    made.globals |= {
        "policy": policy,
        "style": style,
        "version": __version__,
        "Standing": Standing,
        "Status": Status,
        "Severity": Severity,
    }
    return made


def _plain(value: object) -> str:
    return formats.number(value) if isinstance(value, float) else str(value)
