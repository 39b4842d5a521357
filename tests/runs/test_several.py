from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runs.executing import digests

from roadworthy.cases import (
    AWAIT_VERDICTS,
    Answers,
    AwaitVerdicts,
    BaseMethod,
    Case,
    Dataset,
    Predict,
    Requirement,
    Status,
    Verdict,
)
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame, Signals
from roadworthy.runs import RunStore, read_rows, run, run_several
from roadworthy.runs.executors import Executor, executor_for
from roadworthy.runs.store.writing import image_path

MADE: list[str] = []
"""What was made in this process."""


def frame_of(number: int) -> Frame:
    rng = np.random.default_rng(number)
    return Frame(f"f{number}", rng.integers(0, 256, (8, 12, 3), dtype=np.uint8))


class Frames:
    name = "frames"

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int, /) -> Frame:
        return frame_of(index)

    def __iter__(self) -> Iterator[Frame]:
        return (self[index] for index in range(self.length))


@dataclass(frozen=True)
class Original:
    number: int

    def __call__(self) -> Frame:
        MADE.append(f"f{self.number}")
        return frame_of(self.number)


@dataclass(frozen=True)
class Brighter:
    """Equal ones make the same frame, so a run makes it once."""

    number: int
    by: int

    def __call__(self) -> Frame:
        MADE.append(f"f{self.number}+{self.by}")
        if self.number == 2:
            raise NotApplicable("it is bright already")
        frame = frame_of(self.number)
        return frame.replace(id=f"{frame.id}+{self.by}", image=np.maximum(frame.image, self.by))


class Brightness(BaseMethod):
    """The answer must rise with the brightness, by at least so much."""

    name = "brightness"

    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        by, least = requirement.parameters["by"], requirement.parameters["least"]
        assert isinstance(by, int)
        assert isinstance(least, int)
        for number in range(len(data)):
            asks = (Predict((Original(number), Brighter(number, by))),)
            draw = float(rng.random())
            yield Case(f"f{number}", requirement.id, asks, {"least": least, "draw": draw})

    def judge(self, case: Case, answers: Answers) -> Verdict:
        before, after = answers.predicted().signal("speed")
        least = case.parameters["least"]
        assert isinstance(least, int)
        return Verdict.from_margin(case, after - before - least)


class Meter:
    """Answers with the mean of the image, or always the same."""

    def __init__(self, name: str = "meter", gain: float = 1.0) -> None:
        self.name = name
        self.gain = gain
        self.batches: list[list[str]] = []

    def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
        self.batches.append([frame.id for frame in frames])
        return [Signals(speed=self.gain * float(np.mean(frame.image))) for frame in frames]


def requirement(id: str, by: int, least: int = 0) -> Requirement:
    return Requirement(id, "It gets brighter", "brightness", {"by": by, "least": least})


WEAK, STRICT, OTHER = requirement("weak", 200), requirement("strict", 200, 90), requirement("other one", 100)


def test_every_frame_is_made_and_asked_for_once(tmp_path: Path) -> None:
    MADE.clear()
    systems = [Meter("a"), Meter("b", 0.5)]
    found = run_several(Brightness(), [WEAK, STRICT, OTHER], Frames(4), systems, out=tmp_path / "out")
    assert sorted(MADE) == sorted(
        f"f{number}{change}" for number in range(4) for change in ("", "+100", "+200")
    )
    # Nothing is asked about the frame that does not qualify.
    asked = [id for batch in systems[0].batches for id in batch]
    assert sorted(asked) == sorted(f"f{n}{c}" for n in (0, 1, 3) for c in ("", "+100", "+200"))
    assert systems[0].batches == systems[1].batches
    assert set(found.results) == {(one, other) for one in ("weak", "strict", "other one") for other in "ab"}
    assert found.results["weak", "a"].counts[Status.PASSED] == 3
    assert found.results["strict", "a"].counts[Status.VIOLATED] == 3
    assert found.results["weak", "b"].folder == tmp_path / "out" / "runs" / "weak" / "b"
    assert found.results["other one", "b"].folder == tmp_path / "out" / "runs" / "other-one" / "b"


def test_rows_are_those_of_single_runs(tmp_path: Path) -> None:
    run_several(Brightness(), [WEAK, STRICT], Frames(5), [Meter("a"), Meter("b", 0.2)], out=tmp_path / "all")
    for one in (WEAK, STRICT):
        for system in (Meter("a"), Meter("b", 0.2)):
            single = run(Brightness(), one, Frames(5), system, out=tmp_path / one.id / system.name)
            together = tmp_path / "all" / "runs" / one.id / system.name
            assert list(read_rows(together)) == list(read_rows(tmp_path / one.id / system.name))
            record = (together / "requirements.jsonl").read_bytes()
            assert record == (tmp_path / one.id / system.name / "requirements.jsonl").read_bytes()
            assert single.outcome.summary.encode() in record


def crew(processes: int) -> Executor:
    return executor_for("serial") if processes == 1 else executor_for("processes", workers=processes)


def test_processes_and_batches_do_not_change_a_byte(tmp_path: Path) -> None:
    for name, processes, size in (("one", 1, 32), ("small", 1, 1), ("two", 2, 4)):
        with crew(processes) as executor:
            run_several(
                Brightness(), [WEAK, STRICT, OTHER], Frames(9), [Meter("a"), Meter("b", 0.2)],
                out=tmp_path / name, seed=3, passes=0.5, executor=executor, batch_size=size,
            )  # fmt: skip
    assert digests(tmp_path / "one") == digests(tmp_path / "small") == digests(tmp_path / "two")


def test_rounds_of_very_many_requirements_are_parted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [WEAK, STRICT, OTHER]
    run_several(Brightness(), asked, Frames(5), [Meter()], out=tmp_path / "whole")
    monkeypatch.setattr("roadworthy.runs.loop.MAX_CASES", 2)
    system = Meter()
    run_several(Brightness(), asked, Frames(5), [system], out=tmp_path / "parts", batch_size=1)
    assert max(len(batch) for batch in system.batches) == 1
    assert digests(tmp_path / "whole") == digests(tmp_path / "parts")


def test_images_of_all_systems_lie_in_one_folder(tmp_path: Path) -> None:
    found = run_several(
        Brightness(), [STRICT], Frames(4), [Meter("a"), Meter("b", 0.2)], out=tmp_path / "out"
    )
    assert found.images == tmp_path / "out" / "images"
    rows = [row for name in "ab" for row in read_rows(tmp_path / "out" / "runs" / "strict" / name)]
    hashes = {one for row in rows for one in str(row["images"]).split()}
    assert len(hashes) == 6
    assert all(image_path(found.images, one).is_file() for one in hashes)
    assert len(list(found.images.rglob("*.png"))) == 6


def test_a_share_of_the_passes_keeps_its_images(tmp_path: Path) -> None:
    def kept(name: str, **options: Any) -> int:
        run_several(Brightness(), [WEAK], Frames(40), [Meter()], out=tmp_path / name, **options)
        return sum(bool(row["images"]) for row in read_rows(tmp_path / name / "runs" / "weak" / "meter"))

    assert kept("none") == 0
    assert 8 <= kept("some", passes=0.5) <= 31
    assert kept("every", passes=1.0) == 39
    assert kept("off", passes=1.0, images="none") == 0


def test_pairs_that_are_not_tested_have_no_folder(tmp_path: Path) -> None:
    systems = [Meter("a"), Meter("b")]
    found = run_several(
        Brightness(), [WEAK, OTHER], Frames(3), systems, out=tmp_path / "out",
        tested=lambda one, system: (one.id, system.name) != ("other one", "b"),
    )  # fmt: skip
    assert set(found.results) == {("weak", "a"), ("weak", "b"), ("other one", "a")}
    assert not (tmp_path / "out" / "runs" / "other-one" / "b").exists()
    assert all("+100" not in id for batch in systems[1].batches for id in batch)


def test_seconds_are_counted_as_if_each_had_been_tested_alone(tmp_path: Path) -> None:
    found = run_several(Brightness(), [WEAK, STRICT, OTHER], Frames(6), [Meter()], out=tmp_path / "out")
    weak, strict, other = (found.costs[one.id] for one in (WEAK, STRICT, OTHER))
    assert weak.making == strict.making  # the same frames
    assert len(other.making) == 2
    assert all(seconds > 0 for cost in (weak, other) for seconds in (*cost.making, *cost.evaluating.values()))
    assert list(weak.evaluating) == ["meter"]


def test_progress_counts_cases_that_all_systems_have_answered(tmp_path: Path) -> None:
    seen: list[int] = []
    run_several(
        Brightness(), [WEAK, OTHER], Frames(5), [Meter("a"), Meter("b")],
        out=tmp_path / "out", batch_size=3, progress=seen.append,
    )  # fmt: skip
    assert seen == [2, 4, 6, 8, 10]


class Search(Brightness):
    def __init__(self) -> None:
        self.told: list[str] = []
        self.when: list[int] = []

    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        for number in (0, 1, 3):
            asks = (Predict((Original(number), Brighter(number, 50))),)
            yield Case(f"f{number}", requirement.id, asks, {"least": 0})
            yield AWAIT_VERDICTS
            self.when.append(len(self.told))

    def feedback(self, case: Case, verdict: Verdict) -> None:
        self.told.append(case.id)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_search_gets_its_verdicts_before_it_goes_on(tmp_path: Path, processes: int) -> None:
    search = Search()
    with crew(processes) as executor:
        run_several(search, [WEAK], Frames(4), [Meter()], out=tmp_path / "out", executor=executor)
    assert (search.told, search.when) == (["f0", "f1", "f3"], [1, 2, 3])


def test_a_search_follows_one_system(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be run for one system at a time, got 2"):
        run_several(Search(), [WEAK], Frames(4), [Meter("a"), Meter("b")], out=tmp_path / "out")


class Unpicklable(Brightness):
    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        yield Case("c", requirement.id, (Predict((partial(frame_of, 0), Broken())),), {"least": 0})


class Broken:
    def __call__(self) -> Frame:
        raise KeyError("a bug in the method")


@pytest.mark.parametrize("processes", [1, 2])
def test_a_bug_in_another_process_ends_the_run(tmp_path: Path, processes: int) -> None:
    with crew(processes) as executor, pytest.raises(KeyError, match="a bug in the method"):
        run_several(Unpicklable(), [WEAK], Frames(1), [Meter()], out=tmp_path / "out", executor=executor)


@pytest.mark.parametrize(
    ("requirements", "systems", "options", "message"),
    [
        ([WEAK, WEAK], [Meter()], {}, "requirements must have different names, got 'weak' more than once"),
        ([WEAK], [Meter("a"), Meter("a")], {}, "systems must have different names, got 'a' more than once"),
        (
            [WEAK],
            [Meter("a:b"), Meter("a b")],
            {},
            "systems must have names that differ in letters or digits",
        ),
        ([], [Meter()], {}, "at least one requirement and one system"),
        ([WEAK], [Meter()], {"batch_size": 0}, "batch_size must be 1 or more, got 0"),
    ],
)
def test_what_cannot_be_run_is_refused(
    tmp_path: Path, requirements: Any, systems: Any, options: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run_several(Brightness(), requirements, Frames(2), systems, out=tmp_path / "out", **options)


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="must be empty or new, got a folder with files"):
        run_several(Brightness(), [WEAK], Frames(2), [Meter()], out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def stop_after(cases: int) -> Any:
    def stop(done: int) -> None:
        if done >= cases:
            raise KeyboardInterrupt

    return stop


@pytest.mark.parametrize("processes", [1, 2])
def test_a_run_that_was_stopped_goes_on(tmp_path: Path, processes: int) -> None:
    requirements, systems = [WEAK, STRICT], [Meter("a"), Meter("b", 0.2)]
    run_several(Brightness(), requirements, Frames(30), systems, out=tmp_path / "whole", batch_size=6)
    with pytest.raises(KeyboardInterrupt):
        run_several(
            Brightness(), requirements, Frames(30), systems, out=tmp_path / "parts", batch_size=6,
            progress=stop_after(20),
        )  # fmt: skip
    stored = len(list(read_rows(tmp_path / "parts" / "runs" / "weak" / "a")))
    assert 0 < stored < 30
    again = [Meter("a"), Meter("b", 0.2)]
    seen: list[int] = []
    with crew(processes) as executor:
        found = run_several(
            Brightness(), requirements, Frames(30), again, out=tmp_path / "parts", batch_size=6,
            executor=executor, resume=True, progress=seen.append,
        )  # fmt: skip
    assert digests(tmp_path / "parts") == digests(tmp_path / "whole")
    assert found.results["weak", "a"].counts[Status.PASSED] == 29
    assert seen[-1] == 60
    if processes == 1:
        assert len(again[0].batches) < 10, "what is stored is not asked for again"


def test_a_batch_that_was_stored_in_part_is_asked_for_as_it_was(tmp_path: Path) -> None:
    whole, parts = Meter(), Meter()
    run_several(Brightness(), [WEAK], Frames(12), [whole], out=tmp_path / "whole", batch_size=8)
    shutil.copytree(tmp_path / "whole", tmp_path / "parts")
    with RunStore(
        tmp_path / "parts" / "runs" / "weak" / "meter", WEAK, system="meter", resume=True,
        about={"data": "frames", "seed": 0}, images=tmp_path / "parts" / "images",
    ) as store:  # fmt: skip
        store.cut(6)
    run_several(Brightness(), [WEAK], Frames(12), [parts], out=tmp_path / "parts", batch_size=8, resume=True)
    assert parts.batches == whole.batches[1:]
    assert digests(tmp_path / "parts") == digests(tmp_path / "whole")


def test_a_run_that_had_ended_stays_as_it_is(tmp_path: Path) -> None:
    found = run_several(Brightness(), [WEAK], Frames(5), [Meter()], out=tmp_path / "out")
    before = digests(tmp_path / "out")
    system = Meter()
    again = run_several(Brightness(), [WEAK], Frames(5), [system], out=tmp_path / "out", resume=True)
    assert (digests(tmp_path / "out"), system.batches) == (before, [])
    assert again.results["weak", "meter"].outcome == found.results["weak", "meter"].outcome


class Backwards(Brightness):
    """The same cases in another order."""

    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        yield from reversed(list(super().cases(requirement, data, rng)))


def test_rows_of_other_cases_are_not_gone_on_with(tmp_path: Path) -> None:
    run_several(Brightness(), [WEAK], Frames(5), [Meter()], out=tmp_path / "out")
    before = digests(tmp_path / "out")
    with pytest.raises(
        InputError, match="holds a row of case 'f0' where this run has case 'f4', so it cannot"
    ):
        run_several(Backwards(), [WEAK], Frames(5), [Meter()], out=tmp_path / "out", resume=True)
    with pytest.raises(InputError, match="cannot go on with"):
        run_several(Brightness(), [WEAK], Frames(5), [Meter()], out=tmp_path / "out", resume=True, seed=1)
    assert digests(tmp_path / "out") == before


def test_the_folder_of_a_suite_may_hold_other_runs(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    run_several(Brightness(), [WEAK], Frames(2), [Meter()], out=tmp_path)
    run_several(Brightness(), [OTHER], Frames(2), [Meter()], out=tmp_path)
    with pytest.raises(InputError, match="already holds the cases of a run"):
        run_several(Brightness(), [WEAK], Frames(2), [Meter()], out=tmp_path)
    assert len(list(read_rows(tmp_path / "runs" / "other-one" / "meter"))) == 2


def test_a_sample_keeps_some_passes(tmp_path: Path) -> None:
    run_several(Brightness(), [WEAK], Frames(300), [Meter()], out=tmp_path, images="sample")
    kept = [row["case"] for row in read_rows(tmp_path / "runs" / "weak" / "meter") if row["images"]]
    assert 0 < len(kept) < 15
