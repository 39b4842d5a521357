"""Making transforms from their names as users write them, alone or in a row, and changing frames by them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from roadworthy._files import writing
from roadworthy._options import checked_options
from roadworthy.errors import EngineError, InputError, NotApplicable
from roadworthy.frames import Frame
from roadworthy.images import write_image
from roadworthy.ontology import ontology
from roadworthy.registry import transforms
from roadworthy.seeding import rng_for
from roadworthy.transforms.transform import Keeps, Transform
from roadworthy.visual_change import Tolerance

_WORST_LAST = (Keeps.LABELS, Keeps.MOVED, Keeps.EDITED, Keeps.NOTHING)


@dataclass(frozen=True)
class Composition(Transform):
    """Transforms made one after another, by :func:`compose`; Δv is that of them all together."""

    steps: tuple[Transform, ...]

    name = "composition"
    summary = "several transforms, one after another"
    family = "composition"

    def __post_init__(self) -> None:
        keeps = max((step.keeps for step in self.steps), key=_WORST_LAST.index)
        needs, wants = (
            tuple(dict.fromkeys(name for step in self.steps for name in getattr(step, which)))
            for which in ("needs", "wants")
        )
        # What others know from the class depends on the steps here.
        random = any(step.random for step in self.steps)
        vars(self).update(keeps=keeps, needs=needs, wants=wants, random=random)

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        """Return the frame after all changes."""
        for step in self.steps:
            if not step.is_identity:
                # An earlier step may have left out what this one needs.
                frame = step._changed(frame, rng)
        return frame

    @property
    def is_identity(self) -> bool:
        """Whether none of the steps changes anything."""
        return all(step.is_identity for step in self.steps)

    @property
    def tolerance(self) -> Tolerance | None:
        """What people tolerate of the one step that changes something; None where several do."""
        made = [step for step in self.steps if not step.is_identity]
        return made[0].tolerance if len(made) == 1 else None

    @property
    def settings(self) -> dict[str, float | int | str]:
        """The parameters of all steps, each with the number and name of its step."""
        return {
            f"{number}.{step.name}.{key}": value
            for number, step in enumerate(self.steps, 1)
            for key, value in step.settings.items()
        }

    def __str__(self) -> str:
        return " + ".join(map(str, self.steps))


def compose(steps: Iterable[Transform]) -> Transform:
    """Return one transform that makes several, one after another.

    Example:
        >>> from roadworthy.transforms import compose, make_transform
        >>> both = compose([make_transform("rotation", angle=6), make_transform("brightness", bias=20)])
        >>> str(both)
        'rotation(angle=6) + brightness(bias=20)'
        >>> both.keeps.value
        'labels move with the image'
    """
    flat = [part for step in steps for part in (step.steps if isinstance(step, Composition) else (step,))]
    if not flat:
        raise InputError("a composition needs at least one transform, got none")
    return flat[0] if len(flat) == 1 else Composition(tuple(flat))


_STEP = re.compile(
    r"\s*(?P<name>[\w:.-]+)\s*+(?:\((?P<inside>(?:[^()\"]|\"(?:[^\"\\]|\\.)*\")*)\)\s*+)?(?P<plus>\+|$)"
)
_SETTING = re.compile(r"\s*(?P<key>\w+)\s*=\s*+(?P<value>\"(?:[^\"\\]|\\.)*\"|[^,\"]*+)\s*(?:,|$)")


def kind_of(name: str) -> type[Transform]:
    """Return the kind of transform that has a name.

    Raises:
        UnknownNameError: None has it.

    Example:
        >>> [one.name for one in kind_of("rotation").parameters()]
        ['angle', 'anchor', 'border']
    """
    found = transforms.get(name)
    if not (isinstance(found, type) and issubclass(found, Transform)):
        raise InputError(f"{name!r} must be a class derived from Transform, got {found!r}")
    return found


def make_transform(reference: str, /, **parameters: object) -> Transform:
    """Return a transform.

    Args:
        reference: Its name, and after a colon one of its presets: ``"rotation:deeptest-3"``.
        parameters: Its parameters, instead of the default or the preset's; text is converted. ``amount``, for
            those that have one, stands for all that set the strength.

    Raises:
        UnknownNameError: No transform has this name.
        InputError: A preset or parameter is unknown or out of range.

    Example:
        >>> str(make_transform("rotation:deeptest-3"))
        'rotation(angle=9)'
        >>> str(make_transform("rotation", amount=0.1))
        'rotation(angle=3)'
        >>> make_transform("rotation", angle=400)
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: rotation: angle must be between -180 and 180 degrees, got 400.0
    """
    name, _, preset = reference.partition(":")
    kind = kind_of(name)
    given = dict(parameters)
    if "amount" in given and "amount" not in {one.name for one in kind.parameters()}:
        amount = given.pop("amount")
        if preset:
            raise InputError(f"{reference!r} has a preset: give that or an amount, not both")
        try:
            strength = float(amount)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise InputError(f"{name}: an amount must be a number from 0 to 1, got {amount!r}") from None
        return kind.at(strength, **checked_options(name, kind, given))  # type: ignore[arg-type]
    checked = checked_options(name, kind, given)
    return kind.preset(preset, **checked) if preset else kind(**checked)  # type: ignore[arg-type]


def parse_transform(text: str) -> Transform:
    """Return the transform that a text spells: what `str` gives for it, or the same with presets.

    Raises:
        InputError: The text is no transform, or what it names cannot be made.

    Example:
        >>> str(parse_transform("rotation(angle=6) + brightness:deeptest-2"))
        'rotation(angle=6) + brightness(bias=20)'
    """
    steps, position = [], 0
    while True:
        match = _STEP.match(text, position)
        if match is None:
            raise InputError(
                f"cannot read the transform {text!r} at {text[position:]!r}: "
                "expected name(parameter=value, …), several joined by +"
            )
        steps.append(make_transform(match["name"], **_settings(match["inside"] or "", text)))
        position = match.end()
        if match["plus"] != "+":
            return compose(steps)


def _settings(inside: str, text: str) -> dict[str, object]:
    found: dict[str, object] = {}
    position = 0
    while inside[position:].strip():
        match = _SETTING.match(inside, position)
        if match is None:
            rest = inside[position:]
            raise InputError(f"cannot read {rest!r} in the transform {text!r}: expected name=value")
        value = match["value"].rstrip()
        try:
            found[match["key"]] = json.loads(value) if value.startswith('"') else value
        except ValueError as error:
            raise InputError(f"cannot read {value} in the transform {text!r}: {error}") from None
        position = match.end()
    return found


def write_changed(change: Transform, frames: Iterable[Frame], folder: Path, seed: int) -> Counter[str]:
    """Write frames after a change, and what became of every one; return why some did not qualify.

    The folder gets an image for each frame that qualifies, its label map in the colours of the ontology, and
    ``changes.jsonl`` with a line for every frame.

    Args:
        change: The change.
        frames: What is changed.
        folder: Where to write; it exists.
        seed: Of all random numbers.

    Raises:
        InputError: The folder holds an earlier run, or cannot be written to.
    """
    path = folder / "changes.jsonl"
    if path.is_file():
        raise InputError(f"{path} exists, from an earlier run: remove {folder} or choose another --out")
    reasons: Counter[str] = Counter()
    with writing(path):
        rows = path.open("w", encoding="utf-8")
    with rows:
        for number, frame in enumerate(frames):
            row: dict[str, object] = {"frame": frame.id, "transform": str(change)}
            try:
                changed = change(frame, rng_for(seed, frame.id))
            except (NotApplicable, EngineError) as error:
                reasons[error.reason] += 1
                row["reason"] = error.reason
            else:
                row["image"] = f"{number:06d}.png"
                row["visual_change"] = changed.visual_change
                write_image(folder / f"{number:06d}.png", changed.image)
                row |= _written_truth(changed, folder, f"labels/{number:06d}.png")
            print(json.dumps(row, ensure_ascii=False), file=rows)
    return reasons


def _written_truth(frame: Frame, folder: Path, name: str) -> dict[str, object]:
    """Write what is known about a changed frame, as far as it still holds; return the row's part of it."""
    known: dict[str, object] = {}
    if frame.labels is not None:
        (folder / "labels").mkdir(exist_ok=True)
        write_image(folder / name, frame.labels.to_rgb())
        known["labels"] = name
    if frame.boxes is not None:
        words = map(ontology().word_for, frame.boxes.classes, frame.boxes.attributes)
        pairs = zip(words, frame.boxes.xyxy.tolist(), strict=True)
        known["boxes"] = [{"class": word, "box": corners} for word, corners in pairs]
    return known
