"""Transforms that need no scene: their parameters, and what becomes of pixels, boxes, labels and signals.

``kept.txt`` is no truth of its own: it was written by the code and looked through. Who means something to
change writes it again with ``python -m tests.transforms.test_kept`` and reads the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.kept import as_kept, defaults_of

from roadworthy.errors import InputError, OntologyError
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.registry import transforms
from roadworthy.transforms import kind_of, make_transform, parse_transform
from roadworthy.transforms.engines.backend import Fit
from roadworthy.transforms.engines.files import parse_supports, put_engine
from roadworthy.transforms.wording import described

KEPT = Path(__file__).with_name("kept.txt")
NAMES = tuple(
    name for name in transforms.names() if kind_of(name).__module__.startswith("roadworthy.transforms.")
    and kind_of(name).__module__.count(".") == 2
)  # fmt: skip
MORE = (
    "rotation(angle=-20)", "translation(x=-14, y=6)", "scale(x=1.4, y=0.8)", "shear(x=-0.3, y=0.2)",
    "contrast(gain=1.8, pivot=black)", "contrast(gain=0.4)", "brightness(bias=-60)",
    "brightness(bias=90, space=value)", "mirror + rotation(angle=5)",
)  # fmt: skip


def scene() -> Frame:
    """A ramp with two things on it, of uneven size."""
    rows, columns = np.mgrid[:48, :70]
    image = np.stack([rows * 5, columns * 3, (rows + columns) % 32 * 8], axis=2).astype(np.uint8)
    image[10:30, 20:40] = (200, 40, 30)
    ids = np.zeros((48, 70), np.uint8)
    ids[30:] = 1
    ids[10:30, 20:40] = 2
    return Frame(
        "scene",
        image,
        labels=LabelMap(ids, ("void", "road", "vehicle")),
        boxes=Boxes([[20, 10, 40, 30], [60, 30, 69, 47]], ["car", "pedestrian"], truncation=[0.0, 0.2]),
        signals=Signals(steering=4.0, speed=9.0),
        depth=np.where(ids == 2, 12.0, 30.0).astype(np.float32),
    )


def lines() -> Iterator[str]:
    """Yield all that is kept."""
    for name in NAMES:
        kind = kind_of(name)
        yield f"{name}: {kind.summary}; {kind.family}; {kind.keeps}; {kind.needs}; {kind.random}"
        for one in kind.parameters():
            yield f"    {one.document()} {one.domain}"
        yield f"    {dict(kind.presets)}"
    for name in NAMES:
        kind = kind_of(name)
        texts = [str(kind.at(amount)) for amount in (0.25, 0.9)] if kind.has_amount() else [name]
        yield from (
            _changed(text) for text in (*texts, *(f"{name}:{preset}" for preset in list(kind.presets)[-1:]))
        )
    yield from map(_changed, MORE)


def _changed(text: str) -> str:
    frame = parse_transform(text)(scene(), 3, measure=False)
    pixels = frame.image.astype(float)
    told = [
        *(pixels.mean((0, 1)).round(1).tolist()),
        *(pixels[:24].mean((1, 2))[::6].round(0).tolist()),
        *(pixels.mean((0, 2))[::12].round(0).tolist()),
    ]
    boxes = frame.boxes
    assert boxes is not None
    places = boxes.xyxy.astype(float).round(1).tolist() if len(boxes) else []
    hidden = None if boxes.truncation is None else boxes.truncation.astype(float).round(2).tolist()
    counts = None if frame.labels is None else np.bincount(frame.labels.ids.ravel(), minlength=3).tolist()
    depth = None if frame.depth is None else round(float(np.nansum(frame.depth, dtype=np.float64)))
    steering = None if frame.signals is None else frame.signals.steering
    return f"{text} = {told} | {places} {hidden} {counts} {depth} {steering}"


def test_transforms_are_what_they_were() -> None:
    for now, then in zip(lines(), KEPT.read_text("utf-8").splitlines(), strict=True):
        (what, _, rest), (before, _, known) = (line.partition(" = ") for line in (now, then))
        assert what == before
        if rest:
            (pixels, _, facts), (old, _, others) = (part.partition(" | ") for part in (rest, known))
            assert facts == others, what
            # Other processors round single pixels otherwise.
            numbers, wanted = (np.array(part.strip("[]").split(","), float) for part in (pixels, old))
            np.testing.assert_allclose(numbers, wanted, atol=1.01, err_msg=what)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("contrast(gain=21)", "gain"),
        ("contrast(gain=-0.1)", "gain"),
        ("contrast(pivot=white)", "pivot"),
        ("contrast(gian=1)", "gian"),
        ("rotation(angle=north)", "angle"),
        ("rotation(angle=nan)", "angle"),
        ("jpeg(quality=2.5)", "quality"),
        ("rotation:deeptest-99", "deeptest-99"),
    ],
)
def test_values_that_cannot_be_used_are_named(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_transform(text)


def test_amounts_have_two_ends() -> None:
    for name in NAMES:
        kind = kind_of(name)
        if kind.has_amount():
            assert kind.at(0.0).is_identity, name
            assert not kind.at(1.0).is_identity, name
            for wrong in (-0.01, 1.01, float("nan")):
                with pytest.raises(InputError):
                    kind.at(wrong)
    assert make_transform("brightness", amount=0.5) == kind_of("brightness").at(0.5)


@pytest.mark.parametrize(
    ("words", "element", "properties"),
    [
        ("The red truck", "vehicle", {"type": "truck", "color": "red"}),
        ("every tree", "tree", {}),
        ("a", None, "^'a' is not in the ontology: known names are"),
        ("white dashed lane lines", "line", {"type": "dash", "color": "white"}),
        ("red blue car", None, "contradicts itself: the color is red and blue"),
        ("purple tree", None, "'purple' is no property of 'tree', which has none$"),
    ],
)
def test_what_words_describe(words: str, element: str | None, properties: object) -> None:
    if element is None:
        with pytest.raises(OntologyError, match=str(properties)):
            described(words)
        return
    found = described(words)
    assert (found.element, dict(found.properties)) == (element, properties)


@pytest.mark.parametrize(
    ("given", "scaled", "padded"),
    [
        ({"size": (100, 90)}, (100, 90), (100, 90)),
        ({"size": (100, 90), "most": (100, 90)}, (100, 90), (100, 90)),
        ({"size": (100, 90), "most": (50, 90)}, (50, 45), (50, 45)),
        ({"size": (100, 90), "most": (100, 45)}, (50, 45), (50, 45)),
        ({"size": (100, 90), "multiple": 8}, (100, 90), (104, 96)),
        ({"size": (96, 88), "multiple": 8}, (96, 88), (96, 88)),
        ({"size": (50, 60), "usual": (100, 90)}, (75, 90), (75, 90)),
        ({"size": (100, 200), "usual": (150, 150)}, (100, 200), (100, 200)),
        ({"size": (50, 60), "usual": (100, 90), "most": (60, 90)}, (60, 72), (60, 72)),
        ({"size": (1, 1000), "most": (10, 10)}, (1, 10), (1, 10)),
    ],
)
def test_how_frames_are_fitted(given: dict[str, object], scaled: object, padded: object) -> None:
    fit = Fit.of(**given)  # type: ignore[arg-type]
    assert (fit.size, fit.scaled, fit.padded) == (given["size"], scaled, padded)
    image = np.full((*fit.size, 3), 9, np.uint8)
    image[-1] = 200
    assert fit.image(image).shape == (*fit.padded, 3)
    assert fit.back(fit.image(image)).shape == image.shape
    assert set(np.unique(fit.ids(image[..., 0]))) <= {9, 200}


def test_operations_in_words() -> None:
    assert parse_supports(["Remove line", "add red car", "replace building by tree"]) == (
        {"operation": "remove", "element": "line"},
        {"operation": "add", "element": "red car"},
        {"operation": "replace", "element": "building", "by": "tree"},
    )
    for wrong in ("paint line", "remove", "replace building", "remove line by tree"):
        with pytest.raises(InputError, match="--supports: write what the engine does as 'remove THING'"):
            parse_supports([wrong])
    with pytest.raises(
        InputError, match="'rainy' cannot replace 'building': one is weather, the other is not"
    ):
        parse_supports(["replace building by rainy"])
    with pytest.raises(InputError, match="--supports 'remove unicorn'"):
        parse_supports(["remove unicorn"])


def test_an_engine_that_cannot_be_used_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "engines.yaml"
    supports = [{"operation": "remove", "element": "line"}]
    assert put_engine(file, "yes", {"command": ["a b", "{image}"], "supports": supports}) is False
    before = file.read_text()
    assert '"yes":\n' in before, "YAML would read the bare word as true"
    assert 'command: [a b, "{image}"]' in before
    for entry, message in (
        ({"command": ["x"], "entry": "m:f", "supports": supports}, "needs one of .*, got command and entry"),
        ({"supports": supports}, "needs one of .*, got none of them"),
        ({"command": ["x"]}, "needs the key 'supports'"),
        ({"entry": "m:f", "timeout": 3, "supports": supports}, "only a command or a service can be stopped"),
        ({"command": ["x"], "device": "cuda", "supports": supports}, "only a learned engine or a pipeline"),
        ({"command": ["x"], "threads": 2, "supports": supports}, "only learned engines have threads"),
        (
            {"command": ["x"], "supports": [{"operation": "remove", "element": "line", "by": "tree"}]},
            "'by' goes",
        ),
        (
            {"command": ["x"], "supports": [{"operation": "paint", "element": "line"}]},
            "unknown operation 'paint'",
        ),
        ({"command": ["x", "{imgae}"], "supports": supports}, "imgae"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            put_engine(file, "other", entry)
        assert str(caught.value).startswith(f"{file}:")
        assert file.read_text() == before
    assert put_engine(file, "yes", {"command": ["b"], "supports": supports}) is True
    assert "command: [b]" in file.read_text()


def test_the_identity_changes_no_byte() -> None:
    for name in NAMES:
        if kind_of(name).has_amount():
            made = kind_of(name).at(0.0)(scene(), 3, measure=False)
            np.testing.assert_array_equal(made.image, scene().image, err_msg=name)


def test_what_is_done_when_nothing_is_said_stays() -> None:
    as_kept(KEPT.with_name("defaults.txt"), defaults_of("transforms"))


if __name__ == "__main__":
    KEPT.write_text("\n".join(lines()) + "\n", "utf-8")
