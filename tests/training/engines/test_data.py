"""Pictures, feeds and holes: what networks are trained with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scripts.engines.rendering import pairs

from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.training.engines.feed import DomainFeed, PictureFeed, holes, with_hole
from roadworthy.training.engines.pairs import CHANGES, PairSource
from roadworthy.training.engines.pictures import Pictures, classes_in, prepared, read_pictures

CPU = torch.device("cpu")


def numbered(count: int = 6, size: tuple[int, int] = (6, 10)) -> Pictures:
    """Pictures whose labels tell the colour of each pixel, so that both must move together."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 250, (count, *size), dtype=np.uint8)
    return Pictures("numbered", {"image": np.repeat(labels[..., None], 3, axis=3), "labels": labels})


@pytest.mark.parametrize("crop", [None, (4, 4)])
def test_all_that_belongs_to_a_picture_moves_with_it(crop: tuple[int, int] | None) -> None:
    feed = PictureFeed([numbered()], CPU, mirror=0.5, crop=crop, seed=3)
    seen = set()
    for step in range(8):
        batch = feed.batch(step, 4)
        levels = ((batch["image"] + 1) * 127.5).round()
        assert torch.equal(levels[:, :1], batch["labels"].float())
        assert batch["image"].shape[2:] == (crop or (6, 10))
        seen.add(tuple(batch["labels"].flatten().tolist()))
    assert len(seen) == 8


def test_a_batch_depends_on_seed_and_step_alone() -> None:
    one, other = (
        PictureFeed([numbered()], CPU, mirror=0.5, seed=3),
        PictureFeed([numbered()], CPU, mirror=0.5, seed=3),
    )
    other.batch(0, 4)
    assert torch.equal(one.batch(5, 4)["image"], other.batch(5, 4)["image"])
    different = PictureFeed([numbered()], CPU, mirror=0.5, seed=4)
    assert not torch.equal(one.batch(5, 4)["image"], different.batch(5, 4)["image"])


def test_mirrored_pictures_are_mirrored() -> None:
    pictures = numbered()
    plain, turned = (
        PictureFeed([pictures], CPU, seed=1).batch(0, 3),
        PictureFeed([pictures], CPU, mirror=1.0, seed=1).batch(0, 3),
    )
    assert torch.equal(plain["image"], turned["image"].flip(-1))


def test_groups_of_other_sizes_take_turns_by_their_number() -> None:
    feed = PictureFeed([numbered(30), numbered(10, (8, 8))], CPU)
    small = sum(feed.batch(step, 2)["image"].shape[2:] == (8, 8) for step in range(200))
    assert 25 < small < 75
    assert feed.part(8, 4, 1)["image"].shape == (2, 3, 8, 8)


def test_what_is_measured_is_cut_out_of_the_middle() -> None:
    pictures = numbered(2)
    found = PictureFeed([pictures], CPU, crop=(4, 4)).part(0, 2)["labels"]
    assert np.array_equal(found[:, 0].numpy(), pictures.arrays["labels"][:, 1:5, 3:7])


def test_a_crop_that_is_too_large() -> None:
    with pytest.raises(InputError, match="cannot cut"):
        PictureFeed([numbered()], CPU, crop=(7, 4))


def test_two_domains_are_drawn_apart() -> None:
    feed = DomainFeed(PictureFeed([numbered()], CPU, seed=1), PictureFeed([numbered()], CPU, seed=2))
    batch = feed.batch(0, 4)
    assert not torch.equal(batch["a"], batch["b"])


def test_holes_have_the_shape_of_a_class_and_reach_a_little_over_it() -> None:
    labels = torch.zeros(16, 1, 48, 64, dtype=torch.uint8)
    labels[:, :, 20:30, 10:40] = 1
    found = holes(labels, 3, torch.Generator().manual_seed(0))
    thing = labels == 1
    around = torch.nn.functional.max_pool2d(thing.float(), 15, 1, 7)
    assert (found[thing] == 1).float().mean() > 0.9
    assert float((found * (1 - around)).sum()) == 0
    assert float(found.sum()) > float(thing.sum())


def test_holes_are_of_other_pictures_as_well() -> None:
    labels = torch.zeros(12, 1, 48, 64, dtype=torch.uint8)
    for number in range(12):
        labels[number, :, 8 : 14 + number, 8:20] = 1 + number % 2
    found = holes(labels, 3, torch.Generator().manual_seed(1))
    own = (found * (labels > 0)).sum((1, 2, 3)) == (labels > 0).sum((1, 2, 3))
    assert 0 < int((~own).sum()) < 12


def test_where_no_class_fits_a_box_is_the_hole() -> None:
    found = holes(torch.zeros(8, 1, 32, 32, dtype=torch.uint8), 2, torch.Generator().manual_seed(0))
    share = found.mean((1, 2, 3))
    assert (share > 0).all()
    assert (share < 0.2).all()


def test_what_is_seen_around_a_hole() -> None:
    image, hole = torch.full((1, 3, 2, 2), 0.5), torch.tensor([[[[1.0, 0.0], [0.0, 0.0]]]])
    seen = with_hole(image, hole)
    assert seen[0, :, 0, 0].tolist() == [0, 0, 0, 1]
    assert seen[0, :, 1, 1].tolist() == [0.5, 0.5, 0.5, 0]
    assert with_hole(image, hole, -image)[0, :, 0, 0].tolist() == [-0.5, -0.5, -0.5, 1]


def test_frames_are_read_with_labels_and_edges(tmp_path: Path) -> None:
    data = load("world:town", count=3, size="64x32")
    pictures = read_pictures(data, (32, 64), classes=["sky", "road"], edges=True, folder=tmp_path / "one")
    frame = data[1]
    assert frame.labels is not None
    assert np.array_equal(pictures.arrays["image"][1], frame.image)
    assert np.array_equal(pictures.arrays["labels"][1] == 0, frame.labels.mask("sky"))
    assert set(np.unique(pictures.arrays["edges"])) == {0, 1}
    # In a smaller image, the middle of each block of labels is seen, and both sides of an edge are marked.
    small = read_pictures(data, (8, 16), classes=["sky", "road"], edges=True).arrays
    smaller = small["edges"]
    assert np.array_equal(small["labels"][1] == 0, frame.labels.mask("sky")[2::4, 2::4])
    assert frame.instances is not None
    things = np.where(frame.instances > 0, frame.instances.astype(int) + 1000, frame.labels.ids)[2::4, 2::4]
    wide = np.pad(things, 1, mode="edge")
    beside = [wide[1:-1, :-2], wide[1:-1, 2:], wide[:-2, 1:-1], wide[2:, 1:-1]]
    assert np.array_equal(smaller[1], np.any([one != things for one in beside], axis=0))
    again = read_pictures(data, (32, 64), classes=["sky", "road"], edges=True, folder=tmp_path / "one")
    assert again.sha256 == pictures.sha256
    with pytest.raises(InputError, match="holds pictures made from other data"):
        read_pictures(data, (16, 32), classes=["sky", "road"], edges=True, folder=tmp_path / "one")
    # Of the same name and length, and other frames.
    night = load("world:town", count=3, size="64x32", time="night")
    with pytest.raises(InputError, match="holds pictures made from other data"):
        read_pictures(night, (32, 64), classes=["sky", "road"], edges=True, folder=tmp_path / "one")


def test_labels_are_needed_where_they_are_asked_for() -> None:
    class Unlabelled:
        name = "unlabelled"

        def __len__(self) -> int:
            return 1

        def __getitem__(self, number: int) -> object:
            return load("world:town", count=1)[0].replace(labels=None)

        def __iter__(self) -> object:
            return iter([self[0]])

    with pytest.raises(InputError, match="has no label map"):
        read_pictures([Unlabelled()], (32, 64), classes=["road"])  # type: ignore[list-item]
    with pytest.raises(InputError, match="has no label map"):
        classes_in([Unlabelled()[0]], ["road"])  # type: ignore[list-item]


def test_what_is_made_already_is_not_made_again(tmp_path: Path) -> None:
    made: list[int] = []

    def work(job: int) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.uint8]]]:
        made.append(job)
        return {"image": np.full((1, 2, 2, 3), job, np.uint8)}

    first = prepared("numbers", [1, 2, 3], work, folder=tmp_path / "kept", identity={"a": 1})
    (tmp_path / "kept" / "part-00001.npz").unlink()
    second = prepared("numbers", [1, 2, 3], work, folder=tmp_path / "kept", identity={"a": 1})
    assert made == [1, 2, 3, 2]
    assert first.sha256 == second.sha256
    with pytest.raises(InputError, match="no frame that can be used"):
        prepared("nothing", [1], lambda _: {})


def test_pictures_are_never_divided_at_random() -> None:
    first, last = numbered(10).split(0.2)
    assert (len(first), len(last)) == (8, 2)
    assert np.array_equal(last.arrays["labels"], numbered(10).arrays["labels"][8:])
    with pytest.raises(InputError, match="too few"):
        numbered(1).split(0.5)


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize(("count", "seeds"), [(2, 1), (3, 1), (25, 4), (240, 8), (5, 8)])
def test_there_are_as_many_scenes_as_were_asked_for(name: str, count: int, seeds: int) -> None:
    found = PairSource("town", tuple(range(seeds)), count).data(CHANGES[name])
    assert sum(map(len, found)) == count
    if count == 240:
        assert all(
            abs(len(data) - 30 * CHANGES[name].skies[place % len(CHANGES[name].skies)][0]) < 1
            for place, data in enumerate(found)
        )


@pytest.mark.parametrize("name", ["remove-line", "building-to-tree"])
def test_pairs_of_an_edit_differ_only_where_they_say(name: str) -> None:
    source = PairSource("town", (5,), 3, (80, 160))
    found = pairs(CHANGES[name], source, classes=["road", "line", "tree", "building", "sky"]).arrays
    differs = found["differs"]
    assert differs.any(axis=(1, 2)).all()
    assert np.array_equal(found["image"][~differs], found["truth"][~differs])
    painted = found["opacity"] > 0
    assert np.array_equal(found["filled"][~painted & ~differs], found["image"][~painted & ~differs])
    # Most of what changes is painted anew, and labels say what comes there.
    assert (painted & differs).sum() > 0.5 * differs.sum()
    gone = {"remove-line": 1, "building-to-tree": 3}[name]
    assert not (found["labels"][found["opacity"] == 255] == gone).any()


@pytest.mark.parametrize("name", ["clear-to-rain", "summer-to-winter"])
def test_pairs_of_conditions_change_everywhere(name: str) -> None:
    found = pairs(CHANGES[name], PairSource("meadow", (1,), 3, (48, 96))).arrays
    assert set(found) == {"image", "truth"}
    assert (found["image"] != found["truth"]).mean() > 0.8


@pytest.mark.slow
def test_pairs_are_the_same_for_any_number_of_workers() -> None:
    source = PairSource("all", (1, 2), 40, (32, 64))
    one, two = (pairs(CHANGES["day-to-night"], source, workers=count) for count in (1, 2))
    assert one.sha256 == two.sha256
