"""The documentation site: it builds without a warning, asks no other host, and is searched from the disk."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REPOSITORY = Path(__file__).resolve().parents[2]
LOADS = {"src", "srcset", "poster", "data"}
"""Attributes whose address a browser fetches by itself, as it does the `href` of a link element."""


def build(folder: Path, *, api: bool) -> Path:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    settings = {"NO_MKDOCS_2_WARNING": "1", "SITE_API": str(api).lower()}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=os.environ | settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="the extra docs is not installed")
    return build(tmp_path_factory.mktemp("site"), api=False)


class _Fetched(HTMLParser):
    """Collects what a browser fetches when it opens a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (name in LOADS or (name == "href" and tag == "link")):
                self.addresses.append(value)


def foreign(folder: Path) -> Iterator[str]:
    """Yield what the pages and style sheets of a site would fetch from other hosts."""
    for page in folder.rglob("*.html"):
        parser = _Fetched()
        parser.feed(page.read_text("utf-8"))
        yield from (f"{page.name}: {one}" for one in parser.addresses if urlsplit(one).netloc)
    for sheet in folder.rglob("*.css"):
        text = sheet.read_text("utf-8")
        found = [*re.findall(r"url\(['\"]?([^'\")]+)", text), *re.findall(r"@import\s+['\"]([^'\"]+)", text)]
        yield from (f"{sheet.name}: {one}" for one in found if urlsplit(one).netloc)


def test_nothing_is_fetched_from_another_host(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) > 50
    assert list(foreign(site)) == []


def test_a_foreign_host_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<script src="https://cdn.example/x.js"></script><a href="https://other.example">a</a><img src=b.png>'
    )
    (tmp_path / "a.css").write_text(
        "@font-face { src: url(//fonts.example/f.woff2) } p { background: url(b.png) }"
    )
    assert list(foreign(tmp_path)) == ["a.html: https://cdn.example/x.js", "a.css: //fonts.example/f.woff2"]


def test_files_of_the_repository_that_pages_link_to_are_pages(site: Path) -> None:
    listed = (site / "files/examples/bbsl/index.html").read_text("utf-8")
    assert "listing1_distance.bbsl.html" in listed
    assert "endexfunction" in (site / "files/examples/bbsl/listing1_distance.bbsl.html").read_text("utf-8")
    assert "../files/examples/bbsl/listing1_distance.bbsl.html" in (
        site / "howto/stop-in-time.html"
    ).read_text("utf-8")


def test_every_command_is_on_its_page(site: Path) -> None:
    text = (site / "commands.html").read_text("utf-8")
    for words in ("rules run", "bbsl check", "evidence verify", "driving oracle"):
        assert f'id="{words.replace(" ", "-")}"' in text, words


def test_it_is_searched_from_the_disk(site: Path, chromium: Browser) -> None:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((site / "index.html").as_uri())
    words = page.locator("input.md-search__input")
    words.click()
    page.get_by_text("Type to start searching").wait_for(timeout=60_000)
    words.press_sequentially("exclusionary")
    first = page.locator(".md-search-result__item a").first
    first.wait_for(timeout=60_000)
    assert "bbsl" in str(first.get_attribute("href"))
    page.set_viewport_size({"width": 390, "height": 844})
    for name in ("index", "tutorial", "howto/stop-in-time", "metrics", "suites"):
        page.goto((site / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
    assert [one for one in asked if urlsplit(one).scheme not in ("file", "data", "blob")] == []
    assert complaints == []
    context.close()


@pytest.mark.slow
def test_the_whole_site_builds(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="the extra docs is not installed")
    built = build(tmp_path / "site", api=True)
    assert "from_kitti" in (built / "api/roadworthy.frames.html").read_text("utf-8")
    assert list(foreign(built)) == []
