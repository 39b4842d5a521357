"""Small parts of rules at their borders: less of a change, forms of verbs, plans, and words of tables."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.kept import as_kept

from roadworthy.cases import Status
from roadworthy.datasets import load
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame, LabelMap
from roadworthy.rules import parse
from roadworthy.rules.amounts import CLOSER, FARTHER, AddedElsewhere, Faded, can_be_moved, levelled, scaled
from roadworthy.rules.expectation import Expectation
from roadworthy.rules.generation import ChangedScenario, FollowUp, _check_seen, operation_of, plan_for
from roadworthy.rules.language.outcome_words import FORMS, base_form, is_gerund
from roadworthy.rules.method import RulesMethod, _placed, mean_difference
from roadworthy.rules.reading import Block, Rule, SceneChange, thing_in_words
from roadworthy.rules.tables import Tally, composition_table, reasons_table, threshold_table, violation_table
from roadworthy.transforms import Add, Keeps, compose, make_transform
from roadworthy.transforms.wording import added_things

GREY = Frame("a", np.full((16, 24, 3), 100, np.uint8))
RAIN = SceneChange("replace", "weather", {}, replacement="rainy")


class TestLess:
    def test_a_faded_change_is_what_its_change_is(self) -> None:
        remove = make_transform("remove", element="line")
        faded = Faded(remove, 0.5)
        assert (faded.keeps, faded.needs, faded.wants, faded.random) == (
            remove.keeps, remove.needs, remove.wants, remove.random
        )  # fmt: skip
        assert Faded(make_transform("rotation"), 0.5).keeps is Keeps.MOVED
        assert Faded(make_transform("fog"), 0.5).wants == ("labels", "depth")
        assert Faded(make_transform("gaussian-noise"), 0.5).random
        assert faded.settings == {**remove.settings, "seen": 0.5}
        assert (Faded(remove, 0).is_identity, Faded(remove, 0.01).is_identity) == (True, False)
        assert str(Faded(remove, 0.12345)) == "remove(element=line), 0.123 of it seen"
        for wrong in (-0.01, 1.01, float("nan")):
            with pytest.raises(InputError, match=r"that is seen must be from 0 to 1, got"):
                Faded(remove, wrong)

    @pytest.mark.parametrize(
        ("amount", "kept", "level"), [(0.49, True, 120), (0.5, False, 120), (1, False, 140)]
    )
    def test_what_is_known_follows_what_is_seen_most_of(self, amount: float, kept: bool, level: int) -> None:
        frame = GREY.replace(labels=LabelMap(np.zeros((16, 24), np.uint8), ("road",)))
        brighter = compose([make_transform("rotation", angle=180), make_transform("brightness", bias=40)])
        changed = Faded(brighter, amount)(frame, measure=False)
        assert (changed.labels is frame.labels) == kept
        assert changed.image[8, 12, 0] == pytest.approx(level, abs=1)

    def test_a_moved_thing_is_what_adds_it(self) -> None:
        add = make_transform("add", element="truck", side="left")
        near = AddedElsewhere(AddedElsewhere(add, CLOSER), FARTHER)
        assert (near.keeps, near.needs, near.wants) == (add.keeps, add.needs, add.wants)
        assert near.thing is add
        assert near.moved == "closer, farther away"
        assert near.settings == {**add.settings, "moved": near.moved}
        assert str(near) == "add(element=truck, side=left), closer, farther away"
        assert not near.is_identity
        assert (can_be_moved(add), can_be_moved(near), can_be_moved(make_transform("fog"))) == (
            True,
            True,
            False,
        )
        with pytest.raises(InputError, match=r"only a thing that is added can be nearer .*, got fog"):
            AddedElsewhere(make_transform("fog"), CLOSER)
        # The best first: plainly nearer or farther away, and not so much that nothing is seen of it.
        assert CLOSER == (0.6, 0.68, 0.78, 0.53, 0.46, 0.4, 0.35)
        assert FARTHER == (1.6, 1.4, 1.83, 1.3, 2.1, 2.4, 2.8, 3.3)

    @pytest.mark.parametrize(
        ("text", "amount", "less"),
        [
            ("contrast(gain=3)", 0.5, "contrast"),
            ("contrast(gain=0.5)", 0.5, "contrast(gain=0.75)"),
            ("brightness(bias=40)", 0.3333333, "brightness(bias=13.3333)"),
            ("gaussian-blur", 1, "gaussian-blur"),
            ("mirror", 0.25, "mirror(), 0.25 of it seen"),
        ],
    )
    def test_less_lies_between_nothing_and_all(self, text: str, amount: float, less: str) -> None:
        from roadworthy.transforms import parse_transform

        found = str(scaled(parse_transform(text), amount))
        assert found.startswith(less)
        if text == "contrast(gain=3)":
            assert scaled(parse_transform(text), amount).settings["gain"] == 2
        for wrong in (0, -0.1, 1.01, float("nan")):
            with pytest.raises(InputError, match="an amount must be above 0 and at most 1, got"):
                scaled(parse_transform(text), wrong)

    @pytest.mark.parametrize(
        ("before", "comparative", "level"),
        [("light", "heavier", "normal"), ("", "heavier", "heavy"), ("normal", "lighter", "light"),
         ("heavy", "heavier", None), ("light", "lighter", None)],
    )  # fmt: skip
    def test_levels_of_weather(self, before: str, comparative: Any, level: str | None) -> None:
        earlier = SceneChange("replace", "weather", {"level": before} if before else {}, replacement="rainy")
        later = SceneChange("replace", "weather", {}, replacement="rainy", comparative=comparative)
        if level is None:
            with pytest.raises(InputError, match=f"there is no weather {comparative} than {before}"):
                levelled(later, earlier)
        else:
            found = levelled(later, earlier)
            assert (found.properties, found.comparative, found.replacement) == (
                {"level": level},
                None,
                "rainy",
            )
        with pytest.raises(InputError, match=f"only weather can be {comparative}, got time"):
            levelled(
                SceneChange("replace", "time", {}, replacement="night", comparative=comparative), earlier
            )


class TestPlans:
    def test_what_cannot_be_told_from_what_it_hides_is_refused(self) -> None:
        box = {"added": ({"element": "pedestrian", "properties": {}, "box": (4, -3, 9, 8)},)}
        for level, seen in ((131, False), (132, True)):
            image = GREY.image.copy()
            image[2, 5] = level
            changed = GREY.replace(image=image, metadata=box)
            if seen:
                _check_seen(changed, GREY)
            else:
                with pytest.raises(NotApplicable, match="would not stand out from its background"):
                    _check_seen(changed, GREY)
        image[:] = 100
        image[12, 5] = 255  # outside of its box
        with pytest.raises(NotApplicable):
            _check_seen(GREY.replace(image=image, metadata=box), GREY)

    def test_lanes_have_positions_and_roadsides_sides(self) -> None:
        left = {"position": "left"}
        found = operation_of(SceneChange("add", "lane", left))
        assert (found.settings["element"], found.settings["side"]) == ("left lane", "either")
        found = operation_of(
            SceneChange("add", "pedestrian", {}, "on", "sidewalk", reference_properties=left)
        )
        assert (found.settings["reference"], found.settings["side"]) == ("roadside", "left")

    def test_a_plan_asks_for_what_its_blocks_expect(self) -> None:
        slower, same = Expectation("speed", "decrease"), Expectation("steering", "same")
        rule = Rule("r", (Block((RAIN,), slower), Block((RAIN,), same), Block((RAIN,), slower)))
        plan = plan_for(rule)
        assert plan.outputs == ("speed", "steering")
        assert (plan.engines, plan.misfit(GREY)) == ((), "")
        assert plan.words == ("the weather becomes rainy",) * 3
        first, *sources = plan.sources(GREY, 5)
        assert first is GREY
        assert sources == [FollowUp(GREY, one, 5) for one in plan.scenarios]
        assert isinstance(sources[0], FollowUp)
        assert sources[0].steps == plan.scenarios[0].steps

        def made() -> Frame:
            return GREY

        brighter = ChangedScenario((make_transform("brightness", bias=40),))
        assert [FollowUp(one, brighter, 5)().image.max() for one in (made, GREY)] == [140, 140]

    @pytest.mark.parametrize(
        ("alone", "drawn", "tries"), [(True, False, 6), (False, False, 1), (True, True, 1)]
    )
    def test_what_is_added_to_a_real_frame_alone_is_drawn_until_it_fits(
        self, monkeypatch: pytest.MonkeyPatch, alone: bool, drawn: bool, tries: int
    ) -> None:
        drawn_numbers: list[float] = []

        def refused(self: Add, frame: Frame, rng: np.random.Generator) -> Frame:
            drawn_numbers.append(rng.random())
            if len(drawn_numbers) < 6:
                raise NotApplicable(f"reason {len(drawn_numbers)}")
            return frame

        monkeypatch.setattr(Add, "change", refused)
        labels = LabelMap(np.zeros((16, 24), np.uint8), ("road",))
        frame = GREY.replace(labels=labels, metadata={"track": "town"} if drawn else {})
        adding = FollowUp(frame, ChangedScenario((make_transform("add"),)), 5, alone=alone)
        if tries == 6:
            assert adding().image.shape == GREY.image.shape
        else:
            with pytest.raises(NotApplicable, match="reason 1"):
                adding()
        assert len(set(drawn_numbers)) == tries

    def test_less_of_what_is_drawn_anew_is_less_of_the_same(self) -> None:
        rule = parse("If a pedestrian appears on the roadside, then the ego-vehicle should slow down.")
        plan = plan_for(rule, gallery="shipped")
        compared = 0
        for frame in load("world:town", count=8, seed=3):
            real = frame.replace(metadata={})
            for seed in range(4):
                notes = []
                for amount in (1.0, 0.6):
                    with suppress(NotApplicable):
                        notes.append(added_things(plan.scaled(amount).frames(real, seed)[1])[0])
                if len(notes) == 2:
                    compared += 1
                    assert [notes[0][key] for key in ("cut_out", "side")] == [
                        notes[1][key] for key in ("cut_out", "side")
                    ]
        assert compared >= 4

    def test_what_else_is_refused_draws_nobody_anew(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls: list[str] = []
        whole = Add.change

        def counted(self: Add, frame: Frame, rng: np.random.Generator) -> Frame:
            calls.append(frame.id)
            return whole(self, frame, rng)

        monkeypatch.setattr(Add, "change", counted)
        frame = load("world:town", count=1, seed=3)[0].replace(metadata={})
        glare = frame.image.copy()
        glare[frame.height // 2 :] = 255
        rule = parse(
            "If a pedestrian appears on the roadside and it rains, the ego-vehicle should slow down."
        )
        with pytest.raises(NotApplicable):
            plan_for(rule, gallery="shipped").frames(frame.replace(image=glare), 1)
        most = len(calls)
        calls.clear()
        dusk = ChangedScenario((make_transform("add", gallery="shipped"), make_transform("dusk")))
        with pytest.raises(NotApplicable, match="dusk looks painted"):
            FollowUp(frame, dusk, 1, alone=True)()
        assert len(calls) <= 2 < most

    def test_steps_that_change_nothing_take_no_random_numbers_of_others(self) -> None:
        noise, none = make_transform("gaussian-noise"), make_transform("brightness", bias=0)
        alone, both = (ChangedScenario(steps)(GREY, 3, measure=False) for steps in ((noise,), (none, noise)))
        assert np.array_equal(alone.image, both.image)
        twice = ChangedScenario((noise, noise))(GREY, 3, measure=False).image
        assert not np.array_equal(twice, noise(noise(GREY, 3, measure=False), 3, measure=False).image)

    def test_what_was_added_last_says_how_far_away_it_is(self) -> None:
        assert _placed(GREY, 1) == {}
        assert _placed(GREY.replace(metadata={"added": ()}), 1) == {}
        notes: tuple[dict[str, object], ...] = tuple(
            {"element": "tree", "properties": {}, "distance": far} for far in (3, 7)
        )
        assert _placed(GREY.replace(metadata={"added": notes}), 2) == {"distance.2": 7.0}
        assert _placed(GREY.replace(metadata={"added": ("2026-11-17",)}), 2) == {}  # somebody else's word
        half = GREY.image.copy()
        half[:, :12] = 104
        assert mean_difference(GREY, GREY.replace(image=half)) == 2.0

    def test_plans_of_requirements_are_made_once(self) -> None:
        from roadworthy.cases import Requirement

        method = RulesMethod()
        requirement = Requirement("R", "If it rains, slow down.", "rules")
        assert method.plan(requirement) is method.plan(requirement)
        assert method.plan(requirement).rule == parse("If it rains, slow down.")


class TestWords:
    def test_forms_of_verbs(self) -> None:
        forms: dict[str, list[str]] = {}
        for form, verb in FORMS.items():
            forms.setdefault(verb, []).append(form)
        text = "".join(f"{verb}: {' '.join(sorted(some))}\n" for verb, some in sorted(forms.items()))
        as_kept(Path(__file__).with_name("forms.txt"), text)
        assert [base_form(one) for one in ("stepping", "rode", "hurries", "stays", "left", "steering")] == [
            "step", "ride", "hurry", "stay", "left", "steering"
        ]  # fmt: skip
        assert [is_gerund(one) for one in ("stepping", "bring", "ring", "brakes")] == [
            True,
            False,
            False,
            False,
        ]

    def test_things_in_words(self) -> None:
        assert thing_in_words("unicorn", {"color": "pink"}) == "pink unicorn"
        assert thing_in_words("vehicle", {"color": "red"}) == "red vehicle"
        assert thing_in_words("traffic light", {"color": "red"}) == "red light"

    @pytest.mark.parametrize(
        ("errors", "note"),
        [(0, ""), (1, " 1 answer could not be used; it is no violation, but counts as a failure."),
         (2, " 2 answers could not be used; they are no violations, but count as failures.")],
    )  # fmt: skip
    def test_answers_that_could_not_be_used(self, errors: int, note: str) -> None:
        counts = Counter(
            {Status.ERROR: errors, Status.PASSED: 3, Status.NOT_APPLICABLE: 2, Status.ENGINE_ERROR: 1}
        )
        table = violation_table("T", ["R", "S"], ["m", "n"], {("R", "m"): Tally(counts)})
        assert table.note == f"Violations, and their share of the frames that were judged.{note}"
        judged = sum(count for status, count in counts.items() if status.is_judged)
        total = counts.total()
        assert table.rows == (("R", f"{judged} of {total}", "0 (0.00%)", ""), ("S", "", "", ""))

    def test_cells_without_frames(self) -> None:
        tallies = {("R", "m"): Tally(thresholds={0.1: (0, 0), 0.125: (1, 3)})}
        table = threshold_table(["R", "S"], ["m", "n"], tallies, [0.1, 0.125])
        assert table is not None
        assert table.columns == ("rule", "model", "10%", "12.5%")
        assert table.rows == (("R", "m", "none", "33.33%"),)
        assert "Left out" not in table.note
        both = composition_table("R", ["m"], {"x": "rain", "y": "fog"}, {("x", "m"): Tally()})
        assert both.rows == (("m", "none qualifies", "none qualifies", "", ""),)
        assert both.columns == ("model", "rain", "rain, then R", "fog", "fog, then R")

    def test_a_reason_of_one_model_is_told_of_it_alone(self) -> None:
        dark = (Status.NOT_APPLICABLE, "dark")
        tallies = {
            ("R", "m"): Tally(reasons=Counter({dark: 2})),
            ("R", "n"): Tally(reasons=Counter({dark: 3})),
        }
        table = reasons_table(["R"], ["m", "n"], tallies)
        assert table is not None
        assert table.rows == (
            ("R", "m", "2", "not applicable", "dark"),
            ("R", "n", "3", "not applicable", "dark"),
        )
