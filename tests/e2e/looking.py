"""What a person would see: contrast, names, and whether everything fits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["faint_texts", "nameless_controls", "overhang", "wait_for_pictures", "wait_until"]

_FAINT = """
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = rgba(getComputedStyle(at).backgroundColor);
      if (color[3] > 250) return color;
    }
    return [255, 255, 255, 255];
  };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.textContent.trim() || !element.checkVisibility({ visibilityProperty: true }) || element.closest("textarea, svg, option")) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(rgba(style.color)), light(ground(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) faint.push([node.textContent.trim().slice(0, 40), Number(ratio.toFixed(2))]);
  }
  return faint;
}
"""

_NAMELESS = """
() => [...document.querySelectorAll("a, button, input, select, textarea, summary, img, [role=img], progress")]
  .filter((one) => one.checkVisibility())
  .filter((one) => !(one.getAttribute("aria-label") || one.getAttribute("alt") || [...(one.labels ?? [])].some((label) => label.textContent.trim()) ||
    (!["INPUT", "SELECT", "TEXTAREA", "PROGRESS"].includes(one.tagName) && one.textContent.trim())))
  .map((one) => one.outerHTML.slice(0, 120))
"""


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
    found: list[Any] = page.evaluate(_FAINT)
    return found


def nameless_controls(page: Page) -> list[str]:
    """Return controls and pictures without a name that a screen reader could say."""
    found: list[str] = page.evaluate(_NAMELESS)
    return found


def overhang(page: Page) -> int:
    """Return by how many pixels the page is wider than its window."""
    wide: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wide
