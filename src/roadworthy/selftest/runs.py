"""Faults in stored runs and in evidence: changed, forged or lost files that must be noticed."""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from roadworthy._files import sha256_of
from roadworthy.bbsl import parse
from roadworthy.bbsl.bindings import Bindings
from roadworthy.bbsl.method import TEXT, method_for
from roadworthy.bbsl.testing import find_role
from roadworthy.cases import Acceptance, Requirement, Status, Verdict
from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame
from roadworthy.intervals import clopper_pearson_upper
from roadworthy.models import FrameFunction
from roadworthy.runs import RunResult, StoredRun, read_verdicts, run
from roadworthy.runs.comparison import compare
from roadworthy.runs.evidence import verify, write_bundle
from roadworthy.runs.evidence.sums import SUMS, encoded, files_below, sums_text
from roadworthy.runs.executors import executor_for
from roadworthy.runs.suites import plan_suite, read_suite
from roadworthy.selftest.bbsl import OBJECTS, SPECIFICATION, rows_of_vehicles, true_boxes
from roadworthy.selftest.faults import SOUND, FaultBench, Probe, SeededFault, Sighting

_SUITE = """\
suite: Seeded
models:
  mine: dave2
data:
  day: {data: world:town, sample: 2}
requirements:
  night:
    rule: If the driving time changes into night, then the ego-vehicle should slow down.
    data: day
"""


def stored(
    folder: Path,
    detect: Callable[[int, Frame], Boxes],
    *,
    accept: float = 0.0,
    resume: bool = False,
    timeout: float | None = None,
    name: str = "seeded",
) -> RunResult:
    """Run a specification on a detector that gets the number of the frame, and store the run."""
    data, spec = rows_of_vehicles(), parse(SPECIFICATION)
    numbers = {id: number for number, id in enumerate(data.ids)}

    def answers(frames: list[Frame]) -> list[Boxes]:
        return [detect(numbers[frame.id], frame) for frame in frames]

    return run(
        method_for(spec, Bindings({}), find_role(spec, ())),
        Requirement("S", TEXT, "bbsl", acceptance=Acceptance(accept)),
        data,
        FrameFunction(name, answers, timeout),
        out=folder,
        batch_size=8,
        resume=resume,
    )


def _errors(result: RunResult, folder: Path, known: int, size: float) -> Sighting:
    """Compare the number of errors with what is known; every case must have a row, and the others a pass."""
    rows = list(read_verdicts(folder))
    errors = [one for one in rows if one.status is Status.ERROR]
    why = f": {errors[0].reason}" if errors else ""
    said = f"{len(errors)} errors in {len(rows)} rows, known {known} in {OBJECTS}{why}"
    whole = len({one.case_id for one in rows}) == OBJECTS == sum(result.counts.values())
    if size == SOUND:
        return Sighting(bool(errors) or not whole, said)
    return Sighting(len(errors) == known and whole and result.counts[Status.PASSED] == OBJECTS - known, said)


def _crashes(size: float, bench: FaultBench) -> Sighting:
    def detect(number: int, frame: Frame) -> Boxes:
        if number < size:
            raise RuntimeError("out of memory")
        return true_boxes(frame)

    folder = bench.folder / "run"
    return _errors(stored(folder, detect), folder, int(size), size)


def _answers_nonsense(size: float, bench: FaultBench) -> Sighting:
    def detect(number: int, frame: Frame) -> Boxes:
        boxes = true_boxes(frame)
        return boxes.replace(xyxy=boxes.xyxy * math.nan) if number < size else boxes

    folder = bench.folder / "run"
    return _errors(stored(folder, detect), folder, int(size), size)


def _hangs(size: float, bench: FaultBench) -> Sighting:
    def detect(number: int, frame: Frame) -> Boxes:
        if number < size:
            time.sleep(1.0)
        return true_boxes(frame)

    folder = bench.folder / "run"
    return _errors(stored(folder, detect, timeout=0.3), folder, int(size), size)


def _ends_its_process(frames: list[Frame]) -> list[Boxes]:
    """Answer, unless the first frame is there: then end the process, as a crash in a driver does."""
    # Named and at the top, because it goes to other processes by its name.
    if any(frame.id == "row-00" for frame in frames):
        os._exit(1)
    return [true_boxes(frame) for frame in frames]


def _answers_all(frames: list[Frame]) -> list[Boxes]:
    return [true_boxes(frame) for frame in frames]


def _kills_worker(size: float, bench: FaultBench) -> Sighting:
    spec, folder = parse(SPECIFICATION), bench.folder / "run"
    with executor_for("processes", workers=1) as executor:
        result = run(
            method_for(spec, Bindings({}), find_role(spec, ())),
            Requirement("S", TEXT, "bbsl"),
            rows_of_vehicles(),
            FrameFunction("seeded", _answers_all if size == SOUND else _ends_its_process),
            out=folder,
            batch_size=8,
            executor=executor,
        )
    return _errors(result, folder, int(size), size)


def _interrupted(size: float, bench: FaultBench) -> Sighting:
    """Stop a run after some of its frames, go on with it, and compare with one that was not stopped."""

    def detect(number: int, frame: Frame) -> Boxes:
        return Boxes.empty() if number % 5 == 0 else true_boxes(frame)

    def stopped(number: int, frame: Frame) -> Boxes:
        if number >= size:
            raise KeyboardInterrupt
        return detect(number, frame)

    whole, part = bench.folder / "whole", bench.folder / "part"
    stored(whole, detect)
    before = 0
    if size != SOUND:
        try:
            stored(part, stopped)
        except KeyboardInterrupt:
            before = len(list(read_verdicts(part)))
    stored(part, detect, resume=size != SOUND)
    rows: tuple[list[Verdict], list[Verdict]] = (list(read_verdicts(whole)), list(read_verdicts(part)))
    same = rows[0] == rows[1]
    said = f"{len(rows[1])} rows, {before} of them from before; {'the same' if same else 'not the same'}"
    return Sighting(not same if size == SOUND else same, said)


def _upper_bound(size: float, bench: FaultBench) -> Sighting:
    """Compare the bound of a failure rate with the rate at which so few failures have a chance of 5%."""
    del bench
    failures, cases = int(size), 100
    found = clopper_pearson_upper(failures, cases, 0.95)
    low, high = 0.0, 1.0
    for _ in range(60):
        rate = (low + high) / 2
        chance = sum(
            math.comb(cases, one) * rate**one * (1 - rate) ** (cases - one) for one in range(failures + 1)
        )
        low, high = (rate, high) if chance > 0.05 else (low, rate)
    right = math.isclose(found, low, abs_tol=1e-9)
    said = f"at most {found:.6f}, known {low:.6f}"
    return Sighting(not right if size == SOUND else right, said)


def _got_worse(size: float, bench: FaultBench) -> Sighting:
    """Compare a run with one of a model that has got worse on some frames; both are accepted."""
    before, after = bench.folder / "before", bench.folder / "after"
    stored(before, lambda _, frame: true_boxes(frame), accept=0.9)
    stored(after, lambda number, frame: Boxes.empty() if number < size else true_boxes(frame), accept=0.9)
    found = compare(StoredRun.open(before), StoredRun.open(after))
    (one,) = found.differences
    said = f"{one.verdict.value}: {one.broken} broken, {one.fixed} fixed, p = {one.p_adjusted or 1.0:.3g}"
    return Sighting(bool(found.regressions), said)


def _suite(good: str, bad: str) -> Probe:
    """Seed a mistake into a suite file."""

    def probe(size: float, bench: FaultBench) -> Sighting:
        assert good in _SUITE
        path = bench.folder / "seeded.suite.yaml"
        path.write_text(_SUITE if size == SOUND else _SUITE.replace(good, bad), "utf-8")
        try:
            plan = plan_suite(read_suite(path))
        except InputError as error:
            return Sighting(True, str(error).splitlines()[0].replace(f"{path}", path.name))
        return Sighting(False, f"{len(plan.trials)} requirements to try")

    return probe


_GOOD_SUITE = "the suite without the mistake"

FAULTS: tuple[SeededFault, ...] = (
    SeededFault(
        "runs/model crashes",
        "runs/lost",
        "a model that raises on some frames; these and no others must be errors",
        "a model that answers every frame",
        _crashes,
        (1.0, 3.0, 40.0),
        f"{{}} of {OBJECTS} frames",
    ),
    SeededFault(
        "runs/model answers nonsense",
        "runs/lost",
        "a model that answers some frames with numbers that are none (NaN)",
        "a model that answers every frame",
        _answers_nonsense,
        (1.0, 3.0, 40.0),
        f"{{}} of {OBJECTS} frames",
    ),
    SeededFault(
        "runs/model hangs",
        "runs/lost",
        "a model that takes longer for a frame than it may",
        "a model that answers every frame in time",
        _hangs,
        (1.0,),
        f"{{}} of {OBJECTS} frames",
        quick=False,
    ),
    SeededFault(
        "runs/model ends its process",
        "runs/lost",
        "a model that ends the process it runs in, on one frame",
        "a model that answers every frame",
        _kills_worker,
        (1.0,),
        f"{{}} of {OBJECTS} frames",
        quick=False,
    ),
    SeededFault(
        "runs/stopped and resumed",
        "runs/lost",
        "a run that is stopped after some frames and goes on later; its rows must be those of a whole one",
        "a run that is not stopped",
        _interrupted,
        (1.0, 20.0, 39.0),
        f"after {{}} of {OBJECTS} frames",
    ),
    SeededFault(
        "runs/confidence bound",
        "runs/number",
        "so many failures in 100 cases, whose bound is known from the binomial distribution itself",
        "no failure in 100 cases",
        _upper_bound,
        (1.0, 10.0, 50.0, 99.0),
        "{} of 100 cases",
    ),
    SeededFault(
        "runs/model got worse",
        "runs/regression",
        "an update of a model that fails on frames where the one before did not, within what is accepted",
        "the same model again",
        _got_worse,
        (1.0, 3.0, 5.0, 6.0, 20.0),
        f"{{}} of {OBJECTS} frames",
        6.0,
        "Five frames that got worse and none that got better are chance with p = 0.0625 (McNemar's exact "
        "test): at the level of 5% six are needed. The broken cases are listed all the same.",
    ),
    SeededFault(
        "runs/misspelt key in a suite",
        "runs/specification",
        "a suite that says “datta” instead of “data”",
        _GOOD_SUITE,
        _suite("data: day", "datta: day"),
    ),
    SeededFault(
        "runs/unknown model in a suite",
        "runs/specification",
        "a suite with a model that there is not",
        _GOOD_SUITE,
        _suite("mine: dave2", "mine: dav2"),
    ),
    SeededFault(
        "runs/unreadable rule in a suite",
        "runs/specification",
        "a suite with a rule without an outcome",
        _GOOD_SUITE,
        _suite(", then the ego-vehicle should slow down.", "."),
    ),
)
"""All of them."""


_FAILING = 4


def _misses_some(number: int, frame: Frame) -> Boxes:
    return Boxes.empty() if number < _FAILING else true_boxes(frame)


def _tampered(tamper: Callable[[Path], None], *, kept_digest: bool = False) -> Probe:
    """Bundle a run with violations, tamper with it, and verify it."""

    def probe(size: float, bench: FaultBench) -> Sighting:
        folder = bench.folder / "run"
        stored(folder, _misses_some)
        bundle = write_bundle(StoredRun.open(folder))
        if size != SOUND:
            tamper(folder)
        found = verify(folder, digest=bundle.digest if kept_digest else "")
        said = "; ".join(map(str, found.findings[:2])) or f"{found.files} files and {found.rows} rows agree"
        return Sighting(not found.passed, said)

    return probe


def _only(folder: Path, pattern: str) -> Path:
    """Return the first file of a kind; there is at least one."""
    return sorted(folder.glob(pattern))[0]


def _flip(folder: Path) -> None:
    """Turn the first violated case into a passed one."""
    import pyarrow.parquet as parquet

    file = _only(folder, "cases/*.parquet")
    table = parquet.read_table(file)
    rows = table.to_pylist()
    first = next(row for row in rows if row["status"] == "violated")
    first["status"], first["margin"] = "passed", 1.0
    parquet.write_table(type(table).from_pylist(rows, schema=table.schema), file)


def _drop(folder: Path) -> None:
    """Remove the first violated case."""
    import pyarrow.parquet as parquet

    file = _only(folder, "cases/*.parquet")
    table = parquet.read_table(file)
    rows = table.to_pylist()
    rows.remove(next(row for row in rows if row["status"] == "violated"))
    parquet.write_table(type(table).from_pylist(rows, schema=table.schema), file)


def _outcome(folder: Path) -> None:
    file = folder / "requirements.jsonl"
    text = file.read_text("utf-8")
    assert '"violated"' in text, "there is no outcome to change"
    file.write_text(text.replace('"status": "violated"', '"status": "passed"'), "utf-8")


def _one_bit(folder: Path) -> None:
    file = _only(folder, "images/*/*.png")
    content = bytearray(file.read_bytes())
    content[-20] ^= 1
    file.write_bytes(content)


def _add(folder: Path) -> None:
    (folder / "waiver.txt").write_text("accepted", "utf-8")


def _sums(folder: Path) -> None:
    """Write SHA256SUMS anew, as whoever covers a change up does."""
    digests = {path: sha256_of(folder / path) for path in files_below(folder)}
    (folder / SUMS).write_bytes(encoded(sums_text(digests)))


def _then_sums(tamper: Callable[[Path], None]) -> Callable[[Path], None]:
    def done(folder: Path) -> None:
        tamper(folder)
        _sums(folder)

    return done


def _forged(folder: Path) -> None:
    """Put the run of a better detector, bundled by the tool itself, in its place."""
    shutil.rmtree(folder)
    stored(folder, lambda _, frame: true_boxes(frame))
    write_bundle(StoredRun.open(folder))


_AS_BUNDLED = "the bundle as it was written"

EVIDENCE_FAULTS: tuple[SeededFault, ...] = (
    SeededFault(
        "evidence/flipped verdict",
        "evidence/missed",
        "a violated case that was made a passed one",
        _AS_BUNDLED,
        _tampered(_flip),
    ),
    SeededFault(
        "evidence/dropped case",
        "evidence/missed",
        "a violated case that was removed",
        _AS_BUNDLED,
        _tampered(_drop),
    ),
    SeededFault(
        "evidence/changed outcome",
        "evidence/missed",
        "an outcome that was made a passed one",
        _AS_BUNDLED,
        _tampered(_outcome),
    ),
    SeededFault(
        "evidence/one bit of an image",
        "evidence/missed",
        "an image of which one bit was changed",
        _AS_BUNDLED,
        _tampered(_one_bit),
    ),
    SeededFault(
        "evidence/removed image",
        "evidence/missed",
        "an image of a failure that was removed",
        _AS_BUNDLED,
        _tampered(lambda folder: _only(folder, "images/*/*.png").unlink()),
    ),
    SeededFault(
        "evidence/added file",
        "evidence/missed",
        "a file that was put among the evidence later",
        _AS_BUNDLED,
        _tampered(_add),
    ),
    SeededFault(
        "evidence/flipped verdict, new checksums",
        "evidence/missed",
        "a violated case that was made a passed one, with SHA256SUMS written anew to cover it up",
        _AS_BUNDLED,
        _tampered(_then_sums(_flip)),
    ),
    SeededFault(
        "evidence/changed outcome, new checksums",
        "evidence/missed",
        "an outcome that was made a passed one, with SHA256SUMS written anew to cover it up",
        _AS_BUNDLED,
        _tampered(_then_sums(_outcome)),
    ),
    SeededFault(
        "evidence/one bit, new checksums",
        "evidence/missed",
        "an image of which one bit was changed, with SHA256SUMS written anew to cover it up",
        _AS_BUNDLED,
        _tampered(_then_sums(_one_bit)),
    ),
    SeededFault(
        "evidence/forged run",
        "evidence/missed",
        "the whole evidence of another detector under the name of this one",
        _AS_BUNDLED,
        _tampered(_forged),
        (1.0,),
        "",
        None,
        "Whoever writes all files anew writes evidence that agrees with itself. Keep the digest that "
        "`evidence bundle` prints elsewhere: with it this is found, see the next line.",
    ),
    SeededFault(
        "evidence/forged run, digest kept",
        "evidence/missed",
        "the same, verified with the digest that was kept elsewhere",
        _AS_BUNDLED,
        _tampered(_forged, kept_digest=True),
    ),
)
"""All of them."""
