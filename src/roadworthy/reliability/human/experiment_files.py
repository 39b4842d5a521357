"""The files of an experiment: what a page runs, the key that nobody may see, and what people answered.

::

    plan.json                 answers, times, masks, and tracks of batches of images: what a page needs
    images/3f9c….png          the images; their names say nothing about them
    masks/mask-01.png         noise, shown after an image
    answers.csv               to be filled in: item, rater, answer, time (in seconds)
    key.json                  truth, transformation and visual change of every image: not for people
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import as_record, check_free, naming, read_json
from roadworthy.errors import InputError
from roadworthy.images import read_image, write_image
from roadworthy.reliability.human.experiment import Batch, Design, Item, Schedule, schedule
from roadworthy.reliability.human.stimuli import Stimulus
from roadworthy.seeding import rng_for

PLAN, KEY, ANSWERS = "plan.json", "key.json", "answers.csv"
COLUMNS = ("item", "rater", "answer", "time")


@dataclass(frozen=True)
class Experiment:
    """An experiment that is planned.

    Attributes:
        design: How it is run.
        schedule: Who sees what.
        seed: The same seed and images give the same files.
    """

    design: Design
    schedule: Schedule
    seed: int


def write_experiment(
    shown: Iterable[Stimulus], spare: Iterable[Stimulus], folder: Path, design: Design, *, seed: int = 0
) -> Experiment:
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
    check_free(folder)
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        (unfinished / "images").mkdir(parents=True)
        (unfinished / "masks").mkdir()
        made = _made(shown, spare, unfinished, design, seed)
        unfinished.replace(folder)
    except OSError as error:
        raise InputError(f"cannot write the experiment to {folder}: {error.strerror}") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return made


def _made(
    shown: Iterable[Stimulus], spare: Iterable[Stimulus], folder: Path, design: Design, seed: int
) -> Experiment:
    items, extra = ([_written(one, folder, seed) for one in some] for some in (shown, spare))
    for one in (*items, *extra):
        if one.truth not in design.choices:
            raise InputError(f"the truth of {one.image!r} is {one.truth!r}, which is none of the answers")
    if not items:
        raise InputError("there are no images to show")
    made = Experiment(design, schedule(items, extra, design, seed=seed), seed)
    height, width = read_image(folder / _file(items[0].id)).shape[:2]
    for number in range(1, design.masks + 1):
        write_image(folder / _mask(number), noise_mask(height, width, rng_for(seed, "mask", number)))
    _write_json(folder / PLAN, _plan(made))
    _write_json(folder / KEY, _key(made))
    (folder / ANSWERS).write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    return made


def _written(one: Stimulus, folder: Path, seed: int) -> Item:
    what = f"{seed}\0{one.image}\0{one.transformation}\0{one.parameters}"
    item = Item(
        hashlib.sha256(what.encode("utf-8", "surrogatepass")).hexdigest()[:12],
        one.image, one.truth, one.transformation, round(one.visual_change, 6), one.parameters,
    )  # fmt: skip
    write_image(folder / _file(item.id), one.pixels)
    return item


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


def _plan(made: Experiment) -> dict[str, object]:
    """Return all that a page needs, and nothing that gives the answers away."""
    design = made.design
    checks = made.schedule.checks
    tracks: dict[int, list[object]] = defaultdict(list)
    for batch in made.schedule.batches:
        items = [
            {"id": id, "file": _file(id), "image_ms": design.check_ms if id in checks else design.image_ms}
            for id in batch.items
        ]
        tracks[batch.track].append({"batch": batch.number, "items": items})
    practice = [
        {"id": one.id, "file": _file(one.id), "image_ms": design.image_ms, "answer": one.truth}
        for one in made.schedule.practice.values()
    ]
    return {
        "choices": list(design.choices),
        "raters_per_batch": design.raters,
        "fixation_ms": design.fixation_ms,
        "mask_ms": design.mask_ms,
        "answer_ms": design.answer_ms,
        "masks": [_mask(number) for number in range(1, design.masks + 1)],
        "instructions": (
            "A person stays in one track and does a batch once. Begin with the practice, with the right "
            "answer after each image. Then, for each image: a cross, the image for its time, any mask, and "
            "the choice."
        ),
        "practice": practice,
        "tracks": [{"track": number, "batches": batches} for number, batches in sorted(tracks.items())],
    }


def _key(made: Experiment) -> dict[str, object]:
    plan = made.schedule
    return {
        "seed": made.seed,
        "design": asdict(made.design),
        "items": [asdict(one) for one in plan.items.values()],
        "checks": [asdict(one) for one in plan.checks.values()],
        "practice": [asdict(one) for one in plan.practice.values()],
        "tracks": plan.tracks,
        "batches": [asdict(one) for one in plan.batches],
    }


def _write_json(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_experiment(folder: Path) -> Experiment:
    """Read an experiment from its key.

    Raises:
        InputError: The folder is not that of an experiment.
    """
    path = folder / KEY
    found: Any = read_json(path)
    try:
        with naming(path):
            design = as_record(Design, found["design"])
        items, checks, practice = (
            {item.id: item for item in as_record(list[Item], found[name])}
            for name in ("items", "checks", "practice")
        )
        batches = as_record(tuple[Batch, ...], found["batches"])
        plan = Schedule(items, checks, practice, batches, int(found["tracks"]))
        return Experiment(design, plan, int(found["seed"]))
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise InputError(
            f"{path} must be the key of an experiment, as reliability plan writes it: {error!r}"
        ) from error
