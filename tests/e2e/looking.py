"""What a person would see: contrast, names, and whether everything fits."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["faint_texts", "nameless_controls", "overhang", "wait_for_pictures", "wait_until"]

_HERE = Path(__file__).parent


def wait_until(page: Page, holds: Callable[[], bool]) -> None:
    """Wait for something; Playwright's own way would need a page that allows `eval`."""
    end = time.monotonic() + 90
    while not holds():
        assert time.monotonic() < end, "it took too long"
        page.wait_for_timeout(50)


def wait_for_pictures(page: Page) -> None:
    """Wait until all pictures are there."""
    wait_until(
        page,
        lambda: bool(
            page.evaluate("[...document.images].every((one) => one.complete && one.naturalWidth > 0)")
        ),
    )


def faint_texts(page: Page) -> list[Any]:
    """Return texts whose contrast is below WCAG's AA, with the contrast."""
    found: list[Any] = page.evaluate((_HERE / "faint_texts.js").read_text("utf-8"))
    return found


def nameless_controls(page: Page) -> list[str]:
    """Return controls and pictures without a name that a screen reader could say."""
    found: list[str] = page.evaluate((_HERE / "nameless_controls.js").read_text("utf-8"))
    return found


def overhang(page: Page) -> int:
    """Return by how many pixels the page is wider than its window."""
    wide: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wide
