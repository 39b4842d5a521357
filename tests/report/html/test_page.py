"""The report of a run: what it says, that it needs nothing else, and that it is safe and readable."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import shutil
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.runs_for_reports import EVIL, add, requirement_of

from roadworthy.cases import Acceptance, Severity, Status
from roadworthy.errors import DO_IT_ANYWAY, HOW_ANYWAY, InputError
from roadworthy.report.html import write_report
from roadworthy.report.html.cards import PictureBox, card_of, read, seen_by_people
from roadworthy.report.html.figures import _by_change, _Cases, _limit
from roadworthy.report.html.page import ReportLimits, policy, style
from roadworthy.runs.store import StoredRun
from roadworthy.web.runs import found_in

VOID = {"meta", "input", "img", "br", "rect", "line", "circle", "polyline"}


class Page(HTMLParser):
    """A page, taken apart; complains about tags that are not closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def written(run: StoredRun, path: Path, limits: ReportLimits | None = None) -> Page:
    return Page(write_report(run, path, limits).read_text("utf-8"))


def rule_rows(failing: int, passing: int) -> list[tuple[Any, ...]]:
    return [
        (
            f"town-{place:04d}",
            -1.0 - place / 10 if place < failing else 0.5,
            {"frame": f"town-{place:04d}", "change.1": "rain(amount=0.5)", "output.1": "speed"},
            {"before.1": 10.0, "after.1": 11.0},
        )
        for place in range(failing + passing)
    ]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """A run that nobody changes."""
    folder = tmp_path_factory.mktemp("stored")
    add(
        folder,
        rule_rows(4, 16),
        requirement=requirement_of(
            "R1",
            tags=("ODD:rain", "ISO 21448:2022 clause 7"),
            severity=Severity.CRITICAL,
            acceptance=Acceptance(0.05),  # the lower bound of 4 in 20 is 7.1%
        ),
        visual_change=0.25,
        manifest={
            "seed": 7,
            "models": {"dave2": {"sha256": "ab" * 32}},
            "suite": {"night.suite.yaml": {}},
            "settings": {"title": "Night drives"},
        },
    )
    return add(folder, [("lap", "not applicable", {}, {})], requirement=requirement_of("R2"), system="epoch")


@pytest.fixture(scope="module")
def page(stored: StoredRun) -> Page:
    return written(stored, stored.folder / "report.html")


@pytest.fixture
def run(stored: StoredRun, tmp_path: Path) -> StoredRun:
    """A copy of it, to be changed."""
    shutil.copytree(stored.folder, tmp_path, dirs_exist_ok=True)
    return StoredRun.open(tmp_path)


def test_the_page_tells_what_was_found(page: Page) -> None:
    for words in (
        "violated 1 of 2 requirements is violated; 1 needs more cases to decide.",
        "20.0%",  # the rate
        "40.1%",  # Clopper-Pearson of 4 in 20: betaincinv(5, 16, 0.95)
        "5.0%",  # accepted
        "4 / 20",
        "critical",
        "ODD:rain",
        "ISO 21448:2022 clause 7",
        "10.0 → 11.0 m/s 36.0 → 39.6 km/h",
        "−1.3 m/s −4.68 km/h",
        "rain(amount=0.5)",
        "The 4 worst of 4 failing cases",
        "no study says whether people tolerate it",
        "not applicable the reason 1 1 lap",
        "seed 7",
        "ab" * 32,
        "Night drives",
    ):
        assert words in page.text, words
    order = [page.text.index(f"town-000{place}") for place in (3, 2, 1, 0)]
    assert order == sorted(order)  # the worst first


def test_nothing_is_asked_of_anybody(page: Page) -> None:
    assert not page.all("script")
    assert not page.all("link")
    assert not page.all("iframe")
    for _, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")]
        assert "style" not in attributes  # the policy refuses it
    assert "url(" not in page.html
    assert "@import" not in page.html
    for image in page.all("img"):
        assert str(image["src"]).startswith("data:image/webp;base64,")
    for link in page.all("a"):
        assert re.match(r"#|images/[0-9a-f]{2}/[0-9a-f]{64}\.png$", str(link["href"]))


def test_the_policy_names_the_checksum_of_the_style_sheet(page: Page) -> None:
    (sheet,) = re.findall(r"<style>(.*?)</style>", page.html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy()
    (told,) = [one["content"] for one in page.all("meta") if one.get("http-equiv")]
    assert told == policy()
    assert "default-src 'none'" in policy()


def test_whatever_a_run_says_stays_text(tmp_path: Path) -> None:
    evil = requirement_of(EVIL, text=EVIL, tags=(EVIL,))
    rows: list[tuple[Any, ...]] = [
        (
            f"{EVIL}/{place}",
            value,
            {"frame": EVIL, "change.1": EVIL, "output.1": EVIL},
            {"before.1": 1.0, EVIL: EVIL},
        )
        for place, value in enumerate((-1.0, "error", "not applicable", 1.0))
    ]
    manifest = {
        "seed": 7,
        "notes": {"run": [EVIL], "models": {EVIL: {EVIL: [EVIL]}}},
        EVIL: {EVIL: EVIL},
        "suite": {EVIL: {}},
        "started": EVIL,
        "tool": {"version": EVIL},
    }
    run = add(tmp_path, rows, requirement=evil, system=EVIL, reason=EVIL, manifest=manifest)
    page = written(run, tmp_path / "report.html")
    assert not page.all("script")
    assert not [one for one in page.all("img") if one.get("src") == "x"]
    assert "<script>" not in page.html
    assert page.text.count("<script>alert('x')</script>") >= 10


def test_lone_surrogates_and_control_characters_do_not_stop_it(tmp_path: Path) -> None:
    run = add(tmp_path, [("a\udcff\x07b", -1.0, {}, {})], requirement=requirement_of(text="über \ud800 \x00"))
    assert "über" in written(run, tmp_path / "report.html").text


def test_headings_images_and_tables_can_be_read_aloud(page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.all("html") == [{"lang": "en"}]
    assert all(image["alt"] for image in page.all("img"))
    assert all("scope" in header for header in page.all("th"))
    charts = [one for one in page.all("svg") if one.get("aria-hidden") != "true"]
    assert charts
    assert page.html.count('role="img"><title>') == len(charts)
    ids = [one["id"] for _, one in page.tags if "id" in one]
    assert len(ids) == len(set(ids))
    inside = {str(link["href"])[1:] for link in page.all("a") if str(link["href"]).startswith("#")}
    assert inside <= set(ids)


def _tokens(css: str, dark: bool) -> dict[str, str]:
    light, rest = css.split("@media screen and (prefers-color-scheme: dark)")
    return dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6});", rest.partition("@media")[0] if dark else light))


def _contrast(one: str, other: str) -> float:
    def light(color: str) -> float:
        values = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in values]
        return float(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_from_what_is_behind_it(dark: bool) -> None:
    """The Web Content Accessibility Guidelines ask for 4.5 to 1."""
    colors = _tokens(str(style()), dark)
    pairs = [
        (text, ground) for text in ("--text", "--text-dim", "--accent") for ground in ("--page", "--surface")
    ]
    pairs += [("--text", "--surface-2"), ("--text-dim", "--surface-2"), ("--text-dim", "--quiet-soft")]
    pairs += [(f"--{one}", f"--{one}-soft") for one in ("good", "bad", "warn", "error")]
    pairs += [(f"--{one}", "--surface") for one in ("good", "bad", "warn", "error")]
    pairs += [("--text", f"--{one}-soft") for one in ("good", "bad", "warn", "error")]
    for text, ground in pairs:
        assert _contrast(colors[text], colors[ground]) >= 4.5, (text, ground, dark)


def test_the_change_is_marked_where_it_is_one_place(page: Page) -> None:
    marks = [one for one in page.all("rect") if one.get("class") == "change"]
    assert len(marks) == 4
    assert (marks[0]["x"], marks[0]["y"]) == (
        "38.0",
        "8.0",
    )  # the square begins at 40, 10; there is some room


def test_links_to_images_only_beside_the_run(run: StoredRun, tmp_path: Path) -> None:
    beside = written(run, tmp_path / "report.html")
    (tmp_path / "other").mkdir()
    elsewhere = written(run, tmp_path / "other" / "report.html")
    targets = [str(link["href"]) for link in beside.all("a") if "images/" in str(link["href"])]
    assert len(targets) == 8
    assert all((tmp_path / one).is_file() for one in targets)
    assert not [link for link in elsewhere.all("a") if "images/" in str(link["href"])]
    assert len(elsewhere.all("img")) == len(beside.all("img"))


def test_a_run_without_manifest_or_images_says_so(tmp_path: Path) -> None:
    run = add(tmp_path, [("a", -1.0, {}, {})], images=False)
    text = written(run, tmp_path / "report.html").text
    assert "This run has no manifest" in text
    assert "No image of this case was kept." in text


def test_images_that_were_cleared_away_are_told(run: StoredRun, tmp_path: Path) -> None:
    for path in (tmp_path / "images").rglob("*.png"):
        path.unlink()
    page = written(run, tmp_path / "report.html")
    assert "Images of 4 of them are missing from the run's folder." in page.text
    assert not page.all("img")


@pytest.mark.parametrize(
    ("ended", "words"), [(None, "not ended"), ("2026-11-15T22:05:59+00:00", "ended 2026-11-15 22:05 UTC")]
)
def test_when_it_was_run_and_with_what_is_told(tmp_path: Path, ended: str | None, words: str) -> None:
    times = {"started": "2026-11-15T21:35:33+00:00", "ended": ended, "seed": 7, "tool": {"version": "1.2"}}
    page = written(add(tmp_path, [("a", 1.0, {}, {})], manifest=times), tmp_path / "report.html")
    said = f"begun 2026-11-15 21:35 UTC · {words} · seed 7 · tested by Roadworthy 1.2"
    assert said in page.text


def test_an_unfinished_run_is_called_so(tmp_path: Path) -> None:
    run = add(tmp_path, [("a", 1.0, {}, {})], concluded=False)
    page = written(run, tmp_path / "report.html")
    assert "unfinished The requirement was not fully tested." in page.text


def test_a_run_in_which_nothing_failed(tmp_path: Path) -> None:
    run = add(tmp_path, [(str(place), 1.0, {}, {}) for place in range(3)], requirement=requirement_of())
    text = written(run, tmp_path / "report.html").text
    assert "passed The requirement held in every case tried." in text
    assert "Cases not judged" not in text


def test_what_was_not_judged_is_told_though_nothing_failed(tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [("a", 1.0, {}, {}), ("b", "not applicable", {}, {})]
    text = written(add(tmp_path, rows, requirement=requirement_of()), tmp_path / "report.html").text
    assert "passed The requirement held in every case tried." in text
    assert "not applicable the reason 1 1 b" in text


def test_how_what_looks_drawn_is_made_is_said_once_below_the_reasons(tmp_path: Path) -> None:
    none: list[tuple[Any, ...]] = [("b", "not applicable", {}, {})]
    add(tmp_path, none, requirement=requirement_of("R1"), reason=f"harsh sun; {DO_IT_ANYWAY}")
    run = add(tmp_path, none, requirement=requirement_of("R2"), reason="harsh sun")
    page = written(run, tmp_path / "report.html").text
    assert "not applicable harsh sun 2 2 b" in page
    _, _, below = page.rpartition("Cases not judged")
    assert below.count(DO_IT_ANYWAY) == below.count(HOW_ANYWAY) == 1
    found = found_in(tmp_path, 1)
    assert (found.reasons, found.remedy) == ((("harsh sun", 2),), HOW_ANYWAY)


def test_cases_that_crashed_are_among_those_that_fail(tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [("a", "error", {}, {}), ("b", -1.0, {}, {}), ("c", 1.0, {}, {})]
    text = written(add(tmp_path, rows), tmp_path / "report.html").text
    assert "2 / 3" in text
    assert "2 of 2 failing cases are shown" in text


def test_infinite_margins_and_specifications(tmp_path: Path) -> None:
    corners = {f"{kind}.{side}": 5.0 for kind in ("truth",) for side in ("x1", "y1", "x2", "y2")}
    rows: list[tuple[Any, ...]] = [
        ("a#0", -math.inf, {"frame": "a"}, {"expected": "stop", "iou": 0.0, **corners}),
        ("b", 2.0, {}, {}),
        ("c", -2.0, {}, {}),
    ]
    run = add(tmp_path, rows, requirement=requirement_of(method="bbsl"))
    text = written(run, tmp_path / "report.html").text
    assert "−∞ px" in text
    assert "1 more are infinite, 1 of them failing." in text


def test_what_people_tolerate_is_told(tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [
        ("a", -1.0, {}, {"tolerated": True}),
        ("b", -1.0, {}, {"tolerated": False}),
        ("c", 1.0, {}, {}),
    ]
    run = add(tmp_path, rows, visual_change=0.3)
    text = written(run, tmp_path / "report.html").text
    assert "1 of 2 failures under changes that people tolerate" in text
    assert "0.30 people tolerate it" in text
    assert "0.30 beyond what people tolerate" in text


@pytest.mark.parametrize(
    ("change", "kind"), [(0.0, "inside"), (0.8, "inside"), (0.1 * 8 + 1e-12, "inside"), (0.81, "outside")]
)
def test_the_end_of_the_tolerated_range_belongs_to_it(change: float, kind: str) -> None:
    asked = requirement_of(method="reliability", parameters={"limit": 0.8})
    found = seen_by_people(asked, {"visual_change": change})
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize(
    ("output", "before", "after", "words"),
    [
        ("speed", 10.0, 5.0, ("10.0 → 5.0 m/s", "36.0 → 18.0 km/h")),
        ("steering", 2.0, -1.5, "2.0° right → 1.5° left"),
        ("steering", 0.04, -0.04, "0.0° → 0.0°"),
        ("distance", 2.0, 1.5, "2 → 1.5"),
    ],
)
def test_answers_are_told_in_the_units_of_drivers(
    output: str, before: float, after: float, words: object
) -> None:
    row = {"param.change.1": "rain()", "param.output.1": output}
    found = read(requirement_of(), {**row, "measure.before.1": before, "measure.after.1": after})
    assert found.answers == ((output, words),)


def test_the_tolerated_range_is_shaded(tmp_path: Path) -> None:
    asked = requirement_of(method="reliability", parameters={"limit": 0.8, "source": "Hu et al."})
    rows: list[tuple[Any, ...]] = [
        (f"f#{place}", -1.0 if place > 6 else 0.5, {"frame": "f"}, {}) for place in range(10)
    ]
    run = add(tmp_path, rows, requirement=asked, visual_change=0.7)
    page = written(run, tmp_path / "report.html")
    (band,) = [one for one in page.all("rect") if one.get("class") == "tolerated"]
    assert float(str(band["width"])) == pytest.approx(0.8 * 310)  # of an axis from 0 to 1
    assert "Shaded: what people tolerate, up to 0.8 (Hu et al.)." in page.text
    assert "0.70 people tolerate it (up to 0.8)" in page.text


def test_where_the_change_is_not_measured_everywhere_numbers_are_told_and_no_shares(tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [("a", -1.0, {}, {}), ("b", -1.0, {}, {}), ("c", "error", {}, {})]
    text = written(add(tmp_path, rows, visual_change=0.3), tmp_path / "report.html").text
    assert "Number of failing cases by visual change" in text
    assert "and is unknown for 1 of the cases judged." in text
    known = written(add(tmp_path / "all", rows[:2], visual_change=0.3), tmp_path / "report.html").text
    assert "Share of failing cases by visual change" in known


def test_the_growth_of_a_search_is_drawn(tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [("town-1", "not applicable", {"place": 0}, {"label": 1.0})]
    for place in range(1, 9):
        known = {"place": 0, "transform": "blur(2)", "parent": ""}
        rows.append((f"try {place:06d}", -1.0, known, {"coverage": 0.2 + place / 20, "gain": 0.05}))
    run = add(tmp_path, rows, requirement=requirement_of(method="coverage"))
    text = written(run, tmp_path / "report.html").text
    assert "Blue: coverage, from 20.0% (originals) to 60.0%." in text
    assert (
        "A search follows the answers and looks for failures: it tells what it found, not how often" in text
    )


@pytest.mark.parametrize(("clusters", "told"), [(10, "5 / 20 10 clusters ≈ 11 independent"), (20, "5 / 20 ")])
def test_how_much_cases_of_drives_are_worth_is_told(tmp_path: Path, clusters: int, told: str) -> None:
    run = add(tmp_path, rule_rows(5, 15), cluster=lambda name: f"drive {int(name[-4:]) * clusters // 20}")
    page = written(run, tmp_path / "report.html").text
    assert told in page
    assert ("clusters ≈" in page) == (clusters < 20)


def test_thresholds_of_driving_are_drawn(tmp_path: Path) -> None:
    oracle = {"thresholds": {"SD(LP)": 0.2}, "directions": {"SD(LP)": "up"}}
    rows: list[tuple[Any, ...]] = [
        (f"sector {place}", 0.2 - place / 10, {"sector": str(place)}, {"SD(LP)": place / 10})
        for place in range(1, 6)
    ]
    run = add(
        tmp_path,
        rows,
        requirement=requirement_of(method="driving", parameters={"oracle": oracle}),
        images=False,
    )
    page = written(run, tmp_path / "report.html")
    assert (
        "Standard deviation of lateral position, in m. Line: the threshold, ≤ 0.2. Red: 3 of 5 beyond it."
        in page.text
    )
    assert "0.5 (must be ≤ 0.2)" in page.text
    assert len([one for one in page.all("circle") if one["class"] == "bad"]) == 3


def test_thresholds_from_below_are_told_so() -> None:
    oracle = {
        "thresholds": {"SD(LP)": 0.2, "Min(TTC)": 1.5},
        "directions": {"SD(LP)": "up", "Min(TTC)": "down"},
    }
    asked = requirement_of(method="driving", parameters={"oracle": oracle})
    row = {"measure.SD(LP)": 0.1, "measure.Min(TTC)": 1.0, "margin": -0.5}
    found = read(asked, row)
    assert found.answers == (("SD(LP)", "0.1 (must be ≤ 0.2)"), ("Min(TTC)", "1 (must be ≥ 1.5)"))
    assert found.margin == "−0.5 of the threshold"


def test_boxes_of_a_specification_are_drawn_where_all_their_corners_are_known() -> None:
    corners = {f"measure.truth.{side}": float(place) for place, side in enumerate(("x1", "y1", "x2", "y2"))}
    row: dict[str, float | str] = {
        **corners,
        "measure.detection.x1": 3.0,
        "measure.expected": "stop",
        "measure.found": "go",
        "margin": -2.5,
    }
    found = read(requirement_of(method="bbsl"), row)
    assert found.boxes == (PictureBox("truth", (0.0, 1.0, 2.0, 3.0)),)
    assert found.answers == (("expected", "stop"), ("found", "go"))
    assert found.margin == "−2.5 px"


def test_the_page_is_bounded_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    for place in range(12):
        for system in ("a", "b", "c"):
            add(tmp_path, rule_rows(3, 1), requirement=requirement_of(f"R{place:02d}"), system=system)
    run = StoredRun.open(tmp_path)
    page = written(
        run,
        tmp_path / "report.html",
        ReportLimits(lines=20, sections=4, systems=2, cards=6, image_bytes=10_000),
    )
    assert "16 of 36 lines, the best ones, are not shown" in page.text
    assert "6 of 108 failing cases are shown" in page.text
    assert "8 of 12 requirements, the best ones, are not shown" in page.text
    assert "1 more models, the best ones, are not shown" in page.text
    assert "This page has no room for more images" in page.text or len(page.all("img")) == 12
    assert len(page.all("article")) == 6
    assert len(page.html) < 150_000


def test_long_words_are_cut(tmp_path: Path) -> None:
    long = "x" * 100_000
    run = add(
        tmp_path, [(long, -1.0, {"why": long}, {})], requirement=requirement_of(text=long, tags=(long,) * 50)
    )
    assert len(written(run, tmp_path / "report.html").html) < 100_000


def test_the_same_run_gives_the_same_bytes(run: StoredRun, tmp_path: Path) -> None:
    first = write_report(run, tmp_path / "report.html").read_bytes()
    assert write_report(StoredRun.open(tmp_path), tmp_path / "report.html").read_bytes() == first


def test_a_place_that_cannot_be_written_is_refused(stored: StoredRun, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        write_report(stored, tmp_path / "nowhere" / "report.html")
    assert not list(tmp_path.glob("*.html"))


def test_counts_are_those_of_the_rows(run: StoredRun, tmp_path: Path) -> None:
    text = written(run, tmp_path / "report.html").text
    counted = {status: sum(pair.counts[status] for pair in run.pairs) for status in Status}
    assert f"{sum(counted.values())} cases tried" in text
    assert f"{counted[Status.VIOLATED] + counted[Status.ERROR]} failed" in text


def test_the_outline_is_that_of_the_last_change() -> None:
    class Picture:
        def __init__(self, place: int | None) -> None:
            self.image = np.full((40, 80, 3), 90, np.uint8)
            if place is not None:
                self.image[10:20, place : place + 10] = 255

    class Three:
        def of(self, digests: list[str]) -> list[Picture]:
            return [Picture(place) for place in (None, 5, 60)]

    row: Any = {"case": "a", "status": "violated", "margin": -1.0, "visual_change": None, "reason": None}
    card = card_of(requirement_of(), row, ["a", "b", "c"], Three())  # type: ignore[arg-type]
    assert card.region is not None
    assert card.region.corners[0] > 50


def test_a_limit_is_that_of_the_only_change_and_what_is_unknown_gives_no_figure(tmp_path: Path) -> None:
    def found(name: str, *changes: str, **others: Any) -> list[str]:
        rows: list[Any] = [(f"c{n}", -1.0, {"change.1": change}, {}) for n, change in enumerate(changes)]
        run = add(tmp_path / name, rows, visual_change=0.5, **others)
        (result,) = run.pairs
        cases = _Cases(run, result)  # type: ignore[arg-type]
        return [str(_limit(cases)[0]), str(_by_change(cases) is not None)]

    assert found("one", "contrast(gain=1)", "contrast(gain=2)") == ["0.77", "True"]
    assert found("two", "contrast(gain=1)", "jpeg(quality=3)") == ["None", "True"]
    add(tmp_path / "half", [("a", 1.0, {}, {})], visual_change=0.5)
    both = add(tmp_path / "half", [("b", -1.0, {}, {})], requirement=requirement_of("R2"))
    first, second = (_by_change(_Cases(both, one)) for one in both.pairs)  # type: ignore[arg-type]
    assert first is not None
    assert second is None
    mixed = add(tmp_path / "mixed", [("a", 1.0, {}, {}), ("b", "error", {}, {})], visual_change=0.5)
    (result,) = mixed.pairs
    assert _by_change(_Cases(mixed, result)) is None, "what failed has no known change"  # type: ignore[arg-type]
