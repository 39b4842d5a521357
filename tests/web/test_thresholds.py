"""The page Thresholds: published ones, and those of answers that were given on the page."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from tests.studies.planned import glance_experiment
from tests.web.client import Browser, Client

from roadworthy.reliability.human import SimulatedHumans, estimate_threshold, rule_named
from roadworthy.reliability.human.answers import read_human
from roadworthy.studies.glances import GlancePlan
from roadworthy.studies.study import AnswerFiles
from roadworthy.visual_change.tolerance import human_studies
from roadworthy.web.app import create_app
from roadworthy.web.settings import ServerSettings
from roadworthy.web.thresholds import find_thresholds, has_answers, threshold_chart


def browser(*folders: Path) -> Browser:
    return Browser(Client(create_app(ServerSettings(folders[0] / "out", folders))))


def counts(folder: Path) -> Path:
    """Counted answers of simulated people, in the columns that the authors publish."""
    folder.mkdir()
    people = SimulatedHumans(threshold=0.6).answer()
    with (folder / "imagenet_c_p_frost.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["IQA", "Accuracy", "Count", "Num_Accs"])
        for edge, share, count in zip(people.edges, people.shares, people.counts, strict=True):
            table.writerow([f"{edge:.2f}", share, int(count), round(share * count)])
    return folder


def test_counted_answers_have_the_thresholds_of_the_command(tmp_path: Path) -> None:
    folder = counts(tmp_path / "published")
    # Published answers are shown by the rule of the command, which gives the paper's numbers.
    (found,) = find_thresholds(folder, rule="imagenet", samples=40).thresholds
    (bins,) = read_human(folder).bins
    one = estimate_threshold(bins, rule=rule_named("imagenet"), samples=40)
    assert (found.value, found.spread, found.interval) == (one.value, one.spread, one.interval)
    assert one.spread is not None
    page = browser(folder).settled("/thresholds/published?samples=40").text
    assert f"<b>{one.value:.2f}</b>" in page
    assert f"{one.spread[0]:.2f}–{one.spread[1]:.2f}" in page
    assert "<option selected>imagenet</option>" in page
    careful = browser(folder).settled("/thresholds/published?samples=0&rule=careful").text
    assert "<option selected>careful</option>" in careful


def test_what_is_published_is_shown(tmp_path: Path) -> None:
    page = browser(tmp_path).page("/thresholds").text
    for study in human_studies().values():
        for one in study.tolerances.values():
            assert one.transformation in page
    assert "reliability plan" in page


def test_an_experiment_without_answers_says_what_to_do(tmp_path: Path) -> None:
    folder = glance_experiment(tmp_path / "experiment")
    assert has_answers(folder)
    opened = browser(folder)
    assert 'href="/thresholds/experiment"' in opened.page("/thresholds").text
    page = opened.settled("/thresholds/experiment").text
    assert "No threshold yet" in page
    assert "no answers yet" in page
    assert 'href="/studies/experiment/itself"' in page


def answered(folder: Path, people: int) -> None:
    """Let people answer rightly, in the files that the page writes."""
    made = GlancePlan.read(folder)
    files = AnswerFiles(folder, ("item", "rater", "answer", "time"))
    for number in range(people):
        rater = f"p{number}"
        batches = [one for one in made.batches if one.track == 1 + number % made.tracks]
        known = {**made.items, **made.checks}
        files.write(
            rater,
            [
                {"item": id, "rater": rater, "answer": known[id].truth, "time": "0.5"}
                for batch in batches
                for id in batch.items
            ],
        )


def test_answers_of_the_page_become_thresholds(tmp_path: Path) -> None:
    folder = glance_experiment(tmp_path / "experiment", batch=20, pictures=100)
    answered(folder, 12)
    found = find_thresholds(folder, rule="careful", samples=20, width=0.1)
    assert found.people == "1200 answers of 12 people; 0 missing or late"
    assert [(one.bins.transformation, one.bins.requirement) for one in found.thresholds] == [
        ("frost", "correctness"),
        ("frost", "prediction"),
    ]
    # Everybody is right about everything: there is no drop, and the end of what was shown is no threshold.
    assert not any(one.found for one in found.thresholds)
    opened = browser(folder)
    page = opened.settled("/thresholds/experiment?width=0.1&samples=0").text
    wider = opened.settled("/thresholds/experiment?width=0.2&samples=0").text
    assert 0 < wider.count("<circle") < page.count("<circle")
    assert "1200 answers of 12 people" in page
    assert page.count("no drop found") == 2
    assert "<td>t_c</td>" in page
    assert "<option selected>careful</option>" in page
    assert page.count('<svg class="chart"') == 2


def test_people_who_fail_the_checks_are_named(tmp_path: Path) -> None:
    folder = glance_experiment(tmp_path / "experiment", batch=20, pictures=100)
    answered(folder, 12)
    path = folder / "answers" / "p0.csv"
    path.write_text(path.read_text().replace("not car", "?").replace("car", "not car").replace("?", "car"))
    found = find_thresholds(folder, rule="careful", samples=0, width=0.1)
    assert any(one.startswith("left out: p0") for one in found.left_out)


def test_charts_and_numbers_are_those_of_the_estimate() -> None:
    one = estimate_threshold(SimulatedHumans(threshold=0.6).answer(), rule=rule_named("careful"), samples=60)
    drawn = str(threshold_chart(one))
    assert drawn.count("<circle") == len(one.bins.edges)
    assert 'class="threshold"' in drawn
    assert 'class="spread"' in drawn


@pytest.mark.parametrize("query", ["rule=none", "samples=-1", "width=0", "samples=1000000"])
def test_wishes_that_cannot_be(tmp_path: Path, query: str) -> None:
    folder = glance_experiment(tmp_path / "experiment")
    answered(folder, 2)
    answer = browser(folder).settled(f"/thresholds/experiment?{query}")
    assert answer.status == 422 or "No threshold yet" in answer.text


def test_folders_that_are_none(tmp_path: Path) -> None:
    assert browser(tmp_path).page("/thresholds/none").status == 404
