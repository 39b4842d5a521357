from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import Acceptance, Severity
from roadworthy.errors import InputError
from roadworthy.images import write_image
from roadworthy.runs.suites import Suite, SuitePlan, opening, plan_suite
from roadworthy.runs.suites.opening import look_at
from roadworthy.runs.suites.passes import passes_of
from roadworthy.runs.suites.reading import SuiteError

Read = Callable[[str], Suite]

DRIVERS = Path(__file__).with_name("drivers.py")
NIGHT = "If the driving time changes into night, then the ego-vehicle should slow down."
SPEC = """
exfunction vehicle(): bb near(): interval endexfunction
case stop not (PROJ_y(vehicle()) > near()) endcase
case NOT stop PROJ_y(vehicle()) > near() endcase
"""


@pytest.fixture
def plan(suite: Read, tmp_path: Path) -> Callable[..., SuitePlan]:
    """Plan a suite that is given by its text; models are functions of drivers.py."""

    def make(text: str, **options: object) -> SuitePlan:
        (tmp_path / "drivers.py").write_text(DRIVERS.read_text())
        return plan_suite(suite(dedent(text)), **options)  # type: ignore[arg-type]

    return make


def ids(found: SuitePlan) -> list[str]:
    return [trial.requirement.id for trial in found.trials]


def told(plan: Callable[..., SuitePlan], text: str, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        plan(text, **options)
    return str(caught.value)


class TestRequirements:
    def test_defaults_hold_where_nothing_else_is_said(self, plan: Callable[..., SuitePlan]) -> None:
        found = plan(f"""
            models: {{careful: python:drivers.py:careful}}
            data: {{town: {{data: world:town, sample: 3}}}}
            defaults: {{tags: [urban], severity: critical, accept: 10%}}
            requirements:
              N1: {NIGHT}
              N2:
                rule: {NIGHT}
                tags: [night, urban]
                severity: minor
                accept: {{rate: 2%, confidence: 99%}}
                text: Slow down in the dark
        """)
        first, second = (trial.requirement for trial in found.trials)
        assert (first.tags, first.severity, first.acceptance) == (
            ("urban",),
            Severity.CRITICAL,
            Acceptance(0.1),
        )
        assert first.text == NIGHT
        assert second.text == "Slow down in the dark"
        assert (second.tags, second.severity) == (("urban", "night"), Severity.MINOR)
        assert second.acceptance == Acceptance(0.02, 0.99)
        assert found.cases(found.trials[0]) == 3

    def test_a_file_of_rules_is_a_requirement_for_each(
        self, plan: Callable[..., SuitePlan], tmp_path: Path
    ) -> None:
        (tmp_path / "rules").mkdir()
        file = tmp_path / "rules" / "mine.rules"
        file.write_text(f"A: {NIGHT}\n\nB: If it rains, then the ego-vehicle should slow down.\n")
        head = "models: {careful: python:drivers.py:careful}\ndata: {town: {data: world:town, sample: 2}}\n"
        found = plan(f"{head}requirements: {{mine: rules/mine.rules}}\n")
        assert ids(found) == ["mine/A", "mine/B"]
        assert found.context.files == {"rules/mine.rules": file}
        assert ids(plan(f"{head}requirements: {{mine: {{rules: rules/mine.rules, only: B}}}}\n")) == [
            "mine/B"
        ]
        text = f"{head}requirements: {{mine: {{rules: rules/mine.rules, only: C}}}}\n"
        assert "mine.suite.yaml:3:30: only: the file has no rule 'C'" in told(plan, text)
        file.write_text(f"A: {NIGHT}\n\nB: If a unicorn appears, then slow down.\n")
        message = told(plan, f"{head}requirements: {{mine: rules/mine.rules}}\n")
        assert "mine.suite.yaml:3:22: " in message
        assert "mine.rules:3: " in message
        assert "unicorn" in message

    def test_several_data_are_a_requirement_each(self, plan: Callable[..., SuitePlan]) -> None:
        text = f"""
            models: {{careful: python:drivers.py:careful}}
            data:
              day: {{data: world:town, sample: 2}}
              fog: {{data: world:town, options: {{weather: foggy}}, sample: 2}}
            requirements:
              N1: {NIGHT}
              N2: {{rule: "{NIGHT}", data: fog}}
        """
        found = plan(text)
        assert ids(found) == ["N1@day", "N1@fog", "N2"]
        assert [trial.data for trial in found.trials] == ["day", "fog", "fog"]
        assert ids(plan(text, only=["N1"])) == ["N1@day", "N1@fog"]
        assert ids(plan(text, only=["N1@fog"])) == ["N1@fog"]

    def test_models_are_those_that_fit(self, plan: Callable[..., SuitePlan], tmp_path: Path) -> None:
        (tmp_path / "near.bbsl").write_text(SPEC)
        found = plan(f"""
            models:
              careful: python:drivers.py:careful
              half: python:drivers.py:steering_only
              blind: python:drivers.py:blind
              net: dave2
              spare: classifier
            data: {{town: {{data: world:town, sample: 4}}}}
            requirements:
              N1: {NIGHT}
              S1: {{bbsl: near.bbsl, values: {{near: [85, 160]}}}}
              C1: {{coverage: neuron, tries: 5}}
              H1: {{reliability: fog, preserve: prediction, limit: 0.5}}
              D1: {{driving: {{SD(SA): 5}}, simulator: world:town, metres: 30}}
        """)
        models = {trial.requirement.id: trial.models for trial in found.trials}
        assert models["N1"] == ("careful", "net")
        assert models["S1"] == ("blind",)
        assert models["C1"] == ("net",)
        assert models["D1"] == ("careful", "half", "net")
        # A requirement of reliability is one for each measure.
        assert models["H1/steering"] == ("careful", "half", "net")
        assert models["H1/speed"] == ("careful", "net")
        assert models["H1/ap"] == ("blind",)
        assert found.notes == [
            "Left out, because half does not predict speed: N1",
            "Left out, because careful does not show its layers, and coverage is about these: C1",
            "Left out, because half does not show its layers, and coverage is about these: C1",
            "No requirement is for spare.",
        ]

    def test_one_measure_and_one_of_two_needs_no_further_name(self, plan: Callable[..., SuitePlan]) -> None:
        head = """
            models: {half: python:drivers.py:steering_only}
            data: {town: {data: world:town, sample: 4}}
        """
        text = f"{head}    requirements: {{H: {{reliability: fog, preserve: prediction, limit: 0.5}}}}\n"
        assert ids(plan(text)) == ["H"]
        text = f"{head}    requirements: {{H: {{reliability: [fog, rain], limit: 0.5}}}}\n"
        assert ids(plan(text)) == [
            *("H/fog-correctness", "H/fog-prediction", "H/rain-correctness", "H/rain-prediction")
        ]

    def test_a_sample_bounds_frames_tries_and_drives(self, plan: Callable[..., SuitePlan]) -> None:
        found = plan(
            """
            models: dave2
            data: {town: {data: world:town, options: {count: 30}}, all: {data: world, sample: 3}}
            requirements:
              C1: {coverage: neuron, tries: 500, data: town}
              C2: {coverage: neuron, data: all}
              D1: {driving: {SD(SA): 5}, simulator: [world:town, world:meadow, world:coast]}
            """,
            sample=2,
        )
        assert [len(one.frames) for one in found.data.values()] == [2, 2]
        assert [trial.requirement.parameters["tries"] for trial in found.trials[:2]] == [2, 2]
        assert len(found.trials[2].requirement.parameters["scenarios"]) == 2  # type: ignore[arg-type]

    def test_an_oracle_says_how_often_it_is_wrong(
        self, plan: Callable[..., SuitePlan], tmp_path: Path
    ) -> None:
        oracle: dict[str, Any] = {"thresholds": {"SD(SA)": 5}}
        text = """
            models: truth
            requirements: {D: {driving: oracle.json, simulator: [world:town, world:meadow]}}
        """
        (tmp_path / "oracle.json").write_text(json.dumps(oracle))
        assert plan(text).notes == [
            "D: oracle.json does not say how often a new good lap raises an alarm: fit it again."
        ]
        oracle["false_alarm_bound"] = {"unit": "driver", "units": 39, "alarms": 1}
        (tmp_path / "oracle.json").write_text(json.dumps(oracle))
        (note,) = plan(text).notes
        assert note == (
            "D: A good lap by a new driver, one like these 39 drivers, raises an alarm with probability at "
            "most 2.5% (1 in 40). A good driver raises one somewhere in these 2 laps with probability at "
            "most 5.0%."
        )
        (trial,) = plan(text).trials
        assert trial.requirement.parameters["oracle"]["false_alarm_bound"]["units"] == 39  # type: ignore[index]


class TestOnly:
    TEXT = f"""
        models: {{careful: python:drivers.py:careful, broken: no-such-kind:thing}}
        data: {{town: {{data: world:town, sample: 2}}}}
        requirements:
          N1: {{rule: "{NIGHT}", tags: [dark], models: careful}}
          N2: {{rule: "{NIGHT}", models: careful}}
          D1: {{driving: {{SD(SA): 5}}, simulator: world:town, metres: 30, models: careful}}
          bad: {{rule: "{NIGHT}", models: broken, tags: [never]}}
    """

    @pytest.mark.parametrize(
        ("only", "expected"),
        [(["N2"], ["N2"]), (["dark"], ["N1"]), (["driving"], ["D1"]), (["dark", "driving"], ["N1", "D1"])],
    )
    def test_ids_tags_and_kinds_choose_and_nothing_else_is_opened(
        self, plan: Callable[..., SuitePlan], only: list[str], expected: list[str]
    ) -> None:
        assert ids(plan(self.TEXT, only=only)) == expected

    def test_what_nothing_has_is_refused(self, plan: Callable[..., SuitePlan]) -> None:
        message = told(plan, self.TEXT, only=["drivng"])
        assert (
            message
            == "no requirement has the id, tag or kind 'drivng': did you mean 'driving' or 'driving-search'?"
        )


class TestComplaints:
    HEAD = "models: {careful: python:drivers.py:careful, blind: python:drivers.py:blind}\n"
    DATA = "data: {town: {data: world:town, sample: 2}}\n"

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (
                f"models: dave3\n{DATA}requirements: {{N: '{NIGHT}'}}",
                ":1:9: there is no model 'dave3'; did you",
            ),
            (
                f"models: [dave2, 'onnx:no.onnx']\n{DATA}requirements: {{N: '{NIGHT}'}}",
                ":1:17: cannot read the ONNX network",
            ),
            (
                f"models: {{A: dave2, a: epoch}}\n{DATA}requirements: {{N: '{NIGHT}'}}",
                "a and A would have one",
            ),
            (
                f"{HEAD}data: wrold\nrequirements: {{N: '{NIGHT}'}}",
                ":2:7: there is no data set 'wrold'; did you",
            ),
            (f"{HEAD}data: kitti:none\nrequirements: {{N: '{NIGHT}'}}", ":2:7: "),
            (
                f"{HEAD}data: {{a: {{data: world, options: {{wether: rain}}}}}}\nrequirements: {{N: x}}",
                ":2:11: 'world' has no option 'wether': did you mean 'weather'?",
            ),
            (
                f"{HEAD}requirements: {{N: '{NIGHT}'}}",
                ":2:16: N needs data, and the suite has none: add 'data:'",
            ),
            (
                f"{HEAD}{DATA}requirements:\n  N: If a unicorn appears on the roadside, then slow down.",
                ":4:11: 'unicorn' cannot be changed in a scene",
            ),
            (
                f"{HEAD}{DATA}requirements:\n  N: >\n    If a unicorn appears\n    ahead, slow down.",
                ":5:10: 'unicorn' cannot be changed in a scene",
            ),
            (f"{HEAD}{DATA}requirements:\n  N: {{rules: no.rules}}", ":4:14: cannot read"),
            (
                f"{HEAD}{DATA}requirements:\n  n1: '{NIGHT}'\n  N1: {{driving: {{SD(SA): 3}}}}",
                ":5:3: N1 and n1 would have one folder: use ids that differ in letters or digits",
            ),
            (
                f"{HEAD}{DATA}requirements:\n  N: {{bbsl: near.bbsl, values: {{near: 2026-11-15}}}}",
                ":4:13: values, near: expected true, false, numbers, or a mapping that names a source",
            ),
            (
                f"{HEAD}{DATA}requirements:\n  N: {{bbsl: near.bbsl, values: {{near: [.nan, 3]}}}}",
                ":4:13: values, near: expected true, false, numbers, or a mapping that names a source",
            ),
            (f"{HEAD}{DATA}requirements:\n  N: {{bbsl: no.bbsl}}", ":4:13: "),
            (f"{HEAD}{DATA}requirements:\n  N: {{bbsl: bad.bbsl}}", "bad.bbsl:"),
            (f"{HEAD}{DATA}requirements:\n  N: {{coverage: neurons}}", ":4:17: "),
            (f"{HEAD}{DATA}requirements:\n  N: {{coverage: neuron, transforms: [frog]}}", ":4:17: "),
            (f"{HEAD}{DATA}requirements:\n  N: {{reliability: frog}}", ":4:20: "),
            (f"{HEAD}{DATA}requirements:\n  N: {{reliability: rain}}", "no study has measured how much rain"),
            (f"{HEAD}{DATA}requirements:\n  N: {{driving: {{SD(XX): 3}}}}", ":4:16: "),
            (f"{HEAD}{DATA}requirements:\n  N: {{driving: {{SD(SA): 3}}, simulator: world:twon}}", "'town'?"),
            (
                f"{HEAD}{DATA}requirements:\n  N: {{driving: {{SD(SA): 3}}, options: {{rain: 1}}}}",
                "has no option 'rain'",
            ),
            (
                f"{HEAD}{DATA}requirements:\n  N: {{rule: '{NIGHT}', models: blind}}",
                ":4:3: N fits no model and data here: blind is a model for detection, and the speed needs",
            ),
            (
                f"{HEAD}{DATA}requirements:\n  N: {{rule: '{NIGHT}', models: [careful, blind]}}",
                "N does not fit blind: blind is a model for detection",
            ),
            (
                f"{HEAD}{DATA}requirements:\n  H: {{reliability: fog, limit: 0.5, batch: 60, decide: paper}}",
                "a batch of 60 images needs at least as many, got 2",
            ),
        ],
    )
    def test_what_cannot_be_used_is_told_before_anything_runs(
        self, plan: Callable[..., SuitePlan], tmp_path: Path, text: str, expected: str
    ) -> None:
        (tmp_path / "bad.bbsl").write_text("case stop endcase")
        (tmp_path / "near.bbsl").write_text(SPEC)
        message = told(plan, text)
        assert expected in message, message

    def test_a_model_that_fits_one_rule_of_a_file_fits_the_file(
        self, plan: Callable[..., SuitePlan], tmp_path: Path
    ) -> None:
        (tmp_path / "two.rules").write_text(
            f"A: {NIGHT}\n\nB: If lane lines are removed, then the steering angle should keep the same.\n"
        )
        text = f"""
            models: {{careful: python:drivers.py:careful, half: python:drivers.py:steering_only}}
            {self.DATA}
            requirements: {{two: {{rules: two.rules, models: [careful, half]}}}}
        """
        found = plan(text)
        assert [(trial.requirement.id, trial.models) for trial in found.trials] == [
            ("two/A", ("careful",)),
            ("two/B", ("careful", "half")),
        ]
        assert found.notes == ["Left out, because half does not predict speed: two/A"]
        message = told(plan, text.replace("models: [careful, half]", "models: half"))
        assert "two/A fits no model and data here: half does not predict speed" in message

    def test_several_at_once(self, plan: Callable[..., SuitePlan]) -> None:
        text = "models: dave3\ndata: wrold\nrequirements: {N: {rules: no.rules}}\n"
        with pytest.raises(SuiteError) as caught:
            plan(text)
        assert [one.line for one in caught.value.complaints] == [1, 2, 3]

    def test_a_model_that_fails_on_the_first_frame_is_run_all_the_same(
        self, plan: Callable[..., SuitePlan]
    ) -> None:
        found = plan(f"""
            models: {{broken: python:drivers.py:broken}}
            {self.DATA}
            requirements: {{N: "{NIGHT}"}}
        """)
        assert found.trials[0].models == ("broken",)

    def test_recorded_answers_are_for_frames_as_they_are(
        self, plan: Callable[..., SuitePlan], tmp_path: Path
    ) -> None:
        lines = "".join(f"town-{number:06d},8.5\n" for number in range(4))
        (tmp_path / "speeds.csv").write_text(f"id,speed\n{lines}")
        text = f"""
            models: {{recorded: recorded:speeds.csv}}
            {self.DATA}
            requirements: {{N: "{NIGHT}"}}
        """
        assert "recorded has recorded answers, and these are to frames as they are" in told(plan, text)

    def test_a_sample_of_none_is_refused(self, plan: Callable[..., SuitePlan]) -> None:
        assert told(plan, f"{self.HEAD}requirements: {{N: '{NIGHT}'}}", sample=0) == (
            "a sample must be 1 or more, got 0"
        )


def test_requirements_that_share_method_and_data_are_one_pass(plan: Callable[..., SuitePlan]) -> None:
    rules = "".join(f"              N{number}: {NIGHT}\n" for number in range(60))
    found = plan(
        "            models: {careful: python:drivers.py:careful, net: dave2, epoch: epoch}\n"
        "            data: {a: {data: world:town, sample: 2}, b: {data: world:meadow, sample: 2}}\n"
        "            requirements:\n"
        f"{rules}"
        "              C1: {coverage: neuron, data: a}\n"
    )
    passes = passes_of(found)
    assert [(one.kind.name, len(one.trials), len(one.pairs)) for one in passes] == [
        ("rules", 50, 150),
        ("rules", 10, 30),
        ("rules", 50, 150),
        ("rules", 10, 30),
        ("coverage", 1, 1),
        ("coverage", 1, 1),
    ]
    done = {(f"N{number}@a", model) for number in range(60) for model in ("careful", "net", "epoch")}
    assert len(passes_of(found, done)) == 4


class TestNamedFrames:
    def suite_of(self, data: str) -> str:
        return f"""
            models: {{careful: python:drivers.py:careful}}
            data: {{town: {{data: world:town, {data}}}}}
            requirements: {{N1: "{NIGHT}"}}
        """

    def test_only_these_are_tried(self, plan: Callable[..., SuitePlan]) -> None:
        found = plan(self.suite_of("frames: [town-000031, town-000004]"))
        assert found.data["town"].frames.ids == ("town-000004", "town-000031")
        assert found.cases(found.trials[0]) == 2
        assert plan(self.suite_of("frames: town-000031")).data["town"].frames.ids == ("town-000031",)

    def test_a_sample_is_one_of_these(self, plan: Callable[..., SuitePlan]) -> None:
        found = plan(self.suite_of("frames: [town-000031, town-000004], sample: 1"))
        assert found.data["town"].frames.ids == ("town-000004",)
        found = plan(self.suite_of("frames: [town-000031, town-000004]"), sample=1)
        assert found.data["town"].frames.ids == ("town-000004",)

    @pytest.mark.parametrize(
        ("data", "said"),
        [
            ("frames: [town-000100]", "world:town has 100 frames, and none is 'town-000100'"),
            ("frames: []", "mine.suite.yaml:3:"),
            ("frames: [17]", "mine.suite.yaml:3:"),
        ],
    )
    def test_what_cannot_be_named(self, plan: Callable[..., SuitePlan], data: str, said: str) -> None:
        assert said in told(plan, self.suite_of(data))


TRAINED = """
    models: dave2
    data: {day: {data: world:town, sample: 3}, seen: {data: world:meadow, sample: 4}}
    requirements: {C: {coverage: boundary, training: seen, tries: 4}}
"""


def test_training_data_is_opened_and_never_searched(plan: Callable[..., SuitePlan]) -> None:
    found = plan(TRAINED)
    assert (ids(found), [trial.data for trial in found.trials]) == (["C"], ["day"])
    assert (list(found.data), found.notes) == (["day", "seen"], [])


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("boundary", "neuron", "training is for multisection, boundary"),
        ("training: seen", "training: sen", "the suite has no data called 'sen': did you mean 'seen'?"),
        ("training: seen", "training: seen, data: seen", "C has no data but what it learns from"),
    ],
)
def test_training_data_that_cannot_be_used(
    plan: Callable[..., SuitePlan], before: str, after: str, message: str
) -> None:
    assert message in told(plan, TRAINED.replace(before, after))


PERSON = "If a pedestrian appears on the roadside, then the ego-vehicle should slow down."


def test_things_are_large_enough_for_the_models_of_their_requirement_alone(
    plan: Callable[..., SuitePlan], tmp_path: Path
) -> None:
    (tmp_path / "road").mkdir()
    write_image(tmp_path / "road" / "a.png", np.full((600, 800, 3), 90, np.uint8))
    found = plan(f"""
        models: {{careful: python:drivers.py:careful, small: {{model: dave2}}}}
        data: {{road: folder:road, town: {{data: world:town, sample: 1}}}}
        requirements:
          alone: {{rule: "{PERSON}", models: careful, data: road}}
          both: {{rule: "{PERSON}", data: road}}
          each: {{rule: "{PERSON}", data: [town, road]}}
    """)
    told = {trial.requirement.id: trial.requirement.parameters.get("smallest") for trial in found.trials}
    shrinks = look_at(found.models, found.data)["small", "road"].shrinks
    pixels = math.ceil(20 * shrinks)
    assert pixels > 40
    assert told == {"alone": None, "both": pixels, "each@town": None, "each@road": pixels}


@pytest.mark.parametrize(("shrinks", "smallest"), [(1.0, None), (2.8, None), (3.2, 64)])
def test_a_model_never_makes_things_smaller_than_usual(
    plan: Callable[..., SuitePlan],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    shrinks: float,
    smallest: int | None,
) -> None:
    # A tenth of this image is 60 rows.
    (tmp_path / "road").mkdir()
    write_image(tmp_path / "road" / "a.png", np.full((600, 800, 3), 90, np.uint8))
    monkeypatch.setattr(opening, "_shrinks", lambda *_: shrinks)
    found = plan(f"""
        models: {{careful: python:drivers.py:careful}}
        data: {{road: folder:road}}
        requirements: {{R: "{PERSON}"}}
    """)
    assert found.trials[0].requirement.parameters.get("smallest") == smallest
