from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from roadworthy.images import read_image
from roadworthy.transforms.objects import Gallery

Run = Callable[..., Result]
WORLD = ("world:town", "-n", "10", "-o", "size=480x240", "-o", "seed=3")


def test_what_ships_is_listed(roadworthy: Run) -> None:
    result = roadworthy("gallery", "list")
    assert result.exit_code == 0
    assert "215 cut-outs in shipped" in result.stdout
    assert "pedestrian     62: any 12, child 30, wheelchair user 10, pram 10" in result.stdout
    assert "traffic sign   8: stop 1, yield 1, turn 1, 20 speed limit 1, 30 speed limit 1" in result.stdout
    document = json.loads(roadworthy("gallery", "list", "--json").stdout)
    assert document["cut_outs"][0]["element"] == "pedestrian"
    assert len(document["cut_outs"]) == len(Gallery.shipped())


def test_a_harvest_of_the_world(roadworthy: Run, tmp_path: Path) -> None:
    result = roadworthy("gallery", "harvest", *WORLD, "--out", "things", "--smallest", "24", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["gallery"] == "things"
    assert document["frames"] == 10
    taken = document["taken"]
    assert set(taken) == set(document["refused"])
    assert sum(taken.values()) >= 2
    gallery = Gallery.load(tmp_path / "things")
    assert len(gallery) == sum(taken.values())
    assert all(one.source.startswith("world:town:town-") for one in gallery)


def test_a_harvest_says_why_things_were_refused(roadworthy: Run) -> None:
    result = roadworthy("gallery", "harvest", *WORLD, "--out", "cars", "-e", "vehicle", "--smallest", "24")
    assert result.exit_code == 0, result.output
    assert "10 frames of world:town" in result.stdout
    assert "taken; refused: " in result.stdout
    assert "partly hidden" in " ".join(result.stdout.split())
    assert "Wrote cars" in result.stdout


def test_a_gallery_is_not_overwritten_but_may_grow(roadworthy: Run, tmp_path: Path) -> None:
    command = ("gallery", "harvest", *WORLD, "--out", "things", "--smallest", "24", "-e", "vehicle")
    assert roadworthy(*command).exit_code == 0
    before = len(Gallery.load(tmp_path / "things"))
    again = roadworthy(*command)
    assert again.exit_code == 2
    assert "there is a gallery in 'things' already: add to it with --add" in again.stderr
    more = roadworthy(*command, "--add", "-e", "traffic sign")
    assert more.exit_code == 0
    assert len(Gallery.load(tmp_path / "things")) > before


def test_other_data_with_the_same_frame_ids_overwrites_nothing(roadworthy: Run, tmp_path: Path) -> None:
    command = ("gallery", "harvest", "world:town", "-n", "10", "--out", "things", "--smallest", "24")
    by_seed = [(*command, "--add", "-o", "size=480x240", "-o", f"seed={seed}") for seed in (3, 4)]
    assert roadworthy(*by_seed[0]).exit_code == 0
    before = {one.name: one for one in Gallery.load(tmp_path / "things")}
    pixels = {name: one.rgba for name, one in before.items()}
    other = roadworthy(*by_seed[1], "--json")
    assert other.exit_code == 0, other.output
    document = json.loads(other.stdout)
    assert document["already_there"] == 0
    after = {one.name: one for one in Gallery.load(tmp_path / "things")}
    assert len(after) == len(before) + sum(document["taken"].values())
    assert any(name.endswith(".2") for name in after), "choose data in which names clash"
    assert all(np.array_equal(after[name].rgba, pixels[name]) for name in before)
    again = roadworthy(*by_seed[1])
    assert again.exit_code == 0, again.output
    assert f"{sum(document['taken'].values())} of them were there already" in again.stdout
    assert len(Gallery.load(tmp_path / "things")) == len(after)


def test_a_broken_gallery_is_found_before_the_harvest(roadworthy: Run, tmp_path: Path) -> None:
    person = Gallery.shipped().select("pedestrian")[0]
    Gallery([person]).save(tmp_path / "things")
    (tmp_path / "things" / f"{person.name}.png").unlink()
    result = roadworthy("gallery", "harvest", "nowhere", "--out", "things", "--add")
    assert result.exit_code == 2
    assert f"cannot read the cut-out {tmp_path}/things/{person.name}.png: No such file" in result.stderr


def test_nothing_to_cut_out_is_an_error(roadworthy: Run, tmp_path: Path) -> None:
    result = roadworthy("gallery", "harvest", "world:meadow", "-n", "2", "-o", "size=64x32", "--out", "none")
    assert result.exit_code == 2
    assert "nothing in world:meadow could be cut out, so no gallery was written" in result.stderr
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-e", "building"), "cannot harvest 'building'"),
        (("-e", "unicorn"), "'unicorn' is not in the ontology"),
        (("--smallest", "0"), "--smallest must be 1 or more"),
        (("-n", "0"), "--sample must be 1 or more"),
    ],
)
def test_bad_options(roadworthy: Run, options: tuple[str, ...], message: str) -> None:
    result = roadworthy("gallery", "harvest", "world", "--out", "x", *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_sheet_is_drawn(roadworthy: Run, tmp_path: Path) -> None:
    result = roadworthy("gallery", "show", "-e", "red car", "--out", "sheets/red.png")
    assert result.exit_code == 0
    assert "Wrote sheets/red.png with 5 of 215 cut-outs" in result.stdout
    sheet = read_image(tmp_path / "sheets" / "red.png")
    red = (sheet[..., 0] > 90) & (sheet[..., 0] > 2 * sheet[..., 1].astype(int))
    assert red.mean() > 0.02
    missing = roadworthy("gallery", "show", "-e", "tram")
    assert missing.exit_code == 2
    assert "has no 'tram'; it has pedestrian 62" in missing.stderr
    assert roadworthy("gallery", "show", "nowhere").exit_code == 2


def test_an_empty_gallery_cannot_be_drawn(roadworthy: Run, tmp_path: Path) -> None:
    Gallery([]).save(tmp_path / "none")
    result = roadworthy("gallery", "show", "none")
    assert result.exit_code == 2
    assert "the gallery 'none' is empty: there is nothing to draw" in result.stderr
