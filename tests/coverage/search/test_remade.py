"""Images of a search that are made again and judged as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.coverage.search.searching import Drive, network, searched, tried

from roadworthy.cases import Requirement, Status
from roadworthy.coverage.method import CoverageMethod
from roadworthy.coverage.search import SearchSettings
from roadworthy.coverage.search.settings import SEARCHES
from roadworthy.coverage.search.trials import Remade, Step
from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.runs import run

STEPS = (Step(3, "rotation(angle=6) + brightness(bias=20)"), Step(17, "rain:heavy"))
ONE = Remade("town-000002", 7, 0.5, STEPS)


def test_it_is_written_and_read() -> None:
    settings = SearchSettings(output="speed", only=(ONE,))
    assert SearchSettings.from_parameters(settings.parameters()) == settings
    assert "only" not in SearchSettings().parameters()
    assert "an image that a search made" in settings.text


def remade(rows: list[Any], row: Any) -> Remade:
    """Return how the image of a row is made, from the rows of the tries before it."""
    known, line = {one["case"]: one for one in rows}, [row]
    while line[0]["param.parent"]:
        line.insert(0, known[line[0]["param.parent"]])
    steps = (Step(int(one["case"].removeprefix("try ")), one["param.transform"]) for one in line)
    return Remade(row["param.frame"], row["param.seed"], row["param.bound"], tuple(steps))


@pytest.mark.parametrize("name", SEARCHES)
def test_every_failure_of_a_search_comes_out_as_it_was(tmp_path: Path, name: str) -> None:
    transforms = ["rotation", "gaussian-noise", "blur"]
    searched(tmp_path / "search", search=name, transforms=transforms, **{"lambda": 0.3})
    rows = tried(tmp_path / "search")
    failed = [row for row in rows if row["status"] == "violated"]
    assert name.startswith(("random", "sampled")) or any(row["param.parent"] for row in failed)
    settings = SearchSettings(only=tuple(remade(rows, row) for row in failed))
    asked = Requirement("C1", "…", "coverage", settings.parameters())
    result = run(CoverageMethod(), asked, Drive(), network(), out=tmp_path / "again", gate="off")
    assert result.counts[Status.VIOLATED] == sum(result.counts.values()) == len(failed)
    again = {row["case"]: row for row in tried(tmp_path / "again")}
    same = (
        "margin",
        "images",
        "measure.label",
        "measure.prediction",
        "measure.error",
        "param.depth",
        "param.place",
    )
    for row in failed:
        assert {one: again[row["case"]][one] for one in same} == {one: row[one] for one in same}
        assert again[row["case"]]["param.transform"] == row["param.transform"]
        assert again[row["case"]]["param.parent"] == row["param.parent"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"made": []}, "at least one change"),
        ({"bound": 0.0}, "must be above 0"),
        ({"bound": float("inf")}, "must be above 0"),
        ({"made": [{"number": 3, "transform": "rotation(angle=6)"}] * 2}, "growing numbers"),
        ({"made": [{"number": -1, "transform": "rotation(angle=6)"}]}, "growing numbers"),
        ({"made": [{"number": 3, "transform": "frog"}]}, "frog"),
        ({"made": [{"number": 3}]}, "cannot be made"),
        ({"other": 1}, "has frame, seed, bound and made"),
    ],
)
def test_what_cannot_be_made_again(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Remade.of({**ONE.as_data(), **change})


def test_images_of_one_requirement_have_names_of_their_own() -> None:
    other = Remade("town-000001", 8, 0.5, STEPS)
    with pytest.raises(InputError, match="two images of only are called 'try 000017'"):
        SearchSettings(only=(ONE, other))


@pytest.mark.parametrize("given", [3, None, "try 000017"])
def test_only_is_a_list(given: object) -> None:
    with pytest.raises(InputError, match="only is a list of images of a search"):
        SearchSettings.from_parameters({"only": given})


def test_a_frame_that_is_not_there() -> None:
    with pytest.raises(InputError, match="has no frame 'town-000002', which try 000017 is made of"):
        ONE.source(load("world:town", count=2))
