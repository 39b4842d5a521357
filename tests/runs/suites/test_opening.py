"""What is known before anything runs: models and data of a suite, notes, and what a plan is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import Acceptance, Severity
from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.images import write_image
from roadworthy.models import Recorded, Truth, load_model
from roadworthy.runs.suites import Suite, SuitePlan, plan_suite, read_suite
from roadworthy.runs.suites.forms import DataForm, ModelForm
from roadworthy.runs.suites.kinds import Context, Part
from roadworthy.runs.suites.kinds.base import OtherTask, included_name, other_task
from roadworthy.runs.suites.opening import Facts, OpenedData, OpenedModel, open_data, open_model
from roadworthy.runs.suites.planning import (
    _named,
    acceptance_of,
    chosen_entries,
    engines_of,
    severity_of,
    tags_of,
)

DRIVERS = Path(__file__).with_name("drivers.py")
NIGHT = "If the driving time changes into night, then the ego-vehicle should slow down."
GONE = "If the cars are removed, then the steering angle should stay the same."


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Suite]:
    (tmp_path / "drivers.py").write_text(DRIVERS.read_text())
    (tmp_path / "road").mkdir()
    for name in "ab":
        write_image(tmp_path / "road" / f"{name}.png", np.full((60, 80, 3), 90, np.uint8))

    def made(text: str) -> Suite:
        (tmp_path / "s.yaml").write_text(text)
        return read_suite(tmp_path / "s.yaml")

    return made


def opened(tmp_path: Path, **form: Any) -> OpenedData:
    options = {name: form.pop(name) for name in ("history", "sample") if name in form}
    return open_data("mine", DataForm(**form), tmp_path, **options)


def test_a_model_has_the_name_that_the_suite_gives_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = open_model("mine", ModelForm(model="truth"), tmp_path)
    assert (found.name, found.system.name, found.form.model) == ("mine", "mine", "truth")
    (tmp_path / "drivers.py").write_text(DRIVERS.read_text())
    model = open_model("other", ModelForm(model="python:drivers.py:heedless"), tmp_path)
    assert model.system.name == "other"

    class Fixed:
        name = property(lambda self: "fixed")

        def predict(self, frames: Any, /) -> Any:
            return [Signals(speed=1.0) for _ in frames]

    monkeypatch.setattr("roadworthy.runs.suites.opening.load_model", lambda *_, **__: Fixed())
    other = open_model("other", ModelForm(model="x"), tmp_path).system
    assert other.name == "other"
    assert other.predict([1, 2]) == [Signals(speed=1.0)] * 2  # type: ignore[list-item]


def test_data_is_opened_with_its_sample_history_and_frames(tmp_path: Path) -> None:
    whole = opened(tmp_path, data="world:town", options={"count": 9})
    assert (whole.name, len(whole.frames), whole.first.id) == ("mine", 9, "town-000000")
    assert len(opened(tmp_path, data="world:town", options={"count": 9}, sample=4).frames) == 4
    form = DataForm(data="world:town", options={"count": 9}, sample=3)
    for sample, expected in ((None, 3), (2, 2), (7, 3)):
        assert len(open_data("mine", form, tmp_path, sample=sample).frames) == expected
    assert len(opened(tmp_path, data="world:town", sample=2).frames.data) == 2, "no more are made than needed"
    named = opened(tmp_path, data="world:town", frames=["town-000031"], sample=5)
    assert named.frames.ids == ("town-000031",)
    drives = opened(tmp_path, data="world:town", options={"count": 6, "sequence": 3}, history=2)
    assert drives.frames.history == 2
    assert len(drives.frames[2].previous) == 2
    with pytest.raises(InputError, match="world:town cannot be read without its images: leave out 'labels'"):
        opened(tmp_path, data="world:town", options={"count": 1}, labels="80x60")


def test_data_without_frames_or_with_broken_ones(tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "a.png").write_bytes(b"no image")
    write_image(folder / "b.png", np.zeros((6, 8, 3), np.uint8))
    with pytest.raises(InputError, match=r"a\.png"):
        opened(tmp_path, data="folder:broken")
    skipping = opened(tmp_path, data="folder:broken", options={"on_error": "skip"})
    assert skipping.first.id == "b"
    (folder / "b.png").write_bytes(b"nor this")
    with pytest.raises(InputError, match=r"b\.png"):
        opened(tmp_path, data="folder:broken", options={"on_error": "skip"})


def test_what_is_missing_is_estimated_unless_somebody_says_who_labels(tmp_path: Path) -> None:
    write_image(tmp_path / "a.png", np.zeros((6, 8, 3), np.uint8))
    plain = opened(tmp_path, data=f"folder:{tmp_path}")
    assert plain.estimated(["labels", "depth"]) == ["depth", "labels"]
    assert plain.estimated([]) == []
    nobody = opened(tmp_path, data=f"folder:{tmp_path}", options={"labels": "none"})
    assert nobody.estimated(["labels", "depth"]) == []
    shallow = opened(tmp_path, data=f"folder:{tmp_path}", options={"depth": "none"})
    assert shallow.frames.estimator is not None
    world = opened(tmp_path, data="world:town", options={"count": 1})
    assert world.estimated(["labels", "depth"]) == []


class Labelled:
    name = "labelled"

    def __init__(self, frames: list[Frame]) -> None:
        self.frames = frames
        self.ids = [one.id for one in frames]

    def __len__(self) -> int:
        return len(self.frames)

    def __getitem__(self, index: int, /) -> Frame:
        return self.frames[index]

    def __iter__(self) -> Any:
        return iter(self.frames)


def test_label_maps_that_do_not_fit_are_told_of_a_few_frames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = LabelMap(np.zeros((6, 8), np.uint8), ("road",))
    frames = [Frame(f"f{n}", np.zeros((6, 8, 3), np.uint8), labels=labels) for n in range(12)]
    plain = opened(tmp_path, data="world:town", options={"count": 1})
    chosen = replace(plain.frames, data=Labelled(frames), indices=range(12))
    data = replace(plain, frames=chosen, first=frames[0])
    seen: list[str] = []

    def misfits(some: list[Frame]) -> list[str]:
        seen.extend(one.id for one in some)
        return ["f0: shifted", "f3: shifted"]

    monkeypatch.setattr("roadworthy.runs.suites.opening.misfits", misfits)
    assert data.misfits() == [
        "2 of 5 label maps of mine looked at do not fit their image (f0: shifted): `roadworthy data check` "
        "looks at all."
    ]
    assert len(seen) == 5
    assert replace(data, first=replace(frames[0], labels=None)).misfits() == []
    assert plain.misfits() == [], "those of the world fit"
    monkeypatch.setattr("roadworthy.runs.suites.opening.misfits", lambda _: [])
    assert data.misfits() == []
    assert plain.digest() is plain.digest(), "frames are read once for it"


def facts(system: Any, answer: Any = None, data: Any = None, **others: Any) -> Facts:
    return Facts(OpenedModel("mine", ModelForm(model="x"), system), data, answer, **others)


def test_what_a_model_is_for_is_known_from_its_answers_or_what_it_says() -> None:
    speed, boxes = Signals(speed=1.0), Boxes.empty()
    assert facts(Truth(), speed).task == "regression"
    assert facts(Truth(), None, elsewhere=boxes).task == "detection"
    assert facts(Truth(), speed, elsewhere=boxes).known is speed
    assert facts(Truth()).task is None
    assert facts(load_model("classifier")).task == "classification"
    assert facts(SimpleNamespace(network=load_model("detector"))).task == "detection"
    assert facts(Truth()).data_name == ""
    told = other_task(facts(Truth(), boxes), "regression", "rules speak of driving")
    assert told == "mine is a model for detection, and rules speak of driving"
    assert isinstance(told, OtherTask)
    assert other_task(facts(Truth(), speed), "regression", "") == other_task(facts(Truth()), "any", "") == ""


def test_recorded_answers_are_for_frames_that_they_name() -> None:
    recorded = Recorded(
        "speeds", "regression", {"a": Signals(speed=1.0), "b": Signals(speed=2.0)}, "speeds.csv"
    )
    town = SimpleNamespace(name="town", frames=SimpleNamespace(ids=("b", "c")))
    far = SimpleNamespace(name="far", frames=SimpleNamespace(ids=("c",)))
    bare = SimpleNamespace(name="bare", frames=SimpleNamespace())
    assert facts(recorded, data=town).unrecorded(changed=False) == ""
    assert facts(recorded, data=bare).unrecorded(changed=False) == ""
    assert facts(recorded).unrecorded(changed=False) == ""
    assert facts(Truth(), data=far).unrecorded(changed=True) == ""
    assert facts(recorded, data=far).unrecorded(changed=False) == (
        "mine has recorded answers, and none is to a frame of far"
    )
    assert facts(SimpleNamespace(network=recorded), data=town).unrecorded(changed=True) == (
        "mine has recorded answers, and these are to frames as they are"
    )


def plan(read: Callable[[str], Suite], text: str, **options: Any) -> SuitePlan:
    return plan_suite(read(text), **options)


CAREFUL = "models: {careful: python:drivers.py:careful}\n"


def test_what_is_estimated_or_filled_for_real_frames_is_told_and_hashed(read: Callable[[str], Suite]) -> None:
    found = plan(
        read,
        f"{CAREFUL}data: {{road: folder:road, town: {{data: world:town, sample: 1}}}}\n"
        f"requirements: {{G: {{rule: '{GONE}', data: road}}, N: '{NIGHT}'}}\n",
    )
    assert found.estimated() == {"road": ["depth", "labels"]}
    assert [one for one in found.of_suite if "estimated by" in one] == [
        "depth and labels are estimated by street (shipped network): 2 frames of road have none."
    ]
    engines = engines_of(found)
    assert {name: one.hashed for name, one in engines.items()} == {
        "street (shipped network)": "the network that labels frames which have no labels",
        "fill (shipped network)": "the network that fills what is left where things of real frames go",
        "gate street": "the network of the gate, which looks at real frames",
    }
    assert found.notes[: len(found.of_suite)] == found.of_suite
    drawn = plan(
        read,
        f"{CAREFUL}data: {{town: {{data: world:town, sample: 1}}}}\n"
        f"requirements: {{G: '{GONE}', N: '{NIGHT}'}}\ngate: 'off'\n",
    )
    assert drawn.estimated() == {}
    assert engines_of(drawn) == {}
    assert drawn.gate is None
    assert drawn.of_suite == ["The gate is off: nobody looked whether changed frames show what they should."]


def test_a_gate_that_is_none_is_told_and_one_that_is_given_goes_before_the_suites(
    read: Callable[[str], Suite],
) -> None:
    text = f"{CAREFUL}data: {{town: {{data: world:town, sample: 1}}}}\nrequirements: {{N: '{NIGHT}'}}\n"
    with pytest.raises(InputError, match=r"the gate is street, off or a detector: "):
        plan(read, f"{text}gate: nobody\n")
    assert plan(read, f"{text}gate: 'off'\n", gate="street").gate is not None
    assert plan(read, text, gate="off").gate is None
    assert plan(read, f"{text}seed: 5\n").context.seed == 5
    assert plan(read, f"{text}seed: 5\n", seed=0).context.seed == 0
    assert plan(read, text, allow_commands=True, sample=1).context.allow_commands


def test_code_that_is_only_looked_at_is_not_run(read: Callable[[str], Suite], tmp_path: Path) -> None:
    suite = read(
        "models: {careful: python:drivers.py:careful, net: dave2}\n"
        f"data: {{town: {{data: world:town, sample: 1}}}}\nrequirements: {{N: '{NIGHT}'}}\n"
    )
    (tmp_path / "drivers.py").write_text("raise SystemExit(3)\ndef careful(frames): ...\n")
    found = plan_suite(suite, look_only=True)
    assert found.unopened == ["careful"]
    assert [(one.requirement.id, sorted(one.models)) for one in found.trials] == [("N", ["careful", "net"])]
    alone = read(
        "models: {careful: python:drivers.py:careful}\n"
        f"data: {{town: {{data: world:town, sample: 1}}}}\nrequirements: {{N: '{NIGHT}'}}\n"
    )
    assert [one.models for one in plan_suite(alone, look_only=True).trials] == [("careful",)]
    labelled = read(
        "models: dave2\ndata: {town: {data: world:town, sample: 1, "
        f"options: {{labels: 'callable:drivers.py:careful'}}}}}}\nrequirements: {{N: '{NIGHT}'}}\n"
    )
    found = plan_suite(labelled, look_only=True)
    assert (found.unopened, [one.models for one in found.trials]) == (["town"], [("dave2",)])
    measured = (
        "requirements: {R: {reliability: [contrast, jpeg], preserve: prediction, versions: 1, batch: 1}}\n"
    )
    unread = ", options: {labels: 'callable:drivers.py:careful'}"
    for models, options in (("dave2", unread), ("{careful: python:drivers.py:careful}", "")):
        data = f"data: {{town: {{data: world:town, sample: 1{options}}}}}"
        found = plan_suite(read(f"models: {models}\n{data}\n{measured}"), look_only=True)
        assert [one.requirement.text for one in found.trials] == ["R/contrast", "R/jpeg"]
    data = f"data: {{town: {{data: world:town, sample: 1{unread}}}, other: {{data: world:town, sample: 1}}}}"
    same = read(f"models: {{town: dave2}}\n{data}\n{measured}")
    # That data has the model's name does not close the model.
    words = {one.data: one.requirement.text for one in plan_suite(same, look_only=True).trials}
    assert words["town"].startswith("R/")
    assert not words["other"].startswith("R/")
    gated = read(
        "models: dave2\ndata: {town: {data: world:town, sample: 1}}\ngate: 'callable:drivers.py:careful'\n"
        f"requirements: {{N: '{NIGHT}'}}\n"
    )
    assert plan_suite(gated, look_only=True).unopened == ["the gate"]


def test_an_early_end_needs_cases_in_any_order(read: Callable[[str], Suite]) -> None:
    text = "data: {town: {data: world:town, sample: 1}}\n"
    with pytest.raises(InputError, match="D cannot end early, because its cases have an order: leave out"):
        plan(
            read,
            f"{CAREFUL}{text}requirements: {{D: {{driving: {{SD(SA): 5}}, simulator: world:town, "
            "accept: {rate: 10%, early: true}}}\n",
        )
    ((trial),) = plan(
        read, f"{CAREFUL}{text}requirements: {{N: {{rule: '{NIGHT}', accept: {{rate: 10%, early: true}}}}}}\n"
    ).trials
    assert trial.requirement.acceptance == Acceptance(0.1, early=True)


def test_parts_of_an_entry_are_chosen_by_their_names(read: Callable[[str], Suite], tmp_path: Path) -> None:
    (tmp_path / "two.rules").write_text(f"A: {NIGHT}\n\nB: {NIGHT}\n")
    text = (
        f"{CAREFUL}data: {{day: {{data: world:town, sample: 1}}, dusk: {{data: world:town, sample: 1}}}}\n"
        f"defaults: {{tags: [all]}}\n"
        "requirements: {two: {rules: two.rules, tags: [mine]}, one: {rules: two.rules, only: A, data: day}}\n"
    )

    def ids(*only: str) -> list[str]:
        return [trial.requirement.id for trial in plan(read, text, only=only).trials]

    whole = ["two/A@day", "two/A@dusk", "two/B@day", "two/B@dusk"]
    assert ids("two") == ids("mine") == whole
    assert ids("two/B") == whole[2:]
    assert ids("two/B@dusk", "two/A@day") == ["two/A@day", "two/B@dusk"]
    assert len(ids("all")) == len(ids("rules")) == len(ids()) == 5
    with pytest.raises(InputError, match="no requirement has the id, tag or kind 'two/C'"):
        ids("two/C")
    found = plan(read, text, only=["one"])
    assert found.only == ("one",)
    assert found.notes == [], "nobody asked for the others"
    form = found.suite.form
    assert list(chosen_entries(form, ["two/zzz"])) == ["two"]
    assert list(chosen_entries(form, ["twox"])) == []
    assert tags_of(form, form.requirements["two"]) == ("all", "mine")
    assert severity_of(form, form.requirements["two"]) is Severity.MAJOR
    assert acceptance_of(form, form.requirements["two"]) == Acceptance()


def test_variants_of_a_part_are_told_apart_where_there_are_several() -> None:
    part: Part[Any] = Part("", "", {}, None)
    made = {key: (part, ["m"]) for key in (("day", "", "a"), ("dusk", "", "a"))}
    assert list(_named("R", made).values()) == ["R", "R"]
    several = {
        key: (part, ["m"])
        for key in (("day", "speed", "a"), ("day", "speed", "b"), ("day", "", "c"), ("dusk", "speed", "a"))
    }
    assert list(_named("R", several).values()) == ["R/speed", "R/speed-2", "R", "R/speed"]


def test_files_of_a_suite_are_called_as_the_suite_has_them_unless_they_lie_elsewhere(tmp_path: Path) -> None:
    assert included_name("a/../b.rules") == "b.rules"
    assert included_name("/tmp/x/b.rules") != included_name("/tmp/y/b.rules")
    assert included_name("/tmp/x/b.rules").endswith("/b.rules")
    copies = tmp_path / "copies"
    copies.mkdir()
    (copies / "b.rules").touch()
    context = Context(tmp_path, 0, False, None, copies=copies)
    assert context.located("b.rules") == copies / "b.rules"
    assert context.located("c.rules") == tmp_path / "c.rules"
    assert context.files == {"b.rules": copies / "b.rules", "c.rules": tmp_path / "c.rules"}
