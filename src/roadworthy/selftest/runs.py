"""Faults in stored runs and in evidence: changed, forged or lost files that must be noticed."""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from roadworthy._files import sha256_of, write_text
from roadworthy._yaml import read_yaml
from roadworthy.cases import Status
from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame
from roadworthy.models import FrameFunction
from roadworthy.runs import RunResult, StoredRun, read_verdicts
from roadworthy.runs.comparison import compare
from roadworthy.runs.evidence import verify, write_bundle
from roadworthy.runs.evidence.sums import SUMS, encoded, files_below, sums_text
from roadworthy.runs.executors import executor_for
from roadworthy.runs.suites import plan_suite, read_suite
from roadworthy.selftest.bbsl import OBJECTS, in_first, none, number_of, run_detector, true_boxes
from roadworthy.selftest.faults import SOUND, FaultBench, Probe, Sighting, answering, described
from roadworthy.selftest.simulating import LEAST, KnownClusters, simulate
from roadworthy.statistics import clopper_pearson_upper

_REPETITIONS = 150
_SUITE = read_yaml(Path(__file__).with_name("texts.yaml"), "file of texts", "texts").data["suite"]


def stored(folder: Path, system: FrameFunction, **how: Any) -> RunResult:
    """Test a detector by a specification, and store the run."""
    return run_detector(system, out=folder, batch_size=8, **how)


def _errors(result: RunResult, folder: Path, size: float) -> Sighting:
    """Compare the number of errors with what is known; every case must have a row, and the others a pass."""
    rows, known = list(read_verdicts(folder)), int(size)
    errors = [row for row in rows if row.status is Status.ERROR]
    why = f": {errors[0].reason}" if errors else ""
    said = f"{len(errors)} errors in {len(rows)} rows, known {known} in {OBJECTS}{why}"
    whole = len({row.case_id for row in rows}) == OBJECTS == sum(result.counts.values())
    right = len(errors) == known and whole and result.counts[Status.PASSED] == OBJECTS - known
    return Sighting.of_number(size, right, said)


def _failing(changed: Callable[[Boxes], Boxes], timeout: float | None = None) -> Probe:
    """Seed a failure of the model on some frames."""

    def probe(size: float, bench: FaultBench) -> Sighting:
        folder = bench.folder / "run"
        return _errors(stored(folder, in_first(size, changed, timeout)), folder, size)

    return probe


def _crash(boxes: Boxes) -> Boxes:
    del boxes
    raise RuntimeError("out of memory")


def _hang(boxes: Boxes) -> Boxes:
    time.sleep(1.0)
    return boxes


def _ends_its_process(frames: list[Frame]) -> list[Boxes]:
    """Answer, unless the first frame is there: then end the process, as a crash in a driver does."""
    # Named and at the top, because it goes to other processes by its name.
    if any(frame.id == "row-00" for frame in frames):
        os._exit(1)
    return _answers_all(frames)


def _answers_all(frames: list[Frame]) -> list[Boxes]:
    return [true_boxes(frame) for frame in frames]


def _kills_worker(size: float, bench: FaultBench) -> Sighting:
    folder = bench.folder / "run"
    system = FrameFunction("seeded", _answers_all if size == SOUND else _ends_its_process)
    with executor_for("processes", workers=1) as executor:
        result = stored(folder, system, executor=executor)
    return _errors(result, folder, size)


def _interrupted(size: float, bench: FaultBench) -> Sighting:
    """Stop a run after some of its frames, go on with it, and compare with one that was not stopped."""

    def answer(frame: Frame) -> Boxes:
        return Boxes.empty() if number_of(frame) % 5 == 0 else true_boxes(frame)

    def stopped(frame: Frame) -> Boxes:
        if number_of(frame) >= size:
            raise KeyboardInterrupt
        return answer(frame)

    detector = answering(answer)
    whole, part = bench.folder / "whole", bench.folder / "part"
    stored(whole, detector)
    before = 0
    if size != SOUND:
        try:
            stored(part, answering(stopped))
        except KeyboardInterrupt:
            before = len(list(read_verdicts(part)))
    stored(part, detector, resume=size != SOUND)
    rows = list(read_verdicts(part))
    same = rows == list(read_verdicts(whole))
    said = f"{len(rows)} rows, {before} of them from before; {'the same' if same else 'not the same'}"
    return Sighting.of_number(size, same, said)


def _upper_bound(size: float, bench: FaultBench) -> Sighting:
    """Compare the bound of a failure rate with the rate at which so few failures have a chance of 5%."""
    from scipy.optimize import brentq
    from scipy.stats import binom

    del bench
    failures, cases = int(size), 100
    found = clopper_pearson_upper(failures, cases, 0.95)
    known = brentq(lambda rate: binom.cdf(failures, cases, rate) - 0.05, 0.0, 1.0)
    said = f"at most {found:.6f}, known {known:.6f}"
    return Sighting.of_number(size, math.isclose(found, known, abs_tol=1e-9), said)


def _bounds_of_drives(size: float, bench: FaultBench) -> Sighting:
    """Draw drives whose frames are alike and whose failure rate is known; see how often the bounds hold."""
    del bench
    truth = KnownClusters(int(size) or 10, 0.3, 0.17)
    found = {
        statement: next(simulate(statement, _REPETITIONS, [truth])).true
        for statement in ("upper bound of a rate", "lower bound of a rate", "a rate decided early")
    }
    said = ", ".join(f"{statement} true in {share:.0%}" for statement, share in found.items())
    # Three standard deviations of so many repetitions below what is stated.
    return Sighting.of_number(size, min(found.values()) >= LEAST - 0.05, f"{said}, stated 95%")


def _got_worse(size: float, bench: FaultBench) -> Sighting:
    """Compare a run with one of a model that has got worse on some frames; both are accepted."""
    before, after = bench.folder / "before", bench.folder / "after"
    stored(before, answering(true_boxes), accept=0.9)
    stored(after, in_first(size, none), accept=0.9)
    found = compare(StoredRun.open(before), StoredRun.open(after))
    (one,) = found.differences
    said = f"{one.verdict.value}: {one.broken} broken, {one.fixed} fixed, p = {one.p or 1.0:.3g}"
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


_OF_RUNS = {
    "model crashes": _failing(_crash),
    "model answers nonsense": _failing(lambda boxes: boxes.replace(xyxy=boxes.xyxy * math.nan)),
    "model hangs": _failing(_hang, timeout=0.3),
    "model ends its process": _kills_worker,
    "stopped and resumed": _interrupted,
    "confidence bound": _upper_bound,
    "confidence of drives": _bounds_of_drives,
    "model got worse": _got_worse,
    "misspelt key in a suite": _suite("data: day", "datta: day"),
    "unknown model in a suite": _suite("mine: dave2", "mine: dav2"),
    "unreadable rule in a suite": _suite(", then the ego-vehicle should slow down.", "."),
}
FAULTS = described("runs", _OF_RUNS)


_FAILING = 4


def _tampered(tamper: Callable[[Path], None], *, kept_digest: bool = False) -> Probe:
    """Bundle a run with violations, tamper with it, and verify it."""

    def probe(size: float, bench: FaultBench) -> Sighting:
        folder = bench.folder / "run"
        stored(folder, in_first(_FAILING, none))
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


def _edit_rows(folder: Path, edit: Callable[[list[dict[str, Any]], dict[str, Any]], None]) -> None:
    """Edit the rows of a run; the function gets all of them and the first that is violated."""
    import pyarrow.parquet as parquet

    file = _only(folder, "cases/*.parquet")
    table = parquet.read_table(file)
    rows = table.to_pylist()
    edit(rows, next(row for row in rows if row["status"] == "violated"))
    parquet.write_table(type(table).from_pylist(rows, schema=table.schema), file)


def _flip(folder: Path) -> None:
    """Turn the first violated case into a passed one."""
    _edit_rows(folder, lambda _, violated: violated.update(status="passed", margin=1.0))


def _drop(folder: Path) -> None:
    """Remove the first violated case."""
    _edit_rows(folder, lambda rows, violated: rows.remove(violated))


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


def _then_sums(tamper: Callable[[Path], None]) -> Callable[[Path], None]:
    """Write SHA256SUMS anew after a change, as whoever covers it up does."""

    def done(folder: Path) -> None:
        tamper(folder)
        digests = {path: sha256_of(folder / path) for path in files_below(folder)}
        (folder / SUMS).write_bytes(encoded(sums_text(digests)))

    return done


def _forged(folder: Path) -> None:
    """Put the run of a better detector, bundled by the tool itself, in its place."""
    shutil.rmtree(folder)
    stored(folder, answering(true_boxes))
    write_bundle(StoredRun.open(folder))


_OF_EVIDENCE = {
    "flipped verdict": _tampered(_flip),
    "dropped case": _tampered(_drop),
    "changed outcome": _tampered(_outcome),
    "one bit of an image": _tampered(_one_bit),
    "removed image": _tampered(lambda folder: _only(folder, "images/*/*.png").unlink()),
    "added file": _tampered(lambda folder: write_text(folder / "waiver.txt", "accepted")),
    "flipped verdict, new checksums": _tampered(_then_sums(_flip)),
    "changed outcome, new checksums": _tampered(_then_sums(_outcome)),
    "one bit, new checksums": _tampered(_then_sums(_one_bit)),
    "forged run": _tampered(_forged),
    "forged run, digest kept": _tampered(_forged, kept_digest=True),
}
EVIDENCE_FAULTS = described("evidence", _OF_EVIDENCE)
