"""Learned engines: what they are shown, what they may change, and what they refuse."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from roadworthy._files import sha256_of
from roadworthy.errors import EngineError, InputError, NotApplicable
from roadworthy.frames import Frame, LabelMap
from roadworthy.training.engines.pairs import CHANGES
from roadworthy.transforms import Keeps, make_transform, read_engines, transform_for
from roadworthy.transforms.learned import LearnedEngine
from roadworthy.transforms.learned.card import EngineCard
from roadworthy.transforms.learned.engine import NetworkBackend
from roadworthy.transforms.learned.network import EngineNetwork, channel_table
from roadworthy.transforms.operations import (
    AddOperation,
    Engine,
    Operation,
    RemoveOperation,
    ReplaceOperation,
)

LINES = RemoveOperation("line")
TREES = ReplaceOperation("building", "tree")
NIGHT = ReplaceOperation("time", "night")
ROAD = 90


@pytest.fixture
def road() -> Frame:
    """A road with a line in it, under the sky."""
    ids = np.full((48, 64), 1, np.uint8)
    ids[:16] = 3
    ids[20:, 30:34] = 2
    image = np.full((48, 64, 3), 100, np.uint8)
    image[:16] = (140, 180, 240)
    image[ids == 2] = 230
    return Frame("drive/7", image, labels=LabelMap(ids, ("void", "road", "line", "sky")))


def reason_of(folder: Path, frame: Frame, operation: Operation) -> str:
    with pytest.raises((EngineError, NotApplicable)) as caught:
        LearnedEngine.open(folder).transform(operation)(frame, 1, measure=False)
    assert getattr(caught.value, "frame", frame.id) == frame.id
    assert isinstance(caught.value, EngineError | NotApplicable)
    return caught.value.reason


def identity(name: str = "image") -> list[Any]:
    return [helper.make_node("Identity", [name], ["result"])]


def given_back() -> tuple[list[Any], dict[str, Any]]:
    """Return nodes and constants of a network that gives back the image of its context."""
    nodes = [
        helper.make_node("Slice", ["context", "from", "to", "axis"], ["seen"]),
        helper.make_node("ReduceSum", ["labels", "axis"], ["one"], keepdims=1),
        helper.make_node("Mul", ["one", "zero"], ["nothing"]),
        helper.make_node("Add", ["seen", "nothing"], ["result"]),
    ]
    constants = {
        "from": np.array([0]),
        "to": np.array([3]),
        "axis": np.array([1]),
        "zero": np.zeros((), np.float32),
    }
    return nodes, constants


class TestSynthesis:
    def test_what_is_removed_is_painted_as_the_label_map_says(self, colours: Path, road: Frame) -> None:
        engine = LearnedEngine.open(colours)
        assert isinstance(engine, Engine)
        # The frame is as the engine would paint it, but for the line.
        image = np.where((road.labels.ids == 3)[..., None], np.uint8(170), road.image)  # type: ignore[union-attr]
        image[(road.labels.ids == 1)] = ROAD  # type: ignore[union-attr]
        changed = engine.transform(LINES)(road.replace(image=image), 1, measure=False)
        assert changed.labels is not None
        assert set(changed.labels.present()) == {"road", "sky"}
        assert changed.id == "drive/7~colours(operation=remove, element=line)"
        lines = road.labels.mask("line")  # type: ignore[union-attr]
        assert (changed.image[lines] == ROAD).all()

    def test_nothing_changes_outside_the_region_of_the_classical_edit(
        self, colours: Path, town: Frame
    ) -> None:
        for operation, kind in ((LINES, "remove"), (TREES, "replace")):
            change = LearnedEngine.open(colours).transform(operation)
            changed = change(town, 3, measure=False)
            region = change.region(town)
            assert 0 < np.count_nonzero(region) < 0.7 * region.size
            assert np.array_equal(changed.image[~region], town.image[~region])
            assert not np.array_equal(changed.image[region], town.image[region])
            element, by = ("line", {}) if kind == "remove" else ("building", {"by": "tree"})
            classical = make_transform(kind, element=element, **by).region(town, 3)  # type: ignore[attr-defined]
            assert not (classical & ~region).any()

    def test_what_is_replaced_gets_the_new_class(self, colours: Path, town: Frame) -> None:
        changed = LearnedEngine.open(colours).transform(TREES)(town, 1, measure=False)
        assert town.labels is not None
        assert changed.labels is not None
        buildings = town.labels.mask("building")
        assert (changed.labels.mask("tree") & buildings).sum() == buildings.sum()
        assert np.array_equal(np.asarray(changed.depth), np.asarray(town.depth))

    def test_the_tone_is_that_of_the_surroundings(self, colours: Path, road: Frame) -> None:
        # The road of the frame is at 100, what the engine paints is at 90.
        changed = LearnedEngine.open(colours).transform(LINES)(road, 1, measure=False)
        lines = road.labels.mask("line")  # type: ignore[union-attr]
        assert np.abs(changed.image[lines].astype(int) - 100).max() <= 1

    def test_context_shows_the_image_around_the_hole(self, make_engine: Any, road: Frame) -> None:
        folder = make_engine("context", "synthesis", *given_back(), context=True)
        change = LearnedEngine.open(folder).transform(LINES)
        changed = change(road, 1, measure=False)
        lines = road.labels.mask("line")  # type: ignore[union-attr]
        # In the hole there are zeros, which are the grey in the middle.
        assert (changed.image[lines] == 128).all()
        assert np.array_equal(changed.image[~change.region(road)], road.image[~change.region(road)])

        filled = make_engine("filled", "synthesis", *given_back(), context=True, prefilled=True)
        drawn = road.replace(
            metadata={"track": "town"}
        )  # lines of real frames are filled by the network that ships
        classical = make_transform("remove", element="line")(drawn, 1, measure=False)
        painted = LearnedEngine.open(filled).transform(LINES)(drawn, 1, measure=False)
        assert np.abs(painted.image.astype(int) - classical.image).max() <= 1

    @pytest.mark.parametrize("most", [None, [24, 32]])
    def test_edges_are_where_things_meet_after_the_edit(
        self, make_engine: Any, road: Frame, monkeypatch: pytest.MonkeyPatch, most: list[int] | None
    ) -> None:
        nodes = [
            helper.make_node("Concat", ["edges", "edges", "edges"], ["three"], axis=1),
            helper.make_node("ReduceSum", ["labels", "axis"], ["one"], keepdims=1),
            helper.make_node("Mul", ["one", "zero"], ["nothing"]),
            helper.make_node("Add", ["three", "nothing"], ["result"]),
        ]
        constants = {"axis": np.array([1]), "zero": np.zeros((), np.float32)}
        folder = make_engine("edges", "synthesis", nodes, constants, edges=True, most=most)
        seen: list[Any] = []
        run = EngineNetwork.run

        def noted(self: EngineNetwork, inputs: Any) -> Any:
            seen.append(inputs["edges"][0, 0])
            return run(self, inputs)

        monkeypatch.setattr(EngineNetwork, "run", noted)
        assert road.labels is not None
        ids = road.labels.ids.copy()
        ids[:17] = 3
        # The line is a thing of its own, and so is a part of the sky: where that ends stays an edge.
        instances = np.where(ids == 2, 1, 0).astype(np.int32)
        instances[:5, :9] = 3  # the number of the class sky, which is another matter
        frame = road.replace(labels=LabelMap(ids, road.labels.classes), instances=instances)
        LearnedEngine.open(folder).transform(LINES)(frame, 0, measure=False)
        (edges,) = seen
        # Of each two, the second pixel is seen in the smaller image; in both, edges are two pixels wide.
        sky, right, low = (17, 9, 5) if most is None else (8, 4, 2)
        wanted = np.zeros((48, 64) if most is None else (24, 32), np.float32)
        wanted[sky - 1 : sky + 1] = 1
        wanted[low - 1 : low + 1, :right] = wanted[:low, right - 1 : right + 1] = 1
        assert np.array_equal(edges, wanted)

    @pytest.mark.parametrize("said", ["kept", "void"])
    def test_what_it_paints_does_not_depend_on_what_is_known_afterwards(
        self, colours: Path, road: Frame, said: Any
    ) -> None:
        usual = LearnedEngine.open(colours).transform(LINES)(road, 1, measure=False)
        other = replace(LearnedEngine.open(colours), labels=said).transform(LINES)(road, 1, measure=False)
        assert np.array_equal(usual.image, other.image)
        assert other.labels == (road.labels if said == "kept" else None)

    def test_classes_that_it_never_saw(self, colours: Path, road: Frame) -> None:
        assert road.labels is not None
        ids = road.labels.ids.copy()
        ids[40:, :8] = 4
        labels = LabelMap(ids, (*road.labels.classes, "terrain"))
        # Beside the line, it is no harm; the count is told.
        engine = LearnedEngine.open(colours)
        changed = engine.transform(LINES)(road.replace(labels=labels), 1, measure=False)
        assert changed.labels is not None
        assert isinstance(engine.backend, NetworkBackend)
        assert engine.backend.unseen(changed.labels) == {"terrain": 64}
        # Void is what it sees as void anyway.
        blank = LabelMap(np.zeros((4, 4), np.uint8), ("void", "road"))
        assert engine.backend.unseen(blank) == {}
        # Where the line was, it would have to be painted.
        ids = np.where(road.labels.ids == 1, np.uint8(4), road.labels.ids)
        strange = road.replace(labels=LabelMap(ids, labels.classes))
        assert reason_of(colours, strange, LINES) == (
            "the engine 'colours' never saw terrain, which is to be painted: it knows road, line, sky, "
            "building, tree, sidewalk"
        )
        with pytest.raises(InputError, match=r"'colours' never saw terrain: it knows road, line"):
            engine.transform(ReplaceOperation("road", "terrain"))

    def test_what_it_never_saw_stays_where_the_region_reaches_onto_it(self, colours: Path) -> None:
        ids = np.full((48, 64), 1, np.uint8)
        ids[30:] = 2
        ids[10:30, 20:44] = 3
        image = np.full((48, 64, 3), 180, np.uint8)
        # Of grass that is all the same, only the tone could be wrong.
        image[ids == 2] = np.random.default_rng(0).integers(90, 150, (np.count_nonzero(ids == 2), 1))
        image[ids == 3] = 70
        frame = Frame("a", image, labels=LabelMap(ids, ("void", "sky", "terrain", "building")))
        change = LearnedEngine.open(colours).transform(TREES)
        region = change.region(frame)
        changed = change(frame, 1, measure=False)
        assert (region & (ids == 2)).any()
        assert np.array_equal(changed.image[ids == 2], image[ids == 2])
        assert (changed.image[ids == 3] != 70).all()

    def test_a_class_without_a_channel_belongs_to_what_is_above_it(self) -> None:
        """Then to all else, which is the last one."""
        found = channel_table(("pedestrian", "road", "sky"), ("sky", "dynamic object"))
        assert found.tolist() == [1, 2, 0]

    def test_frames_that_do_not_qualify(self, colours: Path, road: Frame) -> None:
        assert road.labels is not None
        ids = np.where(road.labels.ids == 2, np.uint8(1), road.labels.ids)
        bare = road.replace(labels=LabelMap(ids, road.labels.classes))
        assert reason_of(colours, bare, LINES) == "there is no line in the frame"
        ids = ids.copy()
        ids[40, 40] = 2
        speck = road.replace(labels=LabelMap(ids, road.labels.classes))
        assert "too small" in reason_of(colours, speck, LINES)
        assert "needs a label map" in reason_of(colours, road.replace(labels=None), LINES)

    def test_it_does_not_do_what_no_label_map_says(self, colours: Path) -> None:
        engine = LearnedEngine.open(colours)
        for operation in (AddOperation("tree"), NIGHT, ReplaceOperation("season", "winter")):
            with pytest.raises(InputError, match="paints what a label map says"):
                engine.transform(operation)


class TestTranslation:
    def test_the_whole_image_changes_and_labels_stay(self, night: Path, town: Frame) -> None:
        change = LearnedEngine.open(night).transform(NIGHT)
        assert change.keeps is Keeps.LABELS
        dark = change(town, 1, measure=False)
        expected = np.rint(town.image * 0.25)
        assert np.abs(dark.image - expected).max() <= 1
        assert dark.labels is town.labels
        assert dark.metadata["time"] == "night"

    def test_night_does_not_fall_twice(self, night: Path, town: Frame) -> None:
        dark = town.replace(metadata={**town.metadata, "time": "night"})
        assert reason_of(night, dark, NIGHT) == "the time is already night"
        black = town.replace(image=np.zeros_like(town.image), metadata={})
        assert reason_of(night, black, NIGHT) == "the image hardly changes: the time is already night"

    def test_a_level_that_it_was_not_trained_for_is_not_claimed(self, make_engine: Any, town: Frame) -> None:
        rain = {"operation": "replace", "element": "weather", "by": "normal rain"}
        nodes = [helper.make_node("Neg", ["image"], ["result"])]
        engine = LearnedEngine.open(make_engine("rain", "translation", nodes, supports=[rain]))
        assert engine.supports(ReplaceOperation("weather", "rain"))
        assert not engine.supports(ReplaceOperation("weather", "heavy rain"))
        wet = engine.transform(ReplaceOperation("weather", "rain"))(town, 1, measure=False)
        assert (wet.metadata["weather"], wet.metadata["level"]) == ("rainy", "normal")
        with pytest.raises(NotApplicable, match="the weather is already rainy"):
            engine.transform(ReplaceOperation("weather", "rain"))(wet, 1)

    def test_noise_is_another_for_each_seed(self, make_engine: Any, town: Frame) -> None:
        nodes = [
            helper.make_node("Mul", ["noise", "amount"], ["little"]),
            helper.make_node("Add", ["image", "little"], ["result"]),
        ]
        amount = {"amount": np.array(0.1, np.float32)}
        folder = make_engine("noisy", "translation", nodes, amount, noise=1)
        change = LearnedEngine.open(folder).transform(NIGHT)
        first, again, other = (change(town, seed, measure=False).image for seed in (3, 3, 4))
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)
        expected = np.random.default_rng(3).standard_normal((1, 160, 320), np.float32)[0]
        middle = (town.image > 60).all(axis=2) & (town.image < 190).all(axis=2)
        added = (first.astype(float) - town.image)[middle].mean(axis=1) / 12.75
        assert np.abs(added - expected[middle]).max() < 0.1


class TestSizes:
    def test_any_size_is_padded_to_the_multiple(self, make_engine: Any, town: Frame) -> None:
        # Halving and doubling gives the same size only if it is even.
        nodes = [
            helper.make_node("AveragePool", ["image"], ["half"], kernel_shape=[8, 8], strides=[8, 8]),
            helper.make_node("Resize", ["half", "", "scales"], ["large"], mode="nearest"),
            helper.make_node("Neg", ["large"], ["result"]),
        ]
        scales = {"scales": np.array([1, 1, 8, 8], np.float32)}
        folder = make_engine("eight", "translation", nodes, scales, multiple=8)
        for height, width in ((160, 320), (57, 101), (3, 5)):
            cut = Frame("cut", np.ascontiguousarray(town.image[:height, :width]))
            changed = LearnedEngine.open(folder).transform(NIGHT)(cut, 1, measure=False)
            assert changed.image.shape == cut.image.shape
        assert height == 3
        # The last is all in one block, which is padded with its edge.
        block = np.pad(cut.image, ((0, 5), (0, 3), (0, 0)), mode="edge").mean(axis=(0, 1))
        assert np.abs(changed.image[0, 0] - (255 - block)).max() <= 1

    def test_a_network_that_forgets_to_be_told_its_multiple(self, make_engine: Any, town: Frame) -> None:
        nodes = [helper.make_node("AveragePool", ["image"], ["result"], kernel_shape=[2, 2], strides=[2, 2])]
        folder = make_engine("small", "translation", nodes)
        assert reason_of(folder, town, NIGHT) == (
            "engine 'small' gave an image of 1 × 3 × 80 × 160 instead of 1 × 3 × 160 × 320"
        )

    def test_smaller_ones_than_it_was_trained_with_are_made_larger(
        self, make_engine: Any, road: Frame, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        nodes = [helper.make_node("Neg", ["image"], ["result"])]
        folder = make_engine("known", "translation", nodes, trained_at=[144, 160], multiple=16)
        seen: list[Any] = []
        run = EngineNetwork.run

        def noted(self: EngineNetwork, inputs: Any) -> Any:
            seen.append(inputs["image"].shape)
            return run(self, inputs)

        monkeypatch.setattr(EngineNetwork, "run", noted)
        changed = LearnedEngine.open(folder).transform(NIGHT)(road, 1, measure=False)
        # Two and a half times as large fits into it, and is padded.
        assert seen == [(1, 3, 128, 160)]
        assert changed.image.shape == road.image.shape
        assert np.abs(changed.image.astype(int) - (255 - road.image.astype(int))).mean() < 2
        # One that is larger in one direction is left as it is.
        wide = Frame("a", np.full((48, 176, 3), 90, np.uint8))
        LearnedEngine.open(folder).transform(NIGHT)(wide, 1, measure=False)
        assert seen[1:] == [(1, 3, 48, 176)]

    def test_too_small_is_said(self, make_engine: Any, road: Frame) -> None:
        folder = make_engine("large", "translation", identity(), least=[64, 64])
        assert reason_of(folder, road, NIGHT) == (
            "the image is 64 × 48 pixels, and the engine 'large' takes 64 × 64 or more"
        )

    def test_too_small_after_it_was_made_smaller_is_said(self, make_engine: Any) -> None:
        folder = make_engine("wide", "translation", identity(), least=[32, 32], most=[64, 128], multiple=16)
        strip = Frame("a", np.full((40, 640, 3), 90, np.uint8))
        assert reason_of(folder, strip, NIGHT) == (
            "the image is 640 × 40 pixels, made smaller to 128 × 8, and the engine 'wide' takes 32 × 32 or "
            "more"
        )

    def test_too_small_although_it_would_be_enlarged_is_said(self, make_engine: Any) -> None:
        folder = make_engine(
            "usual", "translation", identity(), least=[32, 32], trained_at=[64, 128], multiple=16
        )
        small = Frame("a", np.full((20, 40, 3), 90, np.uint8))
        assert reason_of(folder, small, NIGHT) == (
            "the image is 40 × 20 pixels, and the engine 'usual' takes 32 × 32 or more"
        )

    def test_a_size_at_which_the_network_fails_does_not_qualify(self, make_engine: Any, town: Frame) -> None:
        nodes = [helper.make_node("Add", ["image", "one"], ["result"])]
        folder = make_engine("fixed", "translation", nodes, {"one": np.zeros((1, 3, 32, 32), np.float32)})
        assert "engine 'fixed': " in (told := reason_of(folder, town, NIGHT))
        assert "the network failed" in told

    def test_what_was_filled_in_before_keeps_its_detail(self, make_engine: Any) -> None:
        """Of a frame that is made smaller for the network, which here gives back what was filled in."""
        rng = np.random.default_rng(0)
        ids = np.full((96, 128), 1, np.uint8)
        ids[:32] = 3
        ids[40:, 60:68] = 2
        image = np.clip(rng.normal(100, 12, (96, 128, 3)), 0, 255).astype(np.uint8)
        image[ids == 2] = 230
        frame = Frame("a", image, labels=LabelMap(ids, ("void", "road", "line", "sky")))
        folder = make_engine(
            "filled", "synthesis", *given_back(), context=True, prefilled=True, most=[24, 32]
        )
        drawn = frame.replace(metadata={"track": "town"})
        painted = LearnedEngine.open(folder).transform(LINES)(drawn, 1, measure=False)
        classical = make_transform("remove", element="line")(drawn, 1, measure=False)
        line = ids == 2  # at the edge of the region, both are blended with the frame
        assert np.abs(painted.image[line].astype(int) - classical.image[line]).max() <= 1
        assert np.std(painted.image[line]) > 6

    def test_larger_ones_are_made_smaller_and_keep_their_detail(self, make_engine: Any) -> None:
        rng = np.random.default_rng(0)
        smooth = np.tile(np.linspace(60, 200, 64)[:, None, None], (1, 96, 3))
        image = np.clip(smooth + rng.normal(0, 12, smooth.shape), 0, 255).astype(np.uint8)
        nodes = [
            helper.make_node("Mul", ["image", "factor"], ["less"]),
            helper.make_node("Add", ["less", "shift"], ["result"]),
        ]
        constants = {"factor": np.array(0.5, np.float32), "shift": np.array(-0.5, np.float32)}
        folder = make_engine("half", "translation", nodes, constants, most=[32, 48])
        changed = LearnedEngine.open(folder).transform(NIGHT)(Frame("a", image), 1, measure=False)
        # Half of the light, and of the noise, which an image of half the size does not show.
        assert np.abs(changed.image - image / 2).mean() < 1.5
        assert np.std(changed.image - smooth / 2) > 0.8 * 6

    def test_larger_ones_are_painted_at_the_size_of_the_engine(self, make_engine: Any, road: Frame) -> None:
        levels = np.array([(90, 90, 90)] * 7, np.float32).T[:, :, None, None] / 127.5 - 1
        nodes = [helper.make_node("Conv", ["labels", "colours"], ["result"])]
        folder = make_engine("grey", "synthesis", nodes, {"colours": levels}, most=[24, 32], multiple=16)
        engine = LearnedEngine.open(folder)
        changed = engine.transform(LINES)(road, 1, measure=False)
        region = engine.transform(LINES).region(road)
        assert np.array_equal(changed.image[~region], road.image[~region])
        assert np.abs(changed.image[30, 32].astype(int) - 100).max() <= 1

    def test_a_network_of_one_size(self, make_engine: Any, town: Frame) -> None:
        nodes = [helper.make_node("Mul", ["image", "where"], ["result"])]
        # Only for 32 × 32 pixels can it be multiplied by this.
        where = {
            "where": np.concatenate(
                [np.full((1, 3, 16, 32), -1, np.float32), np.ones((1, 3, 16, 32), np.float32)], axis=2
            )
        }
        folder = make_engine("square", "translation", nodes, where, least=[32, 32], most=[32, 32])
        changed = LearnedEngine.open(folder).transform(NIGHT)(town, 1, measure=False)
        assert changed.image.shape == town.image.shape
        # The lower half stays what it was, but for what is lost by its way through a smaller image.
        assert np.abs(changed.image[90:].astype(int) - town.image[90:]).mean() < 2
        assert abs(changed.image[:70].mean() - (255 - town.image[:70].mean())) < 12


def test_it_travels_to_other_processes_as_a_name(colours: Path, road: Frame) -> None:
    change = LearnedEngine.open(colours).transform(LINES)
    here = change(road, 1, measure=False)
    packed = pickle.dumps(change)
    assert len(packed) < 1500
    assert pickle.loads(packed) == change
    assert hash(pickle.loads(packed)) == hash(change)
    code = (
        "import pickle, sys; change, frame = pickle.load(sys.stdin.buffer); "
        "sys.stdout.buffer.write(change(frame, 1, measure=False).image.tobytes())"
    )
    there = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps((change, road)), capture_output=True, check=True
    )
    assert there.stdout == here.image.tobytes()


def test_using_one_needs_no_torch(night: Path) -> None:
    code = (
        "import sys, numpy as np; from roadworthy.frames import Frame; "
        "from roadworthy.transforms import ReplaceOperation; "
        "from roadworthy.transforms.learned import LearnedEngine; "
        f"change = LearnedEngine.open({str(night)!r}).transform(ReplaceOperation('time', 'night')); "
        "change(Frame('a', np.full((8, 8, 3), 200, np.uint8))); print('torch' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_a_gpu_that_is_not_there_is_said_before_the_first_frame(
    night: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnxruntime

    engine = LearnedEngine.open(night, device="cuda")
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    with pytest.raises(
        InputError, match=r"'cuda' needs onnxruntime-gpu, which is not installed; use .*'cpu'"
    ):
        engine.transform(NIGHT)
    # Where it is installed and cannot start CUDA, ONNX Runtime goes on without it and tells nobody.
    both = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    asked = []

    def opened(*_: object, providers: list[object], **__: object) -> SimpleNamespace:
        asked.append(providers)
        nothing: list[object] = []
        return SimpleNamespace(
            get_providers=lambda: ["CPUExecutionProvider"], get_inputs=nothing.copy, get_outputs=nothing.copy
        )

    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: both)
    monkeypatch.setattr(onnxruntime, "InferenceSession", opened)
    with pytest.raises(InputError, match=r"'cuda' cannot be used: ONNX Runtime could not start CUDA"):
        engine.transform(NIGHT)
    # In whole single precision, as the CPU computes, and never timed anew for each size of batch.
    options = {"use_tf32": "0", "cudnn_conv_algo_search": "HEURISTIC"}
    assert asked == [[(both[0], options), both[1]]]


class TestBroken:
    def test_a_network_that_was_changed(self, night: Path) -> None:
        network = night / "engine.onnx"
        network.write_bytes(network.read_bytes() + b"\0")
        with pytest.raises(
            InputError, match=r"engine\.onnx is not the network that its card is about: .*sha"
        ):
            LearnedEngine.open(night)

    def test_another_engine_in_its_place(self, night: Path, make_engine: Any) -> None:
        packed = pickle.dumps(LearnedEngine.open(night).transform(NIGHT))
        other = make_engine("other", "translation", identity())
        for name in ("card.json", "engine.onnx"):
            (night / name).write_bytes((other / name).read_bytes())
        with pytest.raises(InputError, match="was changed while it was in use: run again"):
            pickle.loads(packed)

    def test_files_that_are_missing(self, night: Path, tmp_path: Path) -> None:
        (night / "engine.onnx").unlink()
        with pytest.raises(InputError, match=r"has a card but no engine\.onnx"):
            LearnedEngine.open(night)
        (night / "card.json").unlink()
        with pytest.raises(
            InputError, match=r"not a learned engine: it needs the files card\.json and engine"
        ):
            LearnedEngine.open(night)
        with pytest.raises(InputError, match=r"there is no folder .*gone and no learned engine 'gone'"):
            LearnedEngine.open("gone", beside=tmp_path)

    def test_a_network_of_another_layout(self, make_engine: Any) -> None:
        folder = make_engine("other", "translation", identity("x"), inputs={"x": 3})
        expected = r"expected the inputs image \(of 3 channels\), got x \(of 3 channels\)"
        with pytest.raises(InputError, match=expected):
            LearnedEngine.open(folder).transform(NIGHT)
        nodes = [helper.make_node("Slice", ["labels", "a", "b", "c"], ["result"])]
        constants = {"a": np.array([0]), "b": np.array([3]), "c": np.array([1])}
        folder = make_engine("wide", "synthesis", nodes, constants, inputs={"labels": 35})
        with pytest.raises(InputError, match=r"labels \(of 7 channels\), got labels \(of 35 channels\)"):
            LearnedEngine.open(folder).transform(LINES)

    @pytest.mark.parametrize(
        ("kind", "channels", "told"),
        [
            (
                TensorProto.DOUBLE,
                3,
                r"image \(of 3 channels\), got image \(of 3 channels, tensor\(double\)\)",
            ),
            (TensorProto.FLOAT, 1, r"the output result \(of 3 channels\), got result \(of 1 channels\)"),
        ],
    )
    def test_numbers_of_another_kind_and_other_than_three_colours(
        self, night: Path, kind: int, channels: int, told: str
    ) -> None:
        shape: list[str | int | None] = ["n", 3, "height", "width"]
        nodes = identity()
        if channels == 1:
            nodes = [helper.make_node("ReduceMean", ["image"], ["result"], axes=[1], keepdims=1)]
        graph = helper.make_graph(
            nodes,
            "engine",
            [helper.make_tensor_value_info("image", kind, shape)],
            [helper.make_tensor_value_info("result", kind, ["n", channels, "height", "width"])],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        (night / "engine.onnx").write_bytes(model.SerializeToString())
        EngineCard.read(night).replace(sha256=sha256_of(night / "engine.onnx")).write(night)
        with pytest.raises(InputError, match=told):
            LearnedEngine.open(night).transform(NIGHT)

    def test_no_network_at_all(self, night: Path) -> None:
        (night / "engine.onnx").write_bytes(b"no network")
        EngineCard.read(night).replace(sha256=sha256_of(night / "engine.onnx")).write(night)
        with pytest.raises(InputError, match=r"cannot read the ONNX network .*engine\.onnx"):
            LearnedEngine.open(night).transform(NIGHT)

    def test_numbers_that_are_none(self, make_engine: Any, town: Frame) -> None:
        nodes = [
            helper.make_node("Sub", ["image", "image"], ["zero"]),
            helper.make_node("Div", ["zero", "zero"], ["result"]),
        ]
        folder = make_engine("nan", "translation", nodes)
        assert reason_of(folder, town, NIGHT) == "engine 'nan' gave an image with numbers that are not finite"


class TestDomain:
    def test_frames_of_other_cameras_do_not_qualify_where_that_is_asked_for(
        self, make_engine: Any, town: Frame
    ) -> None:
        nodes = [helper.make_node("Neg", ["image"], ["result"])]
        folder = make_engine("world-night", "translation", nodes, domain="world")
        photo = Frame("photo", town.image)
        change = LearnedEngine.open(folder, only_its_domain=True).transform(NIGHT)
        assert change(town, 1, measure=False).metadata["time"] == "night"
        with pytest.raises(NotApplicable, match="'world-night' learned from the built-in world alone"):
            change(photo, 1, measure=False)
        # What was changed once is still a frame of the world.
        assert change.engine.misfit(make_transform("fog")(town, 1, measure=False)) == ""
        asked_by_name = LearnedEngine.open(folder)
        assert (asked_by_name.is_for(town), asked_by_name.is_for(photo)) == (True, False)
        assert asked_by_name.transform(NIGHT)(photo, 1, measure=False).metadata["time"] == "night"

    def test_of_other_engines_nothing_is_known(self, night: Path, town: Frame) -> None:
        engine = LearnedEngine.open(night, only_its_domain=True)
        assert engine.is_for(Frame("photo", town.image))
        assert engine.misfit(Frame("photo", town.image)) == ""

    def test_engines_of_the_world_claim_no_level_that_they_did_not_learn(self, make_engine: Any) -> None:
        supports = [CHANGES["clear-to-rain"].supports]
        engine = LearnedEngine.open(make_engine("rain", "translation", identity(), supports=supports))
        assert engine.supports(CHANGES["clear-to-rain"].operation)
        assert not engine.supports(ReplaceOperation("weather", "heavy rain"))
        assert not engine.supports(ReplaceOperation("weather", "light rain"))


class TestCard:
    @pytest.mark.parametrize(
        ("changes", "complaint"),
        [
            ({"kind": "painting"}, r"kind: expected 'synthesis' or 'translation', got 'painting'"),
            ({"classes": ["road"]}, r"classes, context and edges go with the kind synthesis"),
            ({"trained_at": [160]}, r"trained_at"),
            ({"supports": []}, r"supports: .*at least 1 item"),
            (
                {"supports": [{"operation": "remve", "element": "line"}]},
                r"supports > 0 > operation: unknown operation 'remve'; did you mean 'remove'",
            ),
            ({"colour": 3}, r"unknown key 'colour'"),
            ({"format": 2}, r"reads cards of format 1"),
            ({"name": "../up"}, r"name: "),
            ({"least": [64, 64], "most": [32, 64]}, r"most must not be smaller than least"),
            ({"least": [30, 32], "most": [30, 32], "multiple": 4}, r"must be a multiple of `multiple`"),
            ({"prefilled": True}, r"it needs context"),
            ({"sha256": "abc"}, r"sha256: "),
        ],
    )
    def test_mistakes_are_told(self, night: Path, changes: dict[str, Any], complaint: str) -> None:
        path = night / "card.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
        with pytest.raises(InputError, match=complaint) as caught:
            LearnedEngine.open(night)
        assert str(path) in str(caught.value)

    def test_classes_must_be_known(self, colours: Path) -> None:
        path = colours / "card.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "classes": ["road", "lava"]}))
        with pytest.raises(InputError, match="classes that no label map shows: 'lava'; there are road, line"):
            LearnedEngine.open(colours)


class TestInAFile:
    def test_a_folder_beside_the_file_needs_no_permission(self, night: Path, town: Frame) -> None:
        file = night.parent / "engines.yaml"
        file.write_text("engines: {dark: {learned: night}}\n")
        engines = read_engines(file)
        assert engines[0].name == "dark"
        assert engines[0].files == (file, night / "card.json", night / "engine.onnx")
        dark = transform_for(NIGHT, engines)(town, 1, measure=False)
        assert dark.id.endswith("~dark(operation=replace, element=time, by=night)")
        # What it does not do is done by what is built in.
        assert transform_for(LINES, engines).name == "remove"

    def test_less_than_the_card_says_but_not_more(self, colours: Path) -> None:
        file = colours.parent / "engines.yaml"
        text = (
            "engines:\n  mine:\n    learned: colours\n    supports:\n      - {operation: remove, element: %s}"
        )
        file.write_text(text % "dashed line")
        (engine,) = read_engines(file)
        assert engine.supports(RemoveOperation("dashed line"))
        assert not engine.supports(LINES)
        file.write_text(text % "vehicle")
        with pytest.raises(
            InputError, match=r"engines\.yaml:3: the engine 'colours' does not remove vehicle: .*remove line"
        ):
            read_engines(file)

    def test_a_name_that_is_none(self, tmp_path: Path) -> None:
        file = tmp_path / "engines.yaml"
        file.write_text("engines:\n  a:\n    learned: nowhere\n")
        with pytest.raises(InputError, match=r"engines\.yaml:3: there is no folder .*nowhere"):
            read_engines(file)
