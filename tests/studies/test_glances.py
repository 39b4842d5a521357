"""The plan of an experiment with people, its files, and what comes back."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Boxes, Frame
from roadworthy.images import read_image
from roadworthy.reliability.human.answers import Collected
from roadworthy.studies import read_human_answers
from roadworthy.studies.glances import (
    Batch,
    GlanceDesign,
    GlanceItem,
    GlancePlan,
    _counted,
    _cut,
    _seconds,
    collect,
    noise_mask,
    plan_glances,
    spare_needed,
    write_glances,
)
from roadworthy.studies.stimuli import Stimuli, Stimulus, says_whether

CHOICES = ("car", "not car")


def items(pictures: int, versions: int) -> list[GlanceItem]:
    kinds = ("original", "frost", "contrast", "jpeg")[:versions]
    return [
        GlanceItem(f"{n}-{kind}", f"p{n}", CHOICES[n % 2], kind) for n in range(pictures) for kind in kinds
    ]


def spare(count: int) -> list[GlanceItem]:
    return [GlanceItem(f"s{n}", f"spare {n}", CHOICES[n % 2]) for n in range(count)]


@given(st.integers(1, 60), st.integers(1, 4), st.integers(1, 25), st.integers(0, 3), st.integers(0, 5))
def test_nobody_sees_two_versions_and_everything_is_shown_once(
    pictures: int, versions: int, batch: int, checks: int, seed: int
) -> None:
    design = GlanceDesign(CHOICES, batch=batch, checks=checks)
    asked = items(pictures, versions)
    plan = plan_glances(asked, spare(spare_needed(pictures, design)), design, seed=seed)
    assert plan.tracks == versions
    shown = Counter(id for one in plan.batches for id in one.items if id in plan.items)
    assert shown == Counter(one.id for one in asked)
    for track in range(1, plan.tracks + 1):
        mine = [id for one in plan.batches if one.track == track for id in one.items]
        seen = [(plan.items | plan.checks)[id].image for id in mine]
        assert len(set(seen)) == len(seen)
    for one in plan.batches:
        assert len(set(one.items) & plan.checks.keys()) == checks
        assert len(one.items) - checks <= batch
    assert not {one.image for one in plan.practice.values()} & {one.image for one in plan.checks.values()}


def test_originals_and_changed_images_are_mixed_and_the_seed_says_how() -> None:
    design = GlanceDesign(CHOICES)
    plans = [plan_glances(items(200, 2), spare(40), design, seed=seed) for seed in (1, 1, 2)]
    assert plans[0] == plans[1]
    assert plans[0].batches != plans[2].batches
    kinds = Counter((one.track, plans[0].items[id].transformation) for one in plans[0].batches
                    for id in one.items if id in plans[0].items)  # fmt: skip
    assert all(60 < count < 140 for count in kinds.values())


def test_bad_plans() -> None:
    design = GlanceDesign(CHOICES)
    with pytest.raises(InputError, match="9 more images are needed for practice and checks, got 3"):
        plan_glances(items(30, 2), spare(3), design)
    with pytest.raises(InputError, match="the same id"):
        plan_glances(items(30, 2) + items(1, 1), spare(30), design)
    with pytest.raises(InputError, match="'p3' is asked about"):
        plan_glances(items(30, 2), [*spare(30), GlanceItem("x", "p3", "car")], design)
    with pytest.raises(InputError, match="two different answers"):
        GlanceDesign(("car", "car"))
    with pytest.raises(InputError, match="batch must be 1 or more, got 0"):
        GlanceDesign(CHOICES, batch=0)


def dimmed(frame: Frame, share: float, seed: int) -> tuple[Frame, str]:
    """The least of a transformation: what an experiment needs, and no more."""
    if frame.id.endswith("7"):
        raise NotApplicable("sevens cannot be dimmed")
    image = (frame.image * (1 - share)).astype(np.uint8)
    return frame.replace(image=image, visual_change=share), f"dimmed(by={share:.3f})"


class Pictures:
    name = "pictures"

    def __init__(self, count: int, classes: tuple[str, ...] = ("car", "truck")) -> None:
        self.count, self.classes = count, classes

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Frame:
        image = np.full((24, 32, 3), 100 + index, np.uint8)
        return Frame(f"f{index}", image, metadata={"class": self.classes[index % len(self.classes)]})

    def __iter__(self) -> Iterator[Frame]:
        return map(self.__getitem__, range(self.count))


def written(folder: Path, *, pairs: int = 20, seed: int = 3) -> list[str]:
    stimuli = Stimuli(Pictures(60), [("dimmed", dimmed)], says_whether("car"), pairs, 9, seed)
    skipped: list[str] = []
    write_glances(
        stimuli.shown(skipped.append), stimuli.spare_ones(), folder, GlanceDesign(CHOICES), seed=seed
    )
    return skipped


def test_files(tmp_path: Path) -> None:
    folder = tmp_path / "experiment"
    skipped = written(folder)
    made = GlancePlan.read(folder)
    asked = list(made.items.values())
    changed = [one for one in asked if one.transformation == "dimmed"]
    assert len(changed) + len(skipped) == 20
    assert set(skipped) <= {"dimmed: sevens cannot be dimmed"}
    # As many of both answers as can be, and every part of the range of visual change.
    assert Counter(one.truth for one in changed)["car"] in range(8, 13)
    assert {int(one.visual_change * 5) for one in changed} == set(range(5))
    plan = json.loads((folder / "plan.json").read_text())
    text = json.dumps(plan["tracks"])
    assert "dimmed" not in text
    assert "car" not in text
    shown = [one for track in plan["tracks"] for batch in track["batches"] for one in batch["items"]]
    assert {one["image_ms"] for one in shown if one["id"] in made.items} == {200}
    assert {one["image_ms"] for one in shown if one["id"] in made.checks} == {2000}
    assert all(read_image(folder / one["file"]).shape == (24, 32, 3) for one in shown)
    assert len(plan["masks"]) == 10
    assert read_image(folder / plan["masks"][0]).std() > 40
    original = next(one for one in asked if one.transformation == "original")
    assert read_image(folder / f"images/{original.id}.png")[0, 0, 0] == 100 + int(original.image[1:])


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        written(tmp_path / name, seed=seed)
    first, same, other = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.*")}
        for name in "abc"
    )
    assert first == same
    assert first.keys() != other.keys()


def answered(folder: Path, *, right: float = 1.0, raters: int = 5, sleepy: int = 0) -> None:
    """Let people answer: the sleepy ones always say "car"."""
    made = GlancePlan.read(folder)
    rng = np.random.default_rng(1)
    everything = made.items | made.checks
    with (folder / "answers.csv").open("a", newline="") as file:
        rows = csv.writer(file)
        for batch in made.batches:
            for rater in range(raters):
                name = f"t{batch.track}-r{rater}"
                for id in batch.items:
                    truth = everything[id].truth
                    wrong = CHOICES[1 - CHOICES.index(truth)]
                    said = "car" if rater < sleepy else truth if rng.random() < right else wrong
                    rows.writerow([id, name, said, f"{rng.uniform(0.3, 1.2):.2f}"])


def test_answers_come_back(tmp_path: Path) -> None:
    folder = tmp_path / "experiment"
    written(folder)
    answered(folder, sleepy=1)
    found = collect(folder)
    made = GlancePlan.read(folder)
    assert len(found.answers) == 4 * len(made.items)
    assert found.raters == 8
    assert found.left_out.keys() == {"t1-r0", "t2-r0"}
    assert "of" in found.left_out["t1-r0"]
    assert all(one.correct for one in found.answers)
    # Twenty pairs are too few for any interval; the way to thresholds says so.
    data = read_human_answers(folder)
    assert [one.requirement for one in data.bins] == ["correctness", "prediction"]
    assert all(len(one) == 0 for one in data.bins)


def test_who_gets_just_enough_checks_right_counts(tmp_path: Path) -> None:
    folder = tmp_path / "experiment"
    stimuli = Stimuli(Pictures(60), [("dimmed", dimmed)], says_whether("car"), 10, 10, 3)
    design = GlanceDesign(CHOICES, checks=5, passed=0.8)
    write_glances(stimuli.shown(lambda _: None), stimuli.spare_ones(), folder, design)
    made = GlancePlan.read(folder)
    ids = made.batches[0].items
    with (folder / "answers.csv").open("a", newline="") as file:
        for rater, wrong in (("awake", 1), ("sleepy", 2)):
            missed = [id for id in ids if id in made.checks][:wrong]
            for id in ids:
                truth = (made.items | made.checks)[id].truth
                said = CHOICES[1 - CHOICES.index(truth)] if id in missed else truth
                csv.writer(file).writerow([id, rater, said, "0.5"])
    found = collect(folder)
    assert found.left_out == {"sleepy": "3 of 5 checks right"}
    assert found.raters == 1


def test_missing_and_late_answers_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "experiment"
    written(folder)
    answered(folder, raters=1)
    made = GlancePlan.read(folder)
    lines = (folder / "answers.csv").read_text().splitlines()
    items_only = [n for n, line in enumerate(lines) if line.split(",")[0] in made.items]
    first, second, third = items_only[:3]
    lines[first] = ",".join([*lines[first].split(",")[:2], "", ""])
    lines[second] = ",".join([*lines[second].split(",")[:3], "1.6"])
    del lines[third]
    (folder / "answers.csv").write_text("\n".join(lines) + "\n")
    found = collect(folder)
    assert found.missing == 3
    assert len(found.answers) == len(made.items) - 3


def bad_line(folder: Path, change: str) -> str:
    made = GlancePlan.read(folder)
    pairs: dict[str, list[str]] = {}
    for one in made.items.values():
        pairs.setdefault(one.image, []).append(one.id)
    first, second = next(ids for ids in pairs.values() if len(ids) == 2)
    return {
        "item": "0000,kim,car,1",
        "choice": f"{first},kim,lorry,1",
        "rater": f"{first},,car,1",
        "time": f"{first},kim,car,-1",
        "twice": f"{first},kim,car,1\n{first},kim,car,1",
        "version": f"{first},kim,car,1\n{second},kim,car,1",
    }[change]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("item", "line 2: the experiment has no item '0000'"),
        ("choice", "line 2: the answer must be one of car, not car, got 'lorry'"),
        ("rater", "line 2: the column rater does not say who answered"),
        ("time", "line 2: time must be 0 seconds or more"),
        ("twice", "line 3: 'kim' has already seen a version of this picture"),
        ("version", "line 3: 'kim' has already seen a version of this picture"),
    ],
)
def test_bad_answers(tmp_path: Path, change: str, message: str) -> None:
    folder = tmp_path / "experiment"
    written(folder)
    file = tmp_path / "given.csv"
    file.write_text("item,rater,answer,time\n" + bad_line(folder, change) + "\n")
    with pytest.raises(InputError) as caught:
        collect(folder, [file])
    assert message in str(caught.value)
    assert "given.csv" in str(caught.value)


def test_bad_folders(tmp_path: Path) -> None:
    folder = tmp_path / "experiment"
    written(folder)
    with pytest.raises(InputError, match="has no answers yet"):
        collect(folder)
    with pytest.raises(InputError, match="must be empty or new"):
        written(folder)
    (folder / "key.json").write_text("{}")
    with pytest.raises(InputError, match="must be the key of a study"):
        GlancePlan.read(folder)


def test_bad_stimuli(tmp_path: Path) -> None:
    def made(count: int, classes: tuple[str, ...], pairs: int = 20) -> Stimuli:
        return Stimuli(Pictures(count, classes), [("dimmed", dimmed)], says_whether("car"), pairs, 9)

    with pytest.raises(InputError, match="expected frames for which either answer is right, got not car"):
        list(made(60, ("truck", "bus")).shown())
    with pytest.raises(InputError, match="at least 29 frames with a known answer are needed"):
        list(made(20, ("car", "truck")).shown())
    with pytest.raises(InputError, match="pairs for each transformation must be 1 or more"):
        made(60, ("car", "truck"), pairs=0)
    shown = [Stimulus("a", "lorry", np.zeros((24, 32, 3), np.uint8))]
    with pytest.raises(InputError, match="the truth of 'a' is 'lorry', which is none of the answers"):
        write_glances(shown, [], tmp_path / "x", GlanceDesign(CHOICES, checks=0, practice=0))
    assert list(tmp_path.iterdir()) == []  # what cannot be finished leaves nothing


def test_masks_have_the_spectrum_of_natural_images() -> None:
    mask = noise_mask(128, 128, np.random.default_rng(2))[:, :, 0].astype(float)
    power = np.abs(np.fft.fft2(mask - mask.mean())) ** 2
    radius = np.hypot(*np.meshgrid(np.fft.fftfreq(128), np.fft.fftfreq(128)))
    bands = [power[(radius >= low) & (radius < 2 * low)].mean() for low in (0.03, 0.06, 0.12)]
    # Amplitude 1/f is power 1/f²: a quarter from octave to octave, but for the contrast that is cut off.
    assert 2.5 < bands[0] / bands[1] < 6
    assert 2.5 < bands[1] / bands[2] < 6


def test_the_truth_of_a_street_is_whether_a_thing_is_plain_to_see() -> None:
    def street(*heights: int) -> Frame:
        boxes = Boxes([[5, 5, 20, 5 + height] for height in heights], ["pedestrian"] * len(heights))
        return Frame("street", np.zeros((200, 300, 3), np.uint8), boxes=boxes)

    truth = says_whether("pedestrian")
    assert truth(street(8, 40)) == "pedestrian"
    assert truth(street(8)) is None
    assert truth(street()) == "not pedestrian"
    assert truth(Frame("unknown", np.zeros((200, 300, 3), np.uint8))) is None


def test_each_change_of_a_frame_has_a_seed_of_its_own() -> None:
    seeds: dict[tuple[str, str], int] = {}

    def change(name: str) -> Any:
        def made(frame: Frame, place: float, seed: int) -> tuple[Frame, str]:
            seeds[name, frame.id] = seed
            return frame.replace(visual_change=place), name

        return made

    frames = [Frame(f"f{n}", np.zeros((8, 8, 3), np.uint8)) for n in range(6)]

    class Pictures(list[Frame]):
        name = "pictures"

    def truth(frame: Frame) -> str:
        return "yes" if int(frame.id[1:]) % 2 else "no"

    changes = [(name, change(name)) for name in ("fog", "rain")]
    shown = list(Stimuli(Pictures(frames), changes, truth, 4, 0, seed=3).shown())
    originals = Counter(one.image for one in shown if one.transformation == "original")
    assert set(originals.values()) == {1}, "an original is shown once, however many changes it has"
    assert Counter(one.transformation for one in shown) == {"original": len(originals), "fog": 4, "rain": 4}
    both = {id for name, id in seeds if name == "fog"} & {id for name, id in seeds if name == "rain"}
    assert both, "some frames have both changes"
    assert all(seeds["fog", id] != seeds["rain", id] for id in both)


def counted(given: dict[str, dict[str, tuple[str, float | None]]], **design: Any) -> Collected:
    """Let people answer about two pictures of which one has a check, and count."""
    asked = [GlanceItem(f"i{n}", f"p{n}", CHOICES[n % 2], "fog", 0.1 * n) for n in range(3)]
    checks = {f"k{n}": GlanceItem(f"k{n}", f"s{n}", CHOICES[0]) for n in range(2)}
    plan = GlancePlan(
        0, GlanceDesign(CHOICES, **design), {one.id: one for one in asked}, checks, {}, 1,
        (Batch(1, 1, ("i0", "i1", "k0", "k1")), Batch(1, 2, ("i2",))),
    )  # fmt: skip
    return _counted(plan, given)


def test_people_count_who_see_the_checks_and_answer_in_time() -> None:
    right, wrong = (CHOICES[0], 0.5), (CHOICES[1], 0.5)
    found = counted(
        {
            "ann": {"i0": right, "i1": wrong, "k0": right, "k1": right},
            "bob": {"i0": right, "k0": right, "k1": wrong},
            "cem": {"i0": right, "i1": right},
            "dee": {"i0": (CHOICES[0], 1.5), "i1": (CHOICES[1], 1.501), "i2": ("", None), "k0": right},
            "eve": {"i2": (CHOICES[1], None), "k0": right},
        },
        passed=0.75,
        answer_ms=1500,
    )
    assert found.left_out == {"bob": "1 of 2 checks right", "cem": "answered none of the checks"}
    assert (found.raters, found.missing) == (3, 2)
    assert [(one.rater, one.image, one.answer, one.correct) for one in found.answers] == [
        ("ann", "p0", "car", True),
        ("ann", "p1", "not car", True),
        ("dee", "p0", "car", True),
        ("eve", "p2", "not car", False),
    ]
    assert [one.visual_change for one in found.answers] == pytest.approx([0, 0.1, 0, 0.2])
    assert counted({"ann": {"i0": right, "k0": right, "k1": wrong}}, passed=0.5).left_out == {}


@pytest.mark.parametrize("text", ["-0.1", "soon", "inf", "nan"])
def test_a_time_is_some_seconds(text: str) -> None:
    with pytest.raises(InputError, match=f"time must be 0 seconds or more, got '{text}'"):
        _seconds(text)
    assert _seconds("0") == 0


def test_tracks_are_cut_evenly() -> None:
    rng = np.random.default_rng(0)
    assert _cut([], 4, rng) == []
    ids = [str(n) for n in range(10)]
    found = _cut(ids, 4, rng)
    assert sorted(map(len, found)) == [3, 3, 4]
    assert sorted(id for batch in found for id in batch) == ids
    assert [id for batch in found for id in batch] != ids
    assert [len(one) for one in _cut(ids, 5, rng)] == [5, 5]
    assert [len(one) for one in _cut(ids, 10, rng)] == [10]
