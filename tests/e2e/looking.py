"""What a person would see: contrast, names, and whether everything fits."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["barriers", "faint_texts", "overhang", "wait_for_pictures", "wait_until"]

_HERE = Path(__file__).parent
_AXE = _HERE / "axe" / "axe.min.js"  # 4.14.0, from npm


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


def barriers(page: Page) -> list[str]:
    """Return what axe-core objects to, each with where: names, roles, contrast, the order of headings …"""
    # An expression, because pages allow no script of others.
    page.evaluate(f"{_AXE.read_text('utf-8')};0")
    found: list[str] = page.evaluate(
        "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => "
        "violations.flatMap(one => one.nodes.map(node => "
        "`${one.id}: ${node.html.slice(0, 160)}: ${node.failureSummary}`)))"
    )
    return found


def overhang(page: Page) -> int:
    """Return by how many pixels the page is wider than its window."""
    wide: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wide
