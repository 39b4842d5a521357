"""From data to the folder of an engine that can be used, and the script that makes the shipped ones."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from scripts.engines import make_engines, making
from scripts.engines.paired import PairedMethod
from scripts.engines.recipes import QUICK, RECIPES, EngineRecipe, EngineVariant, PairedWeights
from typer.testing import CliRunner

from roadworthy.cli.engine_training import app
from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.images import write_image
from roadworthy.training.engine_networks.settings import NetworkInputs
from roadworthy.training.engines.method import FittedEngine, fit_engine
from roadworthy.training.engines.pairs import CHANGES, EngineComparison, interval
from roadworthy.training.engines.pictures import Pictures
from roadworthy.training.engines.settings import EngineSettings
from roadworthy.training.engines.train import Folder, train_synthesis, train_translation
from roadworthy.training.engines.writing import Import, Purpose, _imported_inputs, _table, channels_of
from roadworthy.transforms import RemoveOperation, ReplaceOperation
from roadworthy.transforms.engines.files import parse_supports
from roadworthy.transforms.learned import EngineCard, LearnedEngine, shipped_names

LINE = Purpose("lines", ({"operation": "remove", "element": "line"},), "world")
NIGHT = Purpose("night", ({"operation": "replace", "element": "time", "by": "night"},), "world")
TINY: dict[str, Any] = {"steps": 2, "batch": 2, "device": "cpu", "save_every": 1, "sheet_every": 2}


def test_a_painting_engine_comes_out_and_is_used(tmp_path: Path) -> None:
    data = load("world:town", count=5, size="96x64")
    arguments: dict[str, Any] = {
        "size": (64, 96),
        "network": {"ngf": 8, "n_downsampling": 2, "n_blocks": 1},
        "validation_share": 0.4,
        "ndf": 8,
    }
    card = train_synthesis(data, LINE, Folder(tmp_path), settings=EngineSettings(**TINY), **arguments)
    assert card == EngineCard.read(tmp_path)
    assert card.classes[:2] == ("road", "line")
    assert (card.context, card.edges, card.multiple) == (True, False, 4)
    assert (card.trained_at, card.most) == ((64, 96), (96, 144))
    assert [(one.role, one.frames) for one in card.data] == [("training", 3), ("validation", 2)]
    assert card.training.method == "pix2pixhd"
    assert set(card.training.losses) == {"adversarial", "discriminator", "matching", "perceptual", "plain"}
    assert card.training.settings["perceptual"] == "the shipped detector"
    assert card.metrics[0].name == "L1 inside, grey levels"
    frame = data[0]
    changed = LearnedEngine.open(tmp_path).transform(RemoveOperation("line"))(frame, 1, measure=False)
    assert changed.image.shape == frame.image.shape
    assert changed.labels is not None
    assert not changed.labels.mask("line").any()
    with pytest.raises(InputError, match="already holds a training"):
        train_synthesis(data, LINE, Folder(tmp_path), settings=EngineSettings(**TINY), **arguments)
    longer = EngineSettings(**{**TINY, "steps": 3})
    with pytest.raises(InputError, match="steps was 2 and is 3"):
        train_synthesis(data, LINE, Folder(tmp_path, resume=True), settings=longer, **arguments)


@pytest.mark.parametrize(
    ("method", "network", "fact", "before", "after"),
    [
        ("unit", {"dim": 4, "n_res": 1}, "season", "summer", "winter"),
        ("ugatit", {"ngf": 4, "n_blocks": 1, "light": True}, "time", "day", "night"),
    ],
)
def test_a_translating_engine_comes_out_of_two_folders_and_is_used(
    tmp_path: Path, method: str, network: dict[str, object], fact: str, before: str, after: str
) -> None:
    for light in (before, after):
        (tmp_path / light).mkdir()
        for frame in load("world:meadow", count=4, size="64x32", **{fact: light}):
            write_image(tmp_path / light / f"{frame.id}.png", frame.image)
    out = tmp_path / "engine"
    given = ["translation", "--from", f"folder:{tmp_path / before}", "--to", f"folder:{tmp_path / after}"]
    given += ["--out", str(out), "--method", method, "--supports", f"replace {fact} by {after}", "--json"]
    given += ["--size", "64x32", "--steps", "2", "--batch", "2", "--device", "cpu", "--workers", "1"]
    given += ["--val-share", "0.5", "--small", *(f"-m{key}={value}" for key, value in network.items())]
    result = CliRunner().invoke(app, given, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    # In a pipe, as here, a line tells each time how far it is.
    lines = result.stderr.splitlines()
    assert [line.partition(",")[0] for line in lines] == ["step 1", "step 2"]
    assert "loss cycle " in lines[0]
    assert "cycle error, grey levels " in lines[1]
    card = EngineCard.read(out)
    assert told["name"] == card.name == "engine"
    assert (card.kind, card.architecture, card.training.method) == ("translation", method, method)
    assert {one.name for one in card.metrics} >= {"cycle error, grey levels"}
    assert (out / "history.csv").is_file()
    assert [str(one) for one in card.operations()] == [f"replace {fact} by {after}"]
    engine = LearnedEngine.open(out).transform(ReplaceOperation(fact, after))
    frame = load("world:town", count=1, size="64x32")[0]
    assert engine(frame, 1, measure=False).metadata[fact] == after
    again = CliRunner().invoke(app, [*given, "--resume"], catch_exceptions=False)
    assert json.loads(again.stdout)["training"]["steps"] == 2


def test_what_cannot_work_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    data = load("world:town", count=2, size="64x32")
    settings = EngineSettings(**TINY)
    with pytest.raises(InputError, match="must be multiples of 16"):
        train_synthesis(data, LINE, Folder(tmp_path / "a"), size=(40, 64), settings=settings)
    with pytest.raises(InputError, match="there is no network for synthesis 'unit'"):
        train_synthesis(
            data, LINE, Folder(tmp_path / "a"), size=(32, 64), architecture="unit", settings=settings
        )
    with pytest.raises(InputError, match="no training to resume"):
        train_translation(
            data, data, NIGHT, Folder(tmp_path / "a", resume=True), size=(32, 64), settings=settings
        )
    strange = Purpose("x", ({"operation": "remove", "element": "unicorn"},))
    with pytest.raises(InputError, match="unicorn"):
        train_translation(data, data, strange, Folder(tmp_path / "a"), size=(32, 64), settings=settings)
    assert not (tmp_path / "a").exists()


def test_supports_are_written_in_words() -> None:
    assert parse_supports(["Remove lane line", "replace time by night"]) == (
        {"operation": "remove", "element": "lane line"},
        {"operation": "replace", "element": "time", "by": "night"},
    )
    for wrong in ("line", "remove line by tree", "replace time", "paint road"):
        with pytest.raises(InputError, match=r"--supports: write what"):
            parse_supports([wrong])
    # The words are checked before anything is trained, and it says where they stand.
    with pytest.raises(InputError, match=r"--supports 'replace seson by winter': 'seson' .* mean 'season'"):
        parse_supports(["remove line", "replace seson by winter"])
    with pytest.raises(
        InputError, match="--supports 'replace weather by winter': 'winter' cannot replace 'weather'"
    ):
        parse_supports(["replace weather by winter"])


def test_an_engine_of_the_world_is_made_and_compared(tmp_path: Path) -> None:
    arguments = ["--quick", "--only", "remove-line", "--out", str(tmp_path), "--device", "cpu"]
    assert make_engines.main(arguments) == 0
    card = EngineCard.read(tmp_path / "remove-line")
    assert card.operations()[0].covers(CHANGES["remove-line"].operation)
    assert [one.role for one in card.data] == ["training", "validation", "evaluation"]
    assert set(card.training.settings["validation_distances"]) == {"prefilled", "own"}
    distance = card.metrics[0]
    assert distance.name == "look distance to the world's truth, 128x64"
    assert distance.classical is not None
    assert distance.low is not None
    assert distance.value is not None
    assert distance.low <= distance.value
    # Three steps from what the classical transform makes: nearly as good.
    assert distance.value < 1.5 * distance.classical
    assert card.notes[-1].startswith("Weights have 16 bits: on random inputs that changed a pixel by ")
    assert not (tmp_path / "pairs").exists()
    assert (tmp_path / "remove-line.log").is_file()


def test_the_fastest_way_is_one_of_those_that_were_tried(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "_WARMED", 1)
    monkeypatch.setattr(making, "_TIMED", 1)
    small = dataclasses.replace(QUICK, sizes=((32, 64),), batch=1)
    chosen = making.fastest(small, "cpu")
    assert chosen == dataclasses.replace(
        small, precision=chosen.precision, channels_last=chosen.channels_last
    )
    assert "a step: float32" in capsys.readouterr().out


@pytest.fixture
def learning(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float, float]]:
    """What variants learn, at which rate, for how long; the clock stands still, and nothing is rendered."""
    seen: list[tuple[str, float, float]] = []
    pictures = Pictures("grey", {key: np.full((4, 64, 128, 3), 99, np.uint8) for key in ("image", "truth")})
    monkeypatch.setattr(making, "pairs", lambda *_given, **_more: pictures)
    monkeypatch.setattr(making, "compared", lambda *_given, **_more: pytest.fail("compared too early"))
    monkeypatch.setattr(time, "time", lambda: 1000.0)

    def fit(method: PairedMethod, *feeds: Any, **more: Any) -> FittedEngine:
        settings = method.settings
        way = "adversarial" if method.weights.adversarial else "truth"
        assert settings.minutes is not None
        seen.append((way, settings.learning_rate, 60 * settings.minutes))
        if way == "adversarial":
            raise InputError("the training diverged")
        return fit_engine(method, *feeds, **more)

    monkeypatch.setattr(making, "fit_engine", fit)
    _let_rain_learn(monkeypatch, _TRUTH, _ADVERSARIAL)
    return seen


_TRUTH = EngineVariant("truth", share=2.0)
_ADVERSARIAL = EngineVariant("adversarial", weights=PairedWeights(adversarial=0.02, matching=0.2))


def _let_rain_learn(monkeypatch: pytest.MonkeyPatch, *variants: EngineVariant) -> None:
    changed = dataclasses.replace(RECIPES["clear-to-rain"], variants=variants, rate=1e-3)
    monkeypatch.setitem(cast("dict[str, EngineRecipe]", RECIPES), "clear-to-rain", changed)


def test_a_variant_that_diverges_is_tried_slower_and_costs_no_other(
    tmp_path: Path, learning: list[tuple[str, float, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # By then, rendering has left 50 of 600 seconds; 20 are kept for writing.
    effort = dataclasses.replace(QUICK, minutes=10.0, until=1050.0, steps=1)
    monkeypatch.setattr(making._Maker, "_compare", lambda *_: None)
    folder = making.make("clear-to-rain", tmp_path, effort=effort, device="cpu")
    assert learning == [("truth", 1e-3, 20.0), ("adversarial", 1e-3, 30.0), ("adversarial", 2.5e-4, 30.0)]
    card = EngineCard.read(folder)
    assert set(card.training.settings["validation_distances"]) == {"truth"}
    told = (tmp_path / "clear-to-rain.log").read_text("utf-8")
    assert "variant 'adversarial' failed: the training diverged" in told


def test_where_nothing_can_be_learned_it_says_so(
    tmp_path: Path, learning: list[tuple[str, float, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _let_rain_learn(monkeypatch, _ADVERSARIAL)
    with pytest.raises(InputError, match="no variant of 'clear-to-rain' could be learned"):
        making.make("clear-to-rain", tmp_path, effort=QUICK, device="cpu")
    assert [one[0] for one in learning] == ["adversarial", "adversarial"]


def test_processes_that_render_load_no_torch() -> None:
    code = (
        "import sys\n"
        "import scripts.engines.make_engines\n"
        "import roadworthy.training.engines.pairs\n"
        "sys.exit('torch' in sys.modules)"
    )
    root = Path(__file__).parents[3]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


def test_recipes_are_those_of_the_changes(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(RECIPES) == set(CHANGES)
    assert {name for name, one in RECIPES.items() if one.ships} == set(shipped_names())
    assert make_engines.main(["--only", "remove-moon", "--out", "nowhere"]) == 2
    assert make_engines.main(["--device", "abacus", "--out", "nowhere"]) == 2
    assert "device 'abacus' cannot be used" in capsys.readouterr().err


def test_a_comparison_says_whether_the_difference_is_more_than_chance() -> None:
    rng = np.random.default_rng(0)
    classical = rng.uniform(0.4, 0.6, 50)

    def comparison(learned: Any) -> EngineComparison:
        values = {"learned": learned, "classical": classical, "unchanged": np.ones(50)}
        return EngineComparison("made up", values, values)

    assert comparison(classical - 0.01).is_better
    assert not comparison(classical + rng.normal(0, 0.05, 50)).is_better
    nearer = comparison(classical - 0.1).metrics()[2]
    assert nearer.value == pytest.approx(1 - classical.mean() + 0.1, abs=1e-4)
    low, high = interval(classical)
    deviation = classical.std() / np.sqrt(50)
    assert (low, high) == pytest.approx(
        (classical.mean() - 1.96 * deviation, classical.mean() + 1.96 * deviation), abs=deviation / 3
    )


def said(**others: Any) -> Import:
    return Import("mine", ({"operation": "remove", "element": "line"},), **others)


def imported_inputs(channels: int, given: Import, kind: str = "synthesis") -> NetworkInputs:
    class Settings:
        architecture = "pix2pixHD"

    class Checkpoint:
        path, settings = Path("net.pth"), Settings()

    found: Any = Checkpoint()
    found.settings.kind, found.settings.channels = kind, channels
    return _imported_inputs(found, given)


def test_the_label_channels_of_a_checkpoint_are_named_in_full() -> None:
    named = channels_of("road, -, cars")
    assert named == (("road", "road"), ("-", "void"), ("cars", "vehicle"))
    assert imported_inputs(3, said(channels=named)) == NetworkInputs(labels=3, edges=False)
    assert imported_inputs(4, said(channels=named)) == NetworkInputs(labels=3, edges=True)
    assert imported_inputs(4, said(channels=named, edges=True)) == NetworkInputs(labels=3, edges=True)
    assert imported_inputs(3, said(), kind="translation") == NetworkInputs()
    for channels, given, told in (
        (5, said(channels=named), "has 5 input channels, and 3 label channels were named: name all"),
        (3, said(channels=named, edges=True), "3 label channels and one of edges were named"),
        (3, said(), "with 3 input channels: say what they mean"),
    ):
        with pytest.raises(InputError, match=told):
            imported_inputs(channels, given)
    with pytest.raises(InputError, match="it has no label channels; leave them out"):
        imported_inputs(3, said(channels=named), kind="translation")
    with pytest.raises(InputError, match="'rain' is not a class of label maps; these are: "):
        channels_of("road, rain")


def test_each_class_of_ours_switches_on_one_channel_of_theirs() -> None:
    vehicles = ("caravan", "vehicle"), ("-", "void"), ("vehicle", "vehicle")
    channels = (*vehicles, ("house", "building"), ("hut", "building"))
    table = _table(channels, ("vehicle", "building", "tree"))
    # The one of the same name, else the first; the last column is what has no class.
    assert table.tolist() == [[0, 0, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
