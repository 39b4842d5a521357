"""Rating studies: clips, questionnaires, answers, and what raters with known agreement make of metrics."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roadworthy.driving.drives import Drive
from roadworthy.driving.metrics import compute
from roadworthy.errors import InputError
from roadworthy.studies.clip_results import (
    ClipRatings,
    ClipResult,
    QuestionnaireResult,
    ScoredClip,
    evaluate_clips,
    read_clip_ratings,
)
from roadworthy.studies.clips import (
    Clip,
    ClipDesign,
    ClipPlan,
    Kind,
    Lengths,
    attention_clip,
    by_metric,
    clips_of,
    plan_clips,
    rated_clips,
    write_clips,
)
from roadworthy.studies.study import ANSWERS


def drive(*seconds: float, crash: float | None = None, ended: str = "lap complete") -> Drive:
    """Return a drive at 10 rows a second whose sectors last as long as is said."""
    ends = np.cumsum(seconds)
    time = np.arange(round(float(ends[-1]) * 10) + 1) / 10
    numbers = np.minimum(np.searchsorted(ends, time + 1e-9, "right"), len(seconds) - 1)
    return Drive(
        "mutant",
        time,
        {
            "speed": 8 + np.sin(time),
            "lane_offset": numbers + 0.1 * np.sin(3 * time),
            "steering": np.cos(time),
        },
        {"crash": np.zeros(len(time)) if crash is None else time >= crash, "line crossing": time < 0},
        sectors=numbers,
        sector_names=[f"town-{number + 1:02d}" for number in range(len(seconds))],
        ended=ended,
    )


def spans(clips: list[Clip]) -> list[tuple[tuple[str, ...], float]]:
    return [(one.sectors, round(one.seconds, 1)) for one in clips]


def test_a_clip_is_as_many_sectors_as_it_takes() -> None:
    clips = rated_clips(drive(12, 4, 3, 5, 4, 4, 20, 6), "good")
    assert spans(clips) == [
        (("town-01",), 11.9),  # a clip ends with the last row of its sector
        (("town-02", "town-03", "town-04"), 11.9),
        # town-05 and town-06 last 8 s, and with the next 28 s: a clip has 15 at most.
        (("town-05", "town-06", "town-07"), 15.0),
    ]
    assert {one.track for one in clips} == {"town"}
    assert len({one.id for one in clips}) == 3


def test_three_sectors_may_be_too_short() -> None:
    assert spans(rated_clips(drive(2, 2, 2, 12), "good")) == [(("town-04",), 12.0)]
    assert rated_clips(drive(2, 2, 2), "good") == []


def test_half_sectors_crashes_and_gaps_are_no_clips() -> None:
    assert spans(rated_clips(drive(12, 12, 11, ended="time over"), "good")) == [
        (("town-01",), 11.9),
        (("town-02",), 11.9),
    ]
    assert spans(rated_clips(drive(12, 4, 8, ended="time over"), "good")) == [(("town-01",), 11.9)]
    assert spans(rated_clips(drive(12, 12, crash=20), "poor")) == [(("town-01",), 11.9)]
    whole = drive(12, 12)
    kept = np.r_[0:50, 70:241]
    holed = Drive(
        "holed",
        whole.time[kept],
        {"speed": whole.signals["speed"][kept]},
        sectors=whole.sectors[kept],
        sector_names=whole.sector_names,
    )
    assert [one.sectors for one in rated_clips(holed, "good")] == [("town-02",)]


def test_metrics_are_those_of_what_is_shown() -> None:
    long = drive(30, 12)
    first, second = rated_clips(long, "good")
    assert first.seconds == 15
    part = long.cut_by_time(15.05)
    assert first.metrics["Max(LP)"] == pytest.approx(compute(part, ["Max(LP)"])["Max(LP)"][0])
    assert second.metrics["Max(LP)"] == pytest.approx(compute(long, ["Max(LP)"])["Max(LP)"][1])
    assert second.metrics["SD(SAS)"] == pytest.approx(compute(long, ["SD(SAS)"])["SD(SAS)"][1])
    assert "Mean(TPP)" not in first.metrics  # there is no throttle


def test_the_attention_clip_ends_with_the_crash() -> None:
    clip = attention_clip(drive(12, 12, crash=20.0, ended="crash"))
    assert clip is not None
    assert (clip.first, clip.last, clip.kind) == (10.0, 20.0, "attention")
    assert clip.metrics["Count(CR)"] == 1
    assert attention_clip(drive(12)) is None
    assert attention_clip(drive(12, crash=2.0)) is None
    early = attention_clip(drive(12, crash=4.0))
    assert early is not None
    assert early.seconds == pytest.approx(4.0)


@pytest.mark.parametrize("given", [{"shortest": 0.0}, {"shortest": 20.0}, {"sectors": 0}])
def test_lengths_that_cannot_be(given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Lengths(**given)


def made(kind: Kind, number: int, track: str = "town", metrics: Mapping[str, float] | None = None) -> Clip:
    return Clip(
        f"{track}-{kind}-{number}", "d", "dave2", track, (f"{track}-01",), 0.0, 12.0, kind, metrics or {}
    )


def pool(good: int, poor: int, attention: int = 1, track: str = "town") -> list[Clip]:
    rng = np.random.default_rng(good * 100 + poor)
    names = ("SD(LP)", "Mean(LP)", "SD(SA)", "Max(SP)", "Count(CR)")
    counts: dict[Kind, int] = {"good": good, "poor": poor, "attention": attention}
    return [
        made(kind, number, track, dict(zip(names, [*rng.normal(size=4).tolist(), 0.0], strict=True)))
        for kind, count in counts.items()
        for number in range(count)
    ]


def test_the_best_are_good_and_the_worst_are_poor_by_a_metric() -> None:
    clips = [made("good", number, metrics={"Mean(SP)": 10.0 - number}) for number in range(7)]
    found = by_metric(clips, "Mean(Speed)")
    # Faster is better: the direction of the metric counts.
    assert [(one.id[-1], one.kind) for one in found] == [
        ("0", "good"),
        ("1", "good"),
        ("5", "poor"),
        ("6", "poor"),
    ]
    with pytest.raises(InputError, match=r"SD\(LP\) is not known of dave2 in town-01"):
        by_metric(clips, "SD(LP)")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), min_size=1, max_size=3),
    st.integers(1, 5),
    st.integers(2, 6),
    st.integers(0, 99),
)
def test_questionnaires_are_balanced_and_no_clip_is_rated_twice(
    tracks: list[tuple[int, int]], each: int, raters: int, seed: int
) -> None:
    clips = [one for n, (good, poor) in enumerate(tracks) for one in pool(good, poor, track=f"t{n}")]
    possible = sum(min(good // each, poor // each) for good, poor in tracks)
    design = ClipDesign(each, each, 1, raters)
    if not possible:
        with pytest.raises(InputError, match="give more drives"):
            plan_clips(clips, design, seed=seed)
        return
    study = plan_clips(clips, design, seed=seed)
    assert len(study.questionnaires) == possible
    rated: Counter[str] = Counter()
    for one in study.questionnaires:
        kinds = Counter(study.clips[id].kind for id in one.clips)
        assert kinds == {"good": each, "poor": each, "attention": 1}
        assert {study.clips[id].track for id in one.clips} == {one.track}
        assert len(one.orders) == raters
        assert all(sorted(order) == list(one.clips) for order in one.orders)
        rated.update(id for id in one.clips if study.clips[id].kind != "attention")
    assert max(rated.values()) == 1
    assert study.reference is None or study.reference not in rated
    assert plan_clips(clips, design, seed=seed) == study


def test_orders_differ_between_raters_and_seeds() -> None:
    study, other = (plan_clips(pool(5, 5), seed=seed) for seed in (0, 1))
    (one,) = study.questionnaires
    assert len(set(one.orders)) == 5
    assert other.questionnaires[0].orders != one.orders
    # Where there are more than are shown, the seed also says which.
    drawn = [plan_clips(pool(30, 30), ClipDesign(questionnaires=1), seed=seed) for seed in (0, 0, 1)]
    shown = [set(plan.clips) for plan in drawn]
    assert shown[0] == shown[1] != shown[2]


def test_tracks_may_be_mixed_and_questionnaires_fewer() -> None:
    clips = [*pool(3, 3, track="town"), *pool(3, 3, track="coast")]
    with pytest.raises(InputError, match="coast: 3 good and 3 poor; town: 3 good and 3 poor"):
        plan_clips(clips)
    (mixed,) = plan_clips(clips, ClipDesign(mixed=True)).questionnaires
    assert mixed.track == ""
    tracks = [one.track for one in plan_clips(clips, ClipDesign(1, 1, questionnaires=2)).questionnaires]
    assert tracks == ["coast", "town"]  # they take turns
    with pytest.raises(InputError, match="7 questionnaires need 1 good"):
        plan_clips(clips, ClipDesign(1, 1, questionnaires=7))


def test_a_study_needs_a_crash_unless_nobody_is_checked() -> None:
    with pytest.raises(InputError, match="Give a drive that crashes with --attention, or --checks 0"):
        plan_clips(pool(5, 5, attention=0))
    (one,) = plan_clips(pool(5, 5, attention=0), ClipDesign(attention=0)).questionnaires
    assert len(one.clips) == 10
    with pytest.raises(InputError, match="same id"):
        plan_clips([*pool(5, 5), made("good", 0)])


@pytest.mark.parametrize("given", [{"good": 0}, {"raters": 1}, {"attention": -1}, {"questionnaires": 0}])
def test_designs_that_cannot_be(given: dict[str, int]) -> None:
    with pytest.raises(InputError):
        ClipDesign(**given)  # type: ignore[arg-type]


def written(study: ClipPlan, folder: Path) -> Path:
    write_clips(
        study, folder, lambda clip, path: path.write_bytes(b"film of " + clip.id.encode()), ending=".gif"
    )
    return folder


def test_files_tell_raters_nothing_and_are_read_again(tmp_path: Path) -> None:
    clips = [dataclasses.replace(one, id=f"{number:04x}") for number, one in enumerate(pool(6, 5))]
    study = plan_clips(clips, rule="who drove", seed=3)
    folder = written(study, tmp_path / "study")
    assert ClipPlan.read(folder) == study
    for name in ("plan.json", "instructions.md", "answers.csv"):
        text = (folder / name).read_text().lower()
        for word in ("mutant", "attention", "crash", "dave2", "town", "poor", "sd(lp)"):
            assert word not in text, (name, word)
    plan = json.loads((folder / "plan.json").read_text())
    assert [one["label"] for one in plan["scale"]][0::4] == ["Very low", "Excellent"]
    assert len(plan["questionnaires"][0]["clips"]) == 11
    assert (folder / plan["reference"]).is_file()
    files = sorted((folder / "clips").iterdir())
    assert len(files) == 12
    assert len({path.stat().st_mtime for path in files}) == 1
    rows = list(csv.DictReader((folder / ANSWERS).read_text().splitlines()))
    assert len(rows) == 55
    assert [row["clip"] for row in rows[:11]] == list(study.questionnaires[0].orders[0])
    assert "Whoever does not give that a 1" in (folder / "README.md").read_text()
    again = written(study, tmp_path / "again")
    assert (again / "key.json").read_bytes() == (folder / "key.json").read_bytes()


def test_a_study_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    study = plan_clips(pool(5, 5))

    def fails(clip: Clip, path: Path) -> None:
        raise InputError("no frames")

    with pytest.raises(InputError, match="no frames"):
        write_clips(study, tmp_path / "study", fails, ending=".gif")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").touch()
    with pytest.raises(InputError, match="must be empty or new"):
        written(study, tmp_path / "full")
    with pytest.raises(InputError, match="expected the folder of a study"):
        ClipPlan.read(tmp_path)
    (tmp_path / "key.json").write_text('{"clips": []}')
    with pytest.raises(InputError, match="must be the key of a study"):
        ClipPlan.read(tmp_path)


def answers(study: ClipPlan, score: Callable[[Clip, int], int], path: Path, *, raters: int = 5) -> Path:
    """Let raters answer by a rule of the clip and the number of the rater."""
    lines = ["questionnaire,rater,clip,score"]
    for one in study.questionnaires:
        for rater in range(raters):
            lines += [f"{one.id},r{rater},{id},{score(study.clips[id], rater)}" for id in one.clips]
    path.write_text("\n".join(lines) + "\n")
    return path


def rated(study: ClipPlan, score: Callable[[Clip, int], int], folder: Path, **options: Any) -> ClipResult:
    file = answers(study, score, folder / "given.csv", raters=options.pop("raters", 5))
    return evaluate_clips(study, read_clip_ratings(study, [file]), **options)


def test_raters_who_do_not_see_the_crash_or_leave_out_a_clip_are_left_out(tmp_path: Path) -> None:
    study = plan_clips(pool(5, 5))
    file = answers(
        study, lambda clip, rater: 2 if clip.kind == "attention" and rater == 1 else 1, tmp_path / "a.csv"
    )
    lines = file.read_text().splitlines()
    lines = [line[:-1] if ",r2," in line and "good-3" in line else line for line in lines]
    lines += [f"Q01,nobody,{id}," for id in study.questionnaires[0].clips]
    file.write_text("\n".join(lines) + "\n")
    found = read_clip_ratings(study, [file])
    assert list(found.scores["Q01"]) == ["r0", "r3", "r4"]
    assert found.inattentive == {"Q01": ["r1"]}
    assert found.incomplete == {"Q01": ["r2"]}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("Q99,a,town-good-0,3", "line 3: there is no questionnaire 'Q99'"),
        ("Q01,a,town-good-9,3", "line 3: Q01 has no clip 'town-good-9': did you mean"),
        ("Q01,a,town-good-1,6", "line 3: score must be a whole number from 1 to 5, got 6"),
        ("Q01,a,town-good-1,2.5", "line 3: score must be a whole number from 1 to 5, got '2.5'"),
        ("Q01,,town-good-1,3", "line 3: expected the name of the rater"),
        ("Q01,a,town-good-0,3", "line 3: a has rated clip town-good-0 of Q01 before"),
        ("Q01,a,town-good-1", "line 3: expected 4 columns, got 3"),
    ],
)
def test_rows_that_are_wrong_are_refused_with_their_line(tmp_path: Path, row: str, message: str) -> None:
    study = plan_clips(pool(5, 5))
    file = tmp_path / "a.csv"
    file.write_text(f"questionnaire,rater,clip,score\nQ01,a,town-good-0,3\n{row}\n")
    with pytest.raises(InputError) as error:
        read_clip_ratings(study, [file])
    assert message in str(error.value)


def test_all_wrong_rows_are_told_up_to_ten(tmp_path: Path) -> None:
    study = plan_clips(pool(5, 5))
    file = tmp_path / "a.csv"
    file.write_text("questionnaire,rater,clip,score\n" + "Q01,a,town-good-0,9\n" * 12)
    with pytest.raises(InputError, match=r"(?s)line 2: .*line 11: .*and 2 more rows"):
        read_clip_ratings(study, [file])
    file.write_text("questionnaire,rater,clip,score\n" + "Q01,a,town-good-0,9\n" * 10)
    with pytest.raises(InputError) as caught:
        read_clip_ratings(study, [file])
    assert len(str(caught.value).splitlines()) == 10, "all are told"
    file.write_text("questionnaire,clip,score\n")
    with pytest.raises(InputError, match="missing rater"):
        read_clip_ratings(study, [file])
    with pytest.raises(InputError, match="found none at"):
        read_clip_ratings(study, [tmp_path / "none.csv"])


def random_ratings(study: ClipPlan, agree: float, raters: int, seed: int) -> ClipRatings:
    """Let raters give a clip its own score with a probability, else any score."""
    rng = np.random.default_rng(seed)
    scores: dict[str, dict[str, dict[str, int]]] = {}
    for one in study.questionnaires:
        own = {id: int(rng.integers(1, 6)) for id in one.clips}
        scores[one.id] = {
            f"r{rater}": {
                id: own[id] if rng.random() < agree else int(rng.integers(1, 6)) for id in one.clips
            }
            for rater in range(raters)
        }
    nobody = dict.fromkeys(scores, ())
    return ClipRatings(scores, nobody, nobody)


@pytest.mark.parametrize("agree", [0.0, 0.6, 0.8])
def test_kappa_is_that_of_raters_who_agree_by_a_known_share(agree: float) -> None:
    # Two raters agree by agree² and by chance in a fifth of the rest, so kappa is agree² on the average.
    study = plan_clips(pool(1500, 1500), ClipDesign(1500, 1500, raters=2))
    result = evaluate_clips(study, random_ratings(study, agree, 4, seed=7))
    (found,) = result.questionnaires
    assert len(result.clips) == 3000
    assert found.kappa == pytest.approx(agree**2, abs=0.02)
    assert bool(found.left_out) == (agree == 0.0)
    (weak,) = evaluate_clips(study, random_ratings(study, 0.3, 4, seed=7)).questionnaires
    assert weak.left_out == "κ is below 0.2"  # which is more than chance, but not fair


def test_a_metric_that_raters_go_by_has_the_correlation_that_is_known(tmp_path: Path) -> None:
    kinds: dict[Kind, tuple[int, ...]] = {"good": (0, 0, 1, 1, 2), "poor": (2, 3, 3, 4, 4)}
    clips = [
        made(
            kind,
            number,
            track,
            {
                "SD(LP)": float(level),
                "SD(SA)": float((number * 7) % 3),
                "Count(CR)": 0.0,
                "Max(SP)": number / 2,
            },
        )
        for track in ("coast", "town")
        for kind, levels in kinds.items()
        for number, level in enumerate(levels)
    ]
    clips += [made("attention", 0)]
    study = plan_clips(clips)
    result = rated(
        study, lambda clip, _: 1 if clip.kind == "attention" else 5 - int(clip.metrics["SD(LP)"]), tmp_path
    )
    assert [one.kappa for one in result.questionnaires] == [1.0, 1.0]
    assert result.summary is not None
    assert list(result.summary.correlations) == ["coast", "town", "all tracks"]
    for column in result.summary.correlations.values():
        known = column["SD(LP)"]
        assert known is not None
        assert known.coefficient == pytest.approx(-1.0)
        assert column["Count(CR)"] is None
    every = result.summary.correlations["all tracks"]["SD(SA)"]
    assert every is not None
    x = [one.metrics["SD(SA)"] for one in result.clips]
    assert every.coefficient == pytest.approx(np.corrcoef(x, [one.score for one in result.clips])[0, 1])
    assert every.count == 20
    assert set(result.summary.independence.scores) == {"SD(LP)", "SD(SA)"}
    assert "Mean(TPP)" in result.dropped
    text = result.markdown()
    assert r"| SD(LP) | -1.00\* | 0.00 | -1.00\* | 0.00 | -1.00\* | 0.00 |" in text
    assert "| Count(CR) | N/A | N/A | N/A | N/A | N/A | N/A | – |" in text
    assert "| good | 10 | 4.20 | 3.00 | 5.00 |" in text
    files = result.write(tmp_path)
    assert [path.name for path in files] == [
        "agreement.csv",
        "clips.csv",
        "correlations.csv",
        "results.json",
        "results.md",
    ]
    rows = {
        row["metric"]: row for row in csv.DictReader((tmp_path / "correlations.csv").read_text().splitlines())
    }
    assert float(rows["SD(LP)"]["town cc"]) == pytest.approx(-1.0)
    assert json.loads((tmp_path / "results.json").read_text()) == json.loads(json.dumps(result.document()))
    scored = list(csv.DictReader((tmp_path / "clips.csv").read_text().splitlines()))
    assert {row["kind"] for row in scored} == {"good", "poor"}
    assert all(float(row["score"]) == 5 - float(row["SD(LP)"]) for row in scored)


def test_clips_of_raters_who_do_not_agree_are_not_correlated(tmp_path: Path) -> None:
    study = plan_clips([*pool(5, 5, track="town"), *pool(5, 5, track="coast")])
    rng = np.random.default_rng(0)
    levels = {id: 1 + number % 5 for number, id in enumerate(study.clips)}

    def score(clip: Clip, rater: int) -> int:
        if clip.kind == "attention":
            return 1
        return levels[clip.id] if clip.track == "town" else int(rng.integers(1, 6))

    result = rated(study, score, tmp_path)
    coast, town = result.questionnaires
    assert coast.left_out
    assert not town.left_out
    assert {one.track for one in result.clips if one.used} == {"town"}
    assert result.summary is not None
    assert list(result.summary.correlations) == ["all tracks"]
    assert "| Q01 | coast | 5 | 0 |" in result.markdown()
    everything = rated(study, score, tmp_path, least_kappa=-1.0, level=1.1)
    assert everything.summary is not None
    assert len(everything.summary.correlations) == 3


def test_what_cannot_be_said_is_not_said(tmp_path: Path) -> None:
    study = plan_clips(pool(5, 5))
    alone = rated(study, lambda clip, _: 1, tmp_path, raters=1)
    assert alone.questionnaires[0].left_out == "1 rater is too few to agree"
    assert alone.notes == ("0 clips are left, which is too few to correlate metrics with scores",)
    alike = rated(study, lambda clip, _: 1, tmp_path)
    assert "all raters chose one category" in str(alike.questionnaires[0].left_out)
    alike.write(tmp_path)
    assert (tmp_path / "correlations.csv").read_text() == "metric\n"
    nobody = evaluate_clips(study, ClipRatings({"Q01": {}}, {"Q01": ("a",)}, {"Q01": ()}))
    assert nobody.clips == ()
    assert "0 raters of 1 questionnaires count; 1 did not" in nobody.markdown()


@pytest.mark.parametrize(
    ("checks", "told"),
    [
        (1, "- 1 clip of each questionnaire ends in a crash."),
        (2, "- 2 clips of each questionnaire end in a crash."),
        (0, ""),
    ],
)
def test_the_readme_counts_the_clips_that_end_in_a_crash(tmp_path: Path, checks: int, told: str) -> None:
    study = plan_clips(pool(6, 5, 2), ClipDesign(2, 2, checks, 3), seed=3)
    text = (written(study, tmp_path / "study") / "README.md").read_text()
    assert told in text
    assert ("in a crash. Whoever" in text) is bool(checks)


def test_a_clip_has_the_mean_of_its_scores_and_its_seconds() -> None:
    (clip, *_) = pool(1, 1)
    clip = dataclasses.replace(clip, last=clip.first + 12.34567)
    found = ScoredClip.of(clip, "1", (1, 0, 0, 0, 3), used=True)
    assert (found.seconds, found.score, found.raters) == (12.346, 4.0, 4)


def test_crashes_take_turns_and_the_track_comes_first() -> None:
    clips = [*pool(4, 4, 2, "town"), *pool(2, 2, 0, "coast")]
    study = plan_clips(clips, ClipDesign(2, 2, raters=2), seed=1)
    shown = {
        one.id: [id for id in one.clips if study.clips[id].kind == "attention"]
        for one in study.questionnaires
    }
    assert [one.track for one in study.questionnaires] == ["coast", "town", "town"]
    assert sorted(shown["Q02"] + shown["Q03"]) == ["town-attention-0", "town-attention-1"]
    assert len(shown["Q01"]) == 1  # the coast has no crash of its own
    own = plan_clips(
        [*pool(4, 4, 3, "town"), *pool(2, 2, 1, "coast")], ClipDesign(2, 2, raters=2)
    ).questionnaires
    assert all(f"{one.track}-attention" in " ".join(one.clips) for one in own)


def test_a_plan_says_what_it_was_made_of() -> None:
    study = plan_clips(pool(7, 5), rule="SD(LP)", seed=9)
    assert (study.seed, study.rule, study.design) == (9, "SD(LP)", ClipDesign())
    assert study.reference is not None
    assert study.clips[study.reference].kind == "good"
    assert len(study.clips) == 12  # one of two that were left is to be seen before
    assert plan_clips(pool(5, 7)).reference is None, "only a good one shows what a clip is"
    assert plan_clips(pool(5, 5)).rule == "who drove"
    with pytest.raises(
        InputError, match="a questionnaire shows the clip 'town-attention-0', which is not there"
    ):
        dataclasses.replace(study, clips={id: one for id, one in study.clips.items() if "good" in id})


def test_too_few_clips_are_counted() -> None:
    with pytest.raises(
        InputError, match="1 questionnaire needs 5 good and 5 poor clips of one track each, got no clips:"
    ):
        plan_clips([], ClipDesign(attention=0))
    with pytest.raises(InputError, match="5 poor clips each, got all tracks: 3 good and 4 poor: give more"):
        plan_clips(pool(3, 4), ClipDesign(mixed=True))
    with pytest.raises(
        InputError, match=r"pays attention: 2; drives that crash after 3 s or more: 1\. Give a drive"
    ):
        plan_clips(pool(5, 5), ClipDesign(attention=2))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"good": 0}, "good must be at least 1, got 0"),
        ({"poor": 0}, "poor must be at least 1, got 0"),
        ({"attention": -1}, "attention must be at least 0, got -1"),
        ({"raters": 1}, "raters must be at least 2, got 1"),
        ({"questionnaires": 0}, "questionnaires must be 1 or more, got 0"),
    ],
)
def test_the_least_of_each_number_is_told_and_allowed(given: dict[str, int], told: str) -> None:
    with pytest.raises(InputError, match=told):
        ClipDesign(**given)  # type: ignore[arg-type]
    ((name, value),) = given.items()
    assert getattr(ClipDesign(**{name: value + 1}), name) == value + 1  # type: ignore[arg-type]


def test_lengths_at_their_borders() -> None:
    assert Lengths(10, 10, 1).sectors == 1
    with pytest.raises(InputError, match="at most as long as the longest, got 16 to 15 s"):
        Lengths(16)
    with pytest.raises(InputError, match=r"more than 0 s .* got 0 to 15 s"):
        Lengths(0)
    with pytest.raises(InputError, match="sectors of a clip must be 1 or more, got 0"):
        Lengths(sectors=0)
    # Exactly as long as the shortest is long enough, and one sector may be asked for.
    assert spans(rated_clips(drive(10, 10), "good")) == [(("town-01",), 9.9), (("town-02",), 10.0)]
    assert rated_clips(drive(6, 6, 6), "good", lengths=Lengths(sectors=1)) == []
    assert [one.sectors for one in rated_clips(drive(6, 6, 6), "good", lengths=Lengths(sectors=2))] == [
        ("town-01", "town-02")
    ]
    # Three seconds before a crash are enough to see it coming.
    assert attention_clip(drive(12, crash=3.0)) is not None
    assert attention_clip(drive(12, crash=2.9)) is None
    short = attention_clip(drive(30, crash=20.0), lengths=Lengths(5, 9))
    assert short is not None
    assert (short.first, short.last) == (15.0, 20.0)


def test_what_a_clip_is_called_follows_from_where_it_is_from() -> None:
    def ids(name: str = "a", source: str = "s", kind: Kind = "good") -> list[str]:
        driven = dataclasses.replace(drive(12, 12), name=name)
        return [one.id for one in rated_clips(driven, kind, source=source)]

    first, second = ids()
    assert first != second
    assert len(first) == 12
    assert ids(kind="poor") == [first, second], "good or poor is no other clip"
    assert not {*ids(name="b"), *ids(source="t")} & {first, second}
    crashing = drive(12, crash=11.9)
    crash = attention_clip(crashing, source="s", lengths=Lengths(11.9, 12))
    (rated,) = rated_clips(dataclasses.replace(drive(12, 12), name="mutant"), "good", source="s")[:1]
    assert crash is not None
    assert (crash.first, crash.last) == (rated.first, rated.last)
    assert crash.id != rated.id


@pytest.mark.parametrize(
    ("sector", "track"),
    [
        ("town-03", "town"),
        ("old_town 12", "old_town"),
        ("lake7", "lake"),
        ("lake-7 lap 2", "lake"),
        ("bend", ""),
    ],
)
def test_the_track_is_what_the_names_of_sectors_have_in_common(sector: str, track: str) -> None:
    driven = drive(12)
    named = Drive("a", driven.time, sectors=driven.sectors, sector_names=[sector])
    assert [one.track for one in rated_clips(named, "good")] == [track]


def test_equal_clips_are_ranked_by_their_names() -> None:
    clips = [made("poor", number, metrics={"SD(LP)": 1.0}) for number in (2, 0, 1, 3)]
    assert [(one.id[-1], one.kind) for one in by_metric(clips, "SD(LP)")] == [("0", "good"), ("3", "poor")]


def test_drives_give_their_clips_by_who_drove_or_by_a_metric() -> None:
    place = Path("a/b")
    drives: dict[Kind, list[tuple[Path, Drive]]] = {
        "good": [(place, drive(12, 12))],
        "poor": [(Path("c"), drive(12))],
        "attention": [(place, drive(12)), (Path("d"), drive(12, crash=8.0))],
    }
    found = clips_of(drives)
    assert [(one.kind, one.source) for one in found] == [
        ("good", "a/b"), ("good", "a/b"), ("poor", "c"), ("attention", "d"),
    ]  # fmt: skip
    ranked = clips_of(drives, by="Mean(LP)", lengths=Lengths(6, 8))
    assert [(one.kind, round(one.seconds)) for one in ranked] == [
        ("good", 8), ("poor", 8), ("attention", 6),
    ]  # fmt: skip


AGREED = [(3, 0, 0, 0, 0), (0, 3, 0, 0, 0), (0, 0, 3, 0, 0), (0, 0, 0, 2, 1), (0, 0, 0, 0, 3)]


def test_a_questionnaire_counts_at_the_least_kappa_and_below_the_level() -> None:
    from roadworthy.studies.clip_results import _agreement
    from roadworthy.studies.statistics import fleiss_kappa

    known = fleiss_kappa(AGREED)
    whole = known.kappa, known.p_value, "almost perfect"
    assert _agreement(AGREED, 3, known.kappa, 0.05) == (*whole, None)
    assert _agreement(AGREED, 3, 0.99, 0.05) == (*whole, "κ is below 0.99")
    assert _agreement(AGREED, 3, 0.2, known.p_value) == (*whole, "agreement may be chance, p = 0.00")
    assert _agreement(AGREED, 3, 0.99, known.p_value)[3] == "agreement may be chance, p = 0.00"
    assert _agreement(AGREED, 0, 0.2, 0.05) == (None, None, None, "0 raters are too few to agree")
    assert _agreement(AGREED, 1, 0.2, 0.05) == (None, None, None, "1 rater is too few to agree")
    assert _agreement([(2, 0), (0, 2)], 2, 0.2, 1.0)[0] == 1.0, "two raters can agree"


def test_cells_of_agreement() -> None:
    whole = QuestionnaireResult("Q01", "town", 5, 1, 2, 0.456, 0.0123, "moderate", None)
    assert whole.cells() == ("Q01", "town", "5", "3", "0.46", "0.012", "moderate", "yes")
    none = QuestionnaireResult("Q02", "", 1, 0, 0, None, None, None, "1 rater")
    assert none.cells() == ("Q02", "mixed", "1", "0", "–", "–", "–", "no: 1 rater")
    zero = QuestionnaireResult("Q03", "a", 2, 0, 0, 0.0, 1.0, "slight", "chance")
    assert zero.cells()[4:6] == ("0.00", "1.000")


def test_scores_that_are_all_the_same_and_tracks_with_few_clips_are_told() -> None:
    study = plan_clips([*pool(3, 3), *pool(1, 1, track="coast")], ClipDesign(1, 1, 0, 2))
    coast, *town = study.questionnaires
    assert len(town) == 3

    def score(id: str, high: int) -> int:
        return high if "good" in id else 1

    scores = {
        one.id: {rater: {id: score(id, 4 if one is coast else 5) for id in one.clips} for rater in "ab"}
        for one in study.questionnaires
    }
    nobody: dict[str, tuple[str, ...]] = dict.fromkeys(scores, ())
    found = evaluate_clips(study, ClipRatings(scores, nobody, nobody), level=1.1)
    assert found.notes == ("coast has fewer than 3 clips left and no column of its own",)
    assert found.summary is not None
    assert list(found.summary.correlations) == ["town", "all tracks"]
    assert found.tables()[2].title == "Metrics and scores, over 8 clips"
    assert found.remarks() == [
        f"Not known of every clip: {', '.join(found.dropped)}.",
        "coast has fewer than 3 clips left and no column of its own.",
    ]
    assert found.tables()[1].rows == (
        ("good", "4", "4.75", "4.00", "5.00"),
        ("poor", "4", "1.00", "1.00", "1.00"),
    )
    even = {id: {r: dict(zip(one, (2, 4) if r == "a" else (4, 2), strict=True)) for r, one in given.items()}
            for id, given in scores.items()}  # fmt: skip
    alike = evaluate_clips(study, ClipRatings(even, nobody, nobody), least_kappa=-2.0, level=1.1)
    assert alike.notes == ("all clips have the same score, so no metric can go with it",)
    assert alike.document()["correlations"] == alike.document()["explained"] == []
