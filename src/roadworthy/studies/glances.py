"""A forced-choice experiment: what people still see at a glance.

The design is that of Hu et al., section 5, after Geirhos et al. (2018): an image is shown for 200 ms, then a
mask of noise, then the person chooses one of two answers. Nobody sees two versions of an image, so images are
dealt into *tracks*, each with one version of an image at most; a person stays in one track, and may do any
batch of it once. Every batch holds checks, originals that are shown for long enough to be certain: whoever
gets these wrong does not attend, and is left out. ::

    plan.json                 answers, times, masks, and tracks of batches of images: what a page needs
    images/3f9c….png          the images; their names say nothing about them
    masks/mask-01.png         noise, shown after an image
    answers.csv               to be filled in: item, rater, answer, time (in seconds)
    key.json                  truth, transformation and visual change of every image: not for people
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import appearing, write_json, write_text
from roadworthy._tables import as_float
from roadworthy.errors import InputError, check_choice, check_number
from roadworthy.images import read_image, write_image
from roadworthy.reliability.human import HumanData
from roadworthy.reliability.human.answers import ORIGINAL, Collected, HumanAnswer, read_human
from roadworthy.seeding import rng_for
from roadworthy.studies.stimuli import Stimulus
from roadworthy.studies.study import ANSWERS, KEY, PLAN, Study, StudyPlan, read_answers

COLUMNS = ("item", "rater", "answer", "time")
_FROM_0, _FROM_1 = ("checks", "practice", "fixation_ms", "mask_ms"), ("batch", "raters", "image_ms", "masks")
_TIMES = ("fixation_ms", "mask_ms", "answer_ms")
_LONGEST = 3600.0  # seconds; whatever is longer is no answer


@dataclass(frozen=True)
class GlanceDesign:
    """How an experiment is run.

    Attributes:
        choices: The two answers.
        batch: How many images a batch has, without checks.
        raters: How many people answer for each image.
        checks: How many checks a batch has.
        practice: How many images everybody begins with, which do not count.
        passed: The share of checks that a person must get right.
        fixation_ms: How long a cross is shown before an image.
        image_ms: How long an image is shown.
        mask_ms: How long the mask of noise is shown after it.
        answer_ms: How long a person may take to answer; later answers count as none.
        check_ms: How long the image of a check is shown.
        masks: How many different masks there are.
    """

    choices: tuple[str, str]
    batch: int = 20
    raters: int = 5
    checks: int = 2
    practice: int = 5
    passed: float = 0.8
    fixation_ms: int = 300
    image_ms: int = 200
    mask_ms: int = 200
    answer_ms: int = 1500
    check_ms: int = 2000
    masks: int = 10

    def __post_init__(self) -> None:
        if len(set(self.choices)) != 2 or not all(self.choices):
            raise InputError(f"a forced choice needs two different answers, got {', '.join(self.choices)}")
        for least, names in enumerate((_FROM_0, _FROM_1)):
            for name in names:
                check_number(name, getattr(self, name), least=least)
        check_number("passed, the share to pass,", self.passed, least=0, most=1)


@dataclass(frozen=True)
class GlanceItem:
    """One image of an experiment.

    Attributes:
        id: What it is called for those who see it; says nothing about it.
        image: The picture that it is a version of.
        truth: The right answer.
        transformation: What changed it, or "original".
        visual_change: How much of that can be seen.
        parameters: The change in full, as text.
    """

    id: str
    image: str
    truth: str
    transformation: str = ORIGINAL
    visual_change: float = 0.0
    parameters: str = ""


@dataclass(frozen=True)
class Batch:
    """What a person does in one sitting.

    Attributes:
        track: The track that it belongs to.
        number: Its number in the track.
        items: The ids of the images, in the order in which they are shown.
    """

    track: int
    number: int
    items: tuple[str, ...]


@dataclass(frozen=True)
class GlancePlan(StudyPlan):
    """Who sees what.

    Attributes:
        seed: The same seed and images give the same files.
        design: How the experiment is run.
        items: The images that are asked about, by id.
        checks: The checks, by id.
        practice: What everybody begins with, by id.
        tracks: How many tracks there are.
        batches: All batches of all tracks.
    """

    command = "reliability plan"
    by_id = ("items", "checks", "practice")
    seed: int
    design: GlanceDesign
    items: dict[str, GlanceItem]
    checks: dict[str, GlanceItem]
    practice: dict[str, GlanceItem]
    tracks: int
    batches: tuple[Batch, ...]


def plan_glances(
    items: Sequence[GlanceItem], spare: Sequence[GlanceItem], design: GlanceDesign, *, seed: int = 0
) -> GlancePlan:
    """Deal images into tracks and batches.

    Args:
        items: The images, originals and changed ones.
        spare: Originals of other pictures, for practice and checks.
        design: How the experiment is run.
        seed: The same seed deals the same way.

    Raises:
        InputError: Two items have one id, a picture is both asked about and spare, or there are too few spare
            ones.

    Example:
        >>> shown = [
        ...     GlanceItem(f"{n}{v}", f"p{n}", "car", v) for n in range(30) for v in ("original", "frost")
        ... ]
        >>> spare = [GlanceItem(f"s{n}", f"spare {n}", "car") for n in range(9)]
        >>> plan = plan_glances(shown, spare, GlanceDesign(("car", "not car")))
        >>> plan.tracks, [len(one.items) for one in plan.batches]
        (2, [17, 17, 17, 17])
    """
    if len({one.id for one in (*items, *spare)}) < len(items) + len(spare):
        raise InputError("two images of an experiment have the same id")
    if both := {one.image for one in items} & {one.image for one in spare}:
        raise InputError(f"{min(both)!r} is asked about, so it cannot be a check or for practice as well")
    rng = rng_for(seed, "experiment")
    tracks = _tracks(items, rng)
    cut = [_cut(track, design.batch, rng) for track in tracks]
    wanted = design.practice + design.checks * max(map(len, cut), default=0)
    if len(spare) < wanted:
        raise InputError(
            f"{wanted} more images are needed for practice and checks, got {len(spare)}: give more images, "
            "ask for fewer pairs, or fewer checks"
        )
    practice, checks = spare[: design.practice], spare[design.practice : wanted]
    batches = []
    for track, batched in enumerate(cut, 1):
        for number, ids in enumerate(batched, 1):
            # The checks of a track are all different: nobody sees one twice.
            for check in checks[(number - 1) * design.checks : number * design.checks]:
                ids.insert(int(rng.integers(len(ids) + 1)), check.id)
            batches.append(Batch(track, number, tuple(ids)))
    asked, checked, tried = ({one.id: one for one in some} for some in (items, checks, practice))
    return GlancePlan(seed, design, asked, checked, tried, len(tracks), tuple(batches))


def spare_needed(pictures: int, design: GlanceDesign) -> int:
    """Return how many originals are enough for practice and checks, beside so many pictures asked about.

    Example:
        >>> spare_needed(100, GlanceDesign(("car", "not car")))
        15
    """
    return design.practice + design.checks * -(-pictures // design.batch)


def _tracks(items: Sequence[GlanceItem], rng: np.random.Generator) -> list[list[str]]:
    """Deal the versions of every picture to different tracks, and each track a mix of all kinds."""
    versions: dict[str, list[str]] = defaultdict(list)
    for one in items:
        versions[one.image].append(one.id)
    count = max(map(len, versions.values()), default=0)
    tracks: list[list[str]] = [[] for _ in range(count)]
    for image in sorted(versions):
        for id, place in zip(versions[image], rng.permutation(count), strict=False):
            tracks[place].append(id)
    return tracks


def _cut(ids: list[str], size: int, rng: np.random.Generator) -> list[list[str]]:
    """Cut a track into batches that differ by one image at most."""
    if not ids:
        return []
    shuffled = [ids[place] for place in rng.permutation(len(ids))]
    count = -(-len(shuffled) // size)
    ends = [len(shuffled) * number // count for number in range(count + 1)]
    return [shuffled[start:end] for start, end in pairwise(ends)]


def write_glances(
    shown: Iterable[Stimulus], spare: Iterable[Stimulus], folder: Path, design: GlanceDesign, *, seed: int = 0
) -> GlancePlan:
    """Write the files of an experiment, all of them or none; images are written one by one as they come.

    Args:
        shown: The images that are asked about.
        spare: Originals for practice and checks.
        folder: Where; must be new or empty.
        design: How the experiment is run.
        seed: The same seed and images give the same files.

    Raises:
        InputError: The folder is in use or cannot be written, or there are too few images.
    """
    with appearing(folder) as unfinished:
        (unfinished / "images").mkdir()
        (unfinished / "masks").mkdir()
        items, extra = ([_written(one, unfinished, seed) for one in some] for some in (shown, spare))
        for one in (*items, *extra):
            if one.truth not in design.choices:
                raise InputError(f"the truth of {one.image!r} is {one.truth!r}, which is none of the answers")
        if not items:
            raise InputError("there are no images to show")
        plan = plan_glances(items, extra, design, seed=seed)
        height, width = read_image(unfinished / _file(items[0].id)).shape[:2]
        for number in range(1, design.masks + 1):
            write_image(unfinished / _mask(number), noise_mask(height, width, rng_for(seed, "mask", number)))
        write_json(unfinished / PLAN, _for_page(plan), 1)
        plan.write_key(unfinished)
        write_text(unfinished / ANSWERS, ",".join(COLUMNS) + "\n")
    return plan


def _written(one: Stimulus, folder: Path, seed: int) -> GlanceItem:
    what = f"{seed}\0{one.image}\0{one.transformation}\0{one.parameters}"
    id = hashlib.sha256(what.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    write_image(folder / _file(id), one.pixels)
    change = round(one.visual_change, 6)
    return GlanceItem(id, one.image, one.truth, one.transformation, change, one.parameters)


def _file(id: str) -> str:
    return f"images/{id}.png"


def _mask(number: int) -> str:
    return f"masks/mask-{number:02d}.png"


def noise_mask(height: int, width: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return grey noise with the spectrum of natural images, at full contrast: 1/f, as Geirhos et al. use it.

    Example:
        >>> mask = noise_mask(32, 48, np.random.default_rng(1))
        >>> mask.shape, int(mask.min()), int(mask.max())
        ((32, 48, 3), 0, 255)
    """
    rows, columns = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None, :]
    distance = np.hypot(rows, columns)
    distance[0, 0] = np.inf
    spectrum = np.fft.rfft2(rng.normal(size=(height, width))) / distance
    noise = np.fft.irfft2(spectrum, s=(height, width))
    low, high = np.quantile(noise, [0.005, 0.995])
    grey = np.rint(np.clip((noise - low) / max(high - low, 1e-12), 0, 1) * 255).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)


def _for_page(plan: GlancePlan) -> dict[str, object]:
    """Return all that a page needs, and nothing that gives the answers away."""
    design = plan.design

    def shown(id: str) -> dict[str, object]:
        shown_ms = design.check_ms if id in plan.checks else design.image_ms
        return {"id": id, "file": _file(id), "image_ms": shown_ms}

    tracks: dict[int, list[object]] = defaultdict(list)
    for batch in plan.batches:
        tracks[batch.track].append({"batch": batch.number, "items": [shown(id) for id in batch.items]})
    return {
        "choices": list(design.choices),
        "raters_per_batch": design.raters,
        **{name: getattr(design, name) for name in _TIMES},
        "masks": [_mask(number) for number in range(1, design.masks + 1)],
        "instructions": (
            "A person stays in one track and does a batch once. Begin with the practice, with the right "
            "answer after each image. Then, for each image: a cross, the image for its time, any mask, and "
            "the choice."
        ),
        "practice": [{**shown(id), "answer": one.truth} for id, one in plan.practice.items()],
        "tracks": [{"track": number, "batches": batches} for number, batches in sorted(tracks.items())],
    }


def read_human_answers(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    answers: Sequence[Path] = (),
    width: float | None = None,
) -> HumanData:
    """Read answers of people, of an experiment too.

    Args:
        path: A file or folder of answers, or the folder of an experiment.
        columns: What columns of single answers are called, where they have other names.
        answers: Files of answers to the experiment; its answers.csv when left out.
        width: The width of the intervals of visual change, for single answers; 0.01 when left out.

    Raises:
        InputError: There is no such thing; names file and line.
    """
    place = Path(path).expanduser()
    collected = collect(place, answers) if (place / KEY).is_file() else None
    return read_human(place, columns=columns, collected=collected, width=width)


def collect(folder: Path, files: Sequence[Path] = ()) -> Collected:
    """Read the answers to an experiment, without those of people who do not pass the checks.

    Args:
        folder: The experiment.
        files: Tables of answers; answers.csv of the folder when left out.

    Raises:
        InputError: An answer is about no image of the experiment or none of the choices, or a person answered
            twice for one picture; names the line.
    """
    plan = GlancePlan.read(folder)
    known = plan.practice | plan.checks | plan.items
    given: dict[str, dict[str, tuple[str, float | None]]] = defaultdict(dict)
    seen: dict[tuple[str, str], str] = {}

    def take(row: dict[str, str], where: str) -> None:
        id, rater, answer, time = (row[name] for name in COLUMNS)
        if id not in known:
            raise InputError(f"the experiment has no item {id!r}: expected an id of {PLAN}")
        if not rater:
            raise InputError("the column rater does not say who answered")
        if answer:
            check_choice("the answer", answer, plan.design.choices)
        if (first := seen.setdefault((rater, known[id].image), where)) != where:
            raise InputError(
                f"{rater!r} has already seen a version of this picture ({first}): a person stays in one "
                "track and does a batch once"
            )
        given[rater][id] = answer, _seconds(time) if time else None

    read_answers(files or [folder / ANSWERS], COLUMNS, take)
    if not given:
        raise InputError(f"{folder} has no answers yet: fill in {ANSWERS}")
    return _counted(plan, given)


def _seconds(text: str) -> float:
    seconds = as_float(text)
    if not 0 <= seconds < np.inf:
        raise InputError(f"time must be 0 seconds or more, got {text!r}")
    return seconds


def _counted(plan: GlancePlan, given: Mapping[str, Mapping[str, tuple[str, float | None]]]) -> Collected:
    answers: list[HumanAnswer] = []
    left_out: dict[str, str] = {}
    missing = 0
    asked = [plan.items.keys() & set(batch.items) for batch in plan.batches]
    for rater, said in given.items():
        checked = Counter(said[id][0] == plan.checks[id].truth for id in said if id in plan.checks)
        if plan.checks and (not checked or checked[True] < plan.design.passed * checked.total()):
            right = f"{checked[True]} of {checked.total()} checks right"
            left_out[rater] = right if checked else "answered none of the checks"
            continue
        for id in sorted(id for ids in asked if ids & said.keys() for id in ids):
            answer, seconds = said.get(id, ("", None))
            if not answer or (seconds is not None and seconds * 1000 > plan.design.answer_ms):
                missing += 1
                continue
            one = plan.items[id]
            about = one.image, one.transformation, one.truth
            answers.append(HumanAnswer(*about, answer, one.visual_change, rater, seconds))
    return Collected(tuple(answers), len(given) - len(left_out), left_out, missing)


class GlanceStudy(Study):
    """Images that are shown for a moment; people say what they saw."""

    kind = "glances"
    title = "What people still see at a glance"
    columns = COLUMNS

    def _parts(self) -> dict[str, list[dict[str, Any]]]:
        self._track_of: dict[str, int] = {}
        found = {}
        for track in self.plan["tracks"]:
            for batch in track["batches"]:
                name = f"track {int(track['track'])}, batch {int(batch['batch'])}"
                self._track_of[name] = int(track["track"])
                found[name] = list(batch["items"])
        return found

    def _other_files(self) -> list[str]:
        return [*(str(one["file"]) for one in self.plan["practice"]), *map(str, self.plan["masks"])]

    def _prepare(self) -> int:
        # Checks are shared by the tracks, so a check alone does not tell where a person is.
        self._tracks_of: dict[str, set[int]] = defaultdict(set)
        for name, ids in self.ids.items():
            for id in ids:
                self._tracks_of[id].add(self._track_of[name])
        self._choices = tuple(map(str, self.plan["choices"]))
        self._times = {name: int(self.plan[name]) for name in _TIMES}
        return int(self.plan["raters_per_batch"])

    def begin(self, rater: str) -> dict[str, Any]:
        """Return the next batch of a person's track: the one begun, or else the one that fewest have done."""
        with self.answers.lock:
            everybody = {name: self.answered(rows) for name, rows in self.answers.read_all().items()}
        seen = everybody.get(rater, set())
        # A person stays in one track: in no other would all pictures be new.
        tracks = self._tracks_with(seen)
        open_ones: list[tuple[bool, int, str]] = []
        for name, ids in self.ids.items():
            own = {id for id in ids if len(self._tracks_of[id]) == 1}
            done = sum(bool(own & other) for other in everybody.values())
            fresh = not ids & seen
            if self._track_of[name] in tracks and not ids <= seen and (not fresh or done < self.wanted):
                open_ones.append((fresh, done, name))
        part = min(open_ones, key=lambda one: one[:2], default=(True, 0, ""))[2]
        return {
            "choices": list(self._choices),
            **self._times,
            "masks": [str(one) for one in self.plan["masks"]],
            "practice": [] if seen or not part else list(self.plan["practice"]),
            "part": part,
            "items": [one for one in self.parts_of_plan.get(part, []) if str(one["id"]) not in seen],
        }

    def answer(self, rater: str, item: str, values: Mapping[str, Any]) -> None:
        """Store what a person chose, and after how many seconds; an empty choice is none in time."""
        answer, seconds = values.get("answer"), values.get("time")
        if answer != "":
            check_choice("the answer", answer, self._choices)
        if seconds is not None and not (type(seconds) in (int, float) and 0 <= seconds <= _LONGEST):
            raise InputError(f"the time must be in seconds, got {seconds!r}")
        if item not in self._tracks_of:
            raise InputError(f"the experiment has no image {item!r}")
        with self.answers.lock:
            rows = self.answers.read(rater)
            seen = self.answered(rows)
            if not self._tracks_with({item, *seen}):
                raise InputError("a person stays in one track: this image belongs to another")
            if item not in seen:  # the first answer counts, whoever sends another
                time = "" if seconds is None else f"{seconds:.3f}"
                row = {"item": item, "rater": rater, "answer": str(answer), "time": time}
                self.answers.write(rater, [*rows, row])

    def _tracks_with(self, ids: set[str]) -> set[int]:
        """Return the tracks that show all of some images."""
        found = set(self._track_of.values())
        return found.intersection(*(self._tracks_of[id] for id in ids if id in self._tracks_of))
