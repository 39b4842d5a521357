from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from roadworthy.registry import Registry


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution with one plug-in that works and one that does not, seen by fresh registries."""
    site = tmp_path / "site"
    info = site / "fleet_tools-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fleet-tools\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(
        "[roadworthy.datasets]\nfleet = plug_fleet:Fleet\nbroken = plug_broken:Reader\n"
    )
    (site / "plug_fleet.py").write_text(
        'def Fleet(path: str, *, rate: int = 10) -> None:\n    """Our fleet\'s recordings."""\n'
    )
    (site / "plug_broken.py").write_text("import no_such_library\n")
    monkeypatch.syspath_prepend(site)
    registries: list[Registry[Any]] = [
        Registry("datasets", home="roadworthy.no_home"),
        Registry("models", home="roadworthy.no_home"),
    ]

    @registries[1].register("truth", summary="answers with the truth", aliases=["oracle"])
    class Truth:
        pass

    monkeypatch.setattr("roadworthy.registry.all_registries", lambda: tuple(registries))


def test_everything_is_listed_and_fits_80_columns(roadworthy: Callable[..., Result]) -> None:
    result = roadworthy("list")
    assert result.exit_code == 0
    for words in ("datasets", "world", "weather=sunny", "transforms", "models", "truth", "built-in"):
        assert words in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_one_kind(roadworthy: Callable[..., Result]) -> None:
    result = roadworthy("list", "datasets")
    assert "world" in result.stdout
    assert "models" not in result.stdout


@pytest.mark.usefixtures("plugins")
def test_plug_ins_are_listed_with_their_source_and_failures_with_their_error(
    roadworthy: Callable[..., Result],
) -> None:
    result = roadworthy("list")
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert "fleet Our fleet's recordings. fleet-tools 1.2 rate=10" in text
    assert "could not be loaded: ModuleNotFoundError" in text
    assert "no_such_library" in text
    assert "also called oracle" in text


@pytest.mark.usefixtures("plugins")
def test_json_is_one_document(roadworthy: Callable[..., Result]) -> None:
    document = json.loads(roadworthy("list", "--json").stdout)
    assert document["datasets"] == [
        {
            "name": "fleet",
            "aliases": [],
            "summary": "Our fleet's recordings.",
            "source": "fleet-tools 1.2",
            "options": {"rate": "10"},
        }
    ]
    assert document["models"][0]["aliases"] == ["oracle"]
    (failure,) = document["failures"]
    assert (failure["kind"], failure["name"], failure["source"]) == ("datasets", "broken", "fleet-tools 1.2")
    assert "no_such_library" in failure["error"]


def test_an_unknown_kind(roadworthy: Callable[..., Result]) -> None:
    result = roadworthy("list", "dataset")
    assert result.exit_code == 2
    assert "did you mean 'datasets'" in result.stderr


def test_metrics_are_counted_among_all_and_named_when_asked_for(roadworthy: Callable[..., Result]) -> None:
    every = " ".join(roadworthy("list").stdout.split())
    assert "metrics 127 such as ACC" in every
    named = " ".join(roadworthy("list", "metrics").stdout.split())
    assert "SD(LP) standard deviation of lateral position, in m built-in" in named
    document = json.loads(roadworthy("list", "metrics", "--json").stdout)
    assert len(document["metrics"]) == 127
