"""How engines are made: sources, networks, teachers, what is compared and what the command line does."""

from __future__ import annotations

import argparse
import dataclasses
import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from scripts.engines import make_engines, making
from scripts.engines.recipes import (
    CLASSES,
    QUICK,
    RECIPES,
    Effort,
    EngineRecipe,
    EngineVariant,
    PairedWeights,
)

from roadworthy.errors import InputError
from roadworthy.training.engines.pairs import CHANGES
from roadworthy.transforms.learned.card import EngineMetric

EDIT = next(name for name, one in CHANGES.items() if one.is_edit)
LOOK = "clear-to-rain"


def maker(name: str = LOOK, effort: Effort = QUICK, **changes: Any) -> making._Maker:
    recipe = dataclasses.replace(RECIPES[name], **changes)
    return making._Maker(recipe, Path("out"), Path("data"), effort, 3, "cpu", io.StringIO())


@pytest.mark.parametrize(
    ("use", "count", "seeds", "jitter"),
    [
        ("training", 1000, range(7000, 7048), 2.0),
        ("training", 40, range(7000, 7010), 2.0),
        ("validation", 100, range(7500, 7504), 1.0),
        ("evaluation", 100, range(7900, 7908), 1.0),
        ("evaluation", 3, range(7900, 7901), 1.0),
    ],
)
def test_frames_for_each_use_come_from_other_scenery(
    use: str, count: int, seeds: range, jitter: float
) -> None:
    source = maker()._source(use, (32, 64), count)
    assert (source.seeds, source.count, source.size, source.jitter) == (tuple(seeds), count, (32, 64), jitter)
    assert source.tracks == ("coast,village" if use == "evaluation" else "all")


def test_fewer_pairs_are_rendered_of_larger_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def pairs(change: Any, source: Any, **how: Any) -> list[int]:
        asked.append((source.count, how["classes"], how["workers"], how["folder"]))
        return [1, 2]

    monkeypatch.setattr(making, "pairs", pairs)
    effort = dataclasses.replace(QUICK, pairs=60, checked=7)
    one = maker(effort=effort)
    one._pairs("training", (32, 64), 0)
    one._pairs("training", (64, 128), 1)
    one._pairs("validation", (32, 64), 0)
    assert [(count, folder.name) for count, _, _, folder in asked] == [
        (60, f"{LOOK}-training-64x32"), (30, f"{LOOK}-training-128x64"), (7, f"{LOOK}-validation-64x32"),
    ]  # fmt: skip
    assert {(classes, workers, folder.parent) for _, classes, workers, folder in asked} == {
        ((), 3, Path("data"))
    }
    maker(EDIT)._pairs("validation", (32, 64), 0)
    assert asked[-1][1] == CLASSES


def test_networks_of_edits_see_labels_and_what_is_around() -> None:
    edit, look = maker(EDIT, width=8, blocks=1, noise=2), maker(LOOK, width=8, blocks=1, noise=2)
    assert (edit.inputs.labels, edit.inputs.context, edit.inputs.noise) == (len(CLASSES) + 1, True, 2)
    assert (look.inputs.labels, look.inputs.context, look.inputs.noise) == (0, False, 2)
    built: list[Any] = []

    def network_for(name: str, sizes: dict[str, Any], seed: int) -> Any:
        built.append((name, sizes, seed))
        return torch.nn.Identity()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(making, "network_for", network_for)
        for one in (edit, look):
            one.effort = dataclasses.replace(QUICK, width=0)
            one._network()
        look._network(3)
        look.effort = dataclasses.replace(QUICK, width=5)
        look._network(3)
    sizes = {"width": 8, "blocks": 1, "noise": 2}
    assert built == [
        ("small-synthesis", {**sizes, "input_nc": edit.inputs.channels, "context": True}, 1),
        ("small-translation", sizes, 1),
        ("small-translation", {**sizes, "width": 24}, 1),
        ("small-translation", {**sizes, "width": 15}, 1),
    ]


def test_a_teacher_learns_first_and_each_gets_half_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def method(self: Any, settings: Any, variant: EngineVariant, network: Any, teacher: Any) -> Any:
        seen.append((variant.name, settings.minutes, network, teacher, settings.learning_rate))
        return SimpleNamespace(networks={"generator": f"generator of {variant.name}"})

    fitted: list[Any] = []
    monkeypatch.setattr(making._Maker, "_method", method)
    monkeypatch.setattr(making._Maker, "_network", lambda self, scale=1: f"network times {scale}")
    monkeypatch.setattr(
        making, "fit_engine", lambda method, *feeds, **how: fitted.append((feeds, how.get("folder")))
    )
    taught = EngineVariant("taught", weights=PairedWeights(teacher=0.5))
    assert (taught.taught, EngineVariant("plain").taught) == (True, False)
    effort = dataclasses.replace(QUICK, steps=10_000)
    one = maker(effort=effort)
    found = one._fitted(taught, ("a", "b"), 0.01, 120.0)  # type: ignore[arg-type]
    assert seen == [
        ("teacher", 1.0, "network times 3", None, 0.01),
        ("taught", 1.0, "network times 1", "generator of teacher", 0.01),
    ]
    assert fitted == [(("a", "b"), None), (("a", "b"), Path("out") / f"{LOOK}-taught")]
    assert (found.settings.save_every, found.settings.sheet_every, found.settings.steps) == (
        500,
        2500,
        10_000,
    )
    seen.clear()
    feeds: Any = ("a", "b")
    brief = maker(effort=dataclasses.replace(QUICK, steps=40))
    short = brief._fitted(EngineVariant("plain"), feeds, 0.01, 120.0)
    assert [(name, minutes, teacher) for name, minutes, _, teacher, _ in seen] == [("plain", 2.0, None)]
    assert (short.settings.save_every, short.settings.sheet_every) == (40, 40)


def test_the_time_for_learning_ends_before_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1000.0)
    for minutes, until, ends in ((10.0, None, 1600.0), (10.0, 1100.0, 1080.0), (1.0, 5000.0, 1060.0)):
        assert maker(effort=dataclasses.replace(QUICK, minutes=minutes, until=until))._ends() == ends


def test_an_engine_is_compared_at_every_size_that_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metric = EngineMetric(
        name="look",
        value=1.0,
        low=0.5,
        high=1.5,
        frames=4,
        classical=2.0,
        classical_low=1.0,
        classical_high=3.0,
    )
    written: list[Any] = []

    def compared(change: Any, folder: Path, source: Any, *, workers: int) -> Any:
        if source.size == (32, 64):
            raise InputError("every frame is refused")
        found = type(
            "Found",
            (list,),
            {"is_better": source.size[0] == 64, "name": "town", "metrics": lambda self: [metric]},
        )
        return found([1, 2])

    card = SimpleNamespace(
        metrics=(), data=(), replace=lambda **more: SimpleNamespace(write=lambda folder: written.append(more))
    )
    monkeypatch.setattr(making, "compared", compared)
    monkeypatch.setattr(making, "LearnedEngine", SimpleNamespace(open=lambda folder: folder))
    monkeypatch.setattr(making, "EngineCard", SimpleNamespace(read=lambda folder: card))
    one = maker(effort=dataclasses.replace(QUICK, sizes=((32, 64), (64, 128), (96, 192)), compared=9))
    lines: list[str] = []
    monkeypatch.setattr(one.watcher, "line", lines.append)
    one._compare(tmp_path)
    told = "look, 128x64: 1.0 [0.5, 1.5], classical 2.0 [1.0, 3.0], 4 frames"
    assert lines == [
        "at 64x32: cannot be compared: every frame is refused",
        "at 128x64: nearer than the classical one", told,
        "at 192x96: NOT nearer than the classical one", told.replace("128x64", "192x96"),
    ]  # fmt: skip
    assert [one["metrics"][0]["name"] for one in written] == ["look, 128x64", "look, 192x96"]
    assert {
        (one["data"][0]["role"], one["data"][0]["frames"], one["data"][0]["name"]) for one in written
    } == {("evaluation", 2, "town")}
    plain = EngineMetric(name="apart", value=-1.0, low=-2.0, high=0.0, frames=3)
    assert making._told(plain) == "apart: -1.0 [-2.0, 0.0], 3 frames"


def test_what_a_card_notes() -> None:
    plain, filled = EngineVariant("x"), EngineVariant("x", prefilled=True)
    first = "Trained on the built-in world alone: on real frames it has not learned anything."
    improves = "It improves what the classical transform makes, which is run before it."
    assert making._notes(CHANGES[EDIT], plain) == (first,)
    assert making._notes(CHANGES[EDIT], filled) == (first, improves)
    rain = making._notes(CHANGES[LOOK], plain)
    assert rain == (first, "It learned the level normal; the camera has a dry lens.")
    fog = next(
        one for one in CHANGES.values() if one.operation.element == "weather" and one.classical != "rain"
    )
    assert making._notes(fog, plain) == (first, "It learned the level normal.")


def test_a_network_whose_images_are_no_numbers_is_never_the_best() -> None:
    def one(look: float) -> making._Learned:
        fitted: Any = SimpleNamespace(
            history=[SimpleNamespace(measures={"look": 9.0}), SimpleNamespace(measures={"look": look})]
        )
        return making._Learned(EngineVariant("x"), None, fitted, None)  # type: ignore[arg-type]

    assert (one(0.5).distance, one(float("nan")).distance, one(float("inf")).distance) == (
        0.5,
        float("inf"),
        float("inf"),
    )
    with pytest.raises(InputError, match=f"there is no recipe '{LOOK}s': did you mean '{LOOK}'"):
        making.make(f"{LOOK}s", Path("nowhere"))
    assert not Path("nowhere").exists()
    assert isinstance(RECIPES[LOOK], EngineRecipe)


def test_the_command_line_makes_one_engine_here_and_several_in_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[Any] = []
    monkeypatch.setattr(making, "make", lambda name, out, **how: made.append((name, out, how)))
    (tmp_path / "pairs").mkdir()
    assert (
        make_engines.main(
            [
                "--only",
                LOOK,
                "--out",
                str(tmp_path),
                "--device",
                "cpu",
                "--workers",
                "5",
                "--keep-data",
                "--pairs",
                "77",
                "--minutes",
                "2",
                "--batch",
                "6",
            ]
        )
        == 0
    )
    ((name, out, how),) = made
    assert (name, out, how["data"], how["workers"], how["device"]) == (
        LOOK,
        tmp_path,
        tmp_path / "pairs",
        5,
        "cpu",
    )
    assert (how["effort"].pairs, how["effort"].minutes, how["effort"].batch, how["effort"].until) == (
        77,
        2.0,
        6,
        None,
    )
    assert (tmp_path / "pairs").exists()
    assert make_engines.main(["--only", LOOK, "--out", str(tmp_path), "--device", "cpu", "--quick"]) == 0
    assert made[-1][2]["effort"] == QUICK
    assert not (tmp_path / "pairs").exists(), "pairs are deleted at the end"

    class Process:
        def __init__(self, target: Any, args: tuple[Any, ...]) -> None:
            self.name, self.workers, self.exitcode = args[0], args[4], None
            jobs.append(self)

        def start(self) -> None:
            self.exitcode = codes[self.name]  # type: ignore[assignment]

        def join(self) -> None:
            pass

    jobs: list[Process] = []
    codes = {LOOK: 0, EDIT: 0}
    monkeypatch.setattr(make_engines, "get_context", lambda how: SimpleNamespace(Process=Process))
    several = ["--only", f"{LOOK},{EDIT}", "--out", str(tmp_path), "--device", "cpu", "--workers", "5"]
    assert make_engines.main(several) == 0
    assert [(job.name, job.workers) for job in jobs] == [(LOOK, 2), (EDIT, 2)]
    codes[EDIT] = 2
    assert make_engines.main(several) == 2

    def broken(*given: Any, **how: Any) -> None:
        raise InputError("no room")

    monkeypatch.setattr(making, "make", broken)
    assert make_engines.main(["--only", LOOK, "--out", str(tmp_path), "--device", "cpu"]) == 2
    assert f"Error: {LOOK}: no room" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        make_engines._in_process(LOOK, tmp_path, tmp_path, QUICK, 1, "cpu")
    assert ended.value.code == 2
    given = argparse.Namespace(quick=False, minutes=3.0, pairs=9, batch=2, written_by=2.0, device="cpu")
    assert make_engines._effort(given, 1000.0).until == 1120.0


def learner(tmp_path: Path | None = None, **settings: Any) -> Any:
    """A learner whose method counts steps and has a loss of 2, then 4, and so on."""
    from roadworthy.training.engines.method import _EngineLearner
    from roadworthy.training.engines.settings import EngineSettings

    class Method:
        generators = ("generator",)
        device = torch.device("cpu")

        def __init__(self) -> None:
            self.settings = EngineSettings(
                **{"steps": 10, "save_every": 2, "sheet_every": 4, "batch": 3, **settings}
            )
            self.networks = {"generator": torch.nn.Linear(1, 1), "judge": torch.nn.Linear(1, 1)}
            self.optimizers: dict[str, Any] = {}
            self.rates: list[float] = []
            self.calls = 0

        def slow_down(self, factor: float) -> None:
            self.rates.append(factor)

        def step(self, batch: Any) -> dict[str, torch.Tensor]:
            self.calls += 1
            with torch.no_grad():
                self.networks["generator"].weight.fill_(float(self.calls))
            return {"look": torch.tensor(2.0 * self.calls)}

        def measures(self, batches: Any) -> dict[str, float]:
            assert not self.networks["generator"].training
            return {"look": self.networks["generator"].weight.item(), "batches": float(len(list(batches)))}

    feed: Any = type(
        "Feed", (list,), {"batch": lambda self, step, size: None, "part": lambda self, start, size: start}
    )
    told: list[Any] = []
    watcher: Any = SimpleNamespace(measured=told.append)
    made = _EngineLearner(Method(), feed(), feed(range(7)), tmp_path, watcher)  # type: ignore[arg-type]
    made.told = told  # type: ignore[attr-defined]
    return made


def test_losses_are_means_since_the_last_time_and_measures_come_when_they_are_due() -> None:
    one = learner(average=0.0)
    for step in range(6):
        one.step(step, step / 10)
        if step % 2:
            assert one.evaluate(step + 1, 1.0 * step)
    assert [(row.step, row.losses["look"], bool(row.measures)) for row in one.history] == [
        (2, 3.0, False), (4, 7.0, True), (6, 11.0, False),
    ]  # fmt: skip
    assert one.told == one.history
    assert one.history[1].measures == {"look": 4.0, "batches": 3.0}, "seven pictures, three at a time"
    assert one.method.networks["generator"].training, "it goes on learning"
    assert not one.evaluate(6, 5.0), "nothing is new"
    one.method.settings = one.settings
    one.steps = 6
    assert one.evaluate(6, 5.0), "the end is measured"
    assert len(one.history) == 3
    assert not one.evaluate(6, 5.0)


def test_what_is_measured_is_the_average_of_the_weights() -> None:
    one = learner(average=0.5)
    with torch.no_grad():
        one.averages["generator"].weight.fill_(0.0)
    wanted = 0.0
    for step in range(4):
        one.step(step, 0.0)
        share = min(0.5, (1 + step) / (10 + step))
        wanted = wanted * share + (1 - share) * (step + 1)
    assert one.averages["generator"].weight.item() == pytest.approx(wanted)
    assert one.evaluate(4, 0.0)
    assert one.history[-1].measures["look"] == pytest.approx(wanted)
    assert one.method.networks["generator"].weight.item() == 4.0
    state = one.state(4, 9.5, {"seed": 1})
    again = learner(average=0.5)
    assert again.restore(state) == 4
    assert (again.seconds, again.spent, again.history) == (9.5, 9.5, one.history)
    assert again.averages["generator"].weight.item() == pytest.approx(wanted)
    assert again.method.networks["generator"].weight.item() == 4.0
    timed = learner(average=0.0, minutes=1.0)
    timed.step(0, 0.0)
    timed.step(1, 0.0)
    assert timed.evaluate(2, 60.0)
    assert timed.history[-1].measures, "time is over"
