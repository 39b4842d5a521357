"""Checking a run or a bundle: is every file what it was, and do the files agree with each other?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from roadworthy._files import sha256_of
from roadworthy.cases import OutcomeStatus, Status, rate_status
from roadworthy.errors import InputError
from roadworthy.runs.evidence.pairs import rows_of
from roadworthy.runs.evidence.sums import SUMS, Differences, read_sums
from roadworthy.runs.store import StoredPair, StoredRun, image_path, verdict_of

Progress = Callable[[str, int], None]

_BY_RATE = ("rules", "bbsl", "driving", "coverage")
"""The methods that conclude from the rate of failures; others need more than the numbers of cases."""


@dataclass(frozen=True, slots=True)
class EvidenceFinding:
    """Something that is not as it should be.

    Attributes:
        kind: ``changed``, ``missing``, ``added``, ``image``, ``counts``, ``digest``, ``manifest``,
            ``outcome``, ``row``.
        what: The file, or what else it is about.
        detail: What was expected and what came.
    """

    kind: str
    what: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}: {self.detail}"


@dataclass(slots=True)
class Verification:
    """What checking found.

    Attributes:
        findings: What is not as it should be; empty where all is.
        notes: What could not be checked, and why.
        files: How many files were hashed.
        rows: How many rows were read.
        images: How many images that rows name were looked for.
        digest: The SHA-256 of SHA256SUMS; empty where there is none.
    """

    findings: list[EvidenceFinding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: int = 0
    rows: int = 0
    images: int = 0
    digest: str = ""

    def add(self, kind: str, what: str, detail: str) -> None:
        """Add what is wrong."""
        self.findings.append(EvidenceFinding(kind, what, detail))

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def verify(
    folder: Path,
    *,
    digest: str = "",
    damaged: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Check a run or the folder of a bundle.

    Every file is hashed and compared with SHA256SUMS. Images must hash to their names and be there for every
    row that names one. No row may contradict itself, as a violation with a positive margin does. Outcomes
    must have the counts that the rows have, and where a method concludes from the rate of failures, be what
    that rate makes them. A run that was never bundled has no SHA256SUMS, which is noted.

    Args:
        folder: The folder.
        digest: What the SHA-256 of SHA256SUMS was when the bundle was made, if that was kept.
        damaged: What could not be unpacked, and why; see `opened_bundle`.
        progress: Called with what is done and how many of it are.

    Raises:
        InputError: The folder holds no run.
    """
    told = progress or (lambda *_: None)
    found = Verification()
    for path, why in (damaged or {}).items():
        found.add("changed", path, f"it cannot be unpacked: {why}")
    _check_sums(folder, digest, found, told)
    try:
        run = StoredRun.open(folder)
        _check_rows(run, found, told)
    except InputError as error:
        if not any(one.kind in ("changed", "missing") for one in found.findings):
            raise
        # What is broken was named above; the rows cannot be read because of it.
        found.notes.append(f"the rows could not be read: {error}")
    return found


def _check_sums(folder: Path, digest: str, found: Verification, told: Progress) -> None:
    sums = folder / SUMS
    if not sums.is_file():
        if not folder.is_dir():
            raise InputError(f"{folder} must be the folder of a run or a bundle, or a .zip; there is none")
        if digest:
            found.add("digest", SUMS, "it is missing, and a digest of it was given")
        found.notes.append(
            f"there is no {SUMS}, so changed files cannot be told: roadworthy evidence bundle writes it"
        )
        return
    found.digest = sha256_of(sums)
    wanted = digest.strip().lower()
    if wanted and found.digest != wanted:
        found.add("digest", SUMS, f"expected {wanted}, got {found.digest}")
    listed = read_sums(sums)
    differences = Differences.of(folder, progress=lambda done: told("Hashing files", done))
    found.files = len(listed) - len(differences.missing)
    told_before = {one.what for one in found.findings}
    for path in differences.changed:
        detail = f"its bytes are not those that were bundled (sha256 {listed[path][:16]}…)"
        found.add("changed", path, detail)
    for path in differences.missing:
        if path in told_before:
            continue
        found.add("missing", path, "it was bundled and is not there")
    for path in differences.added:
        found.add("added", path, f"it is not in {SUMS}")


def _check_rows(run: StoredRun, found: Verification, told: Progress) -> None:
    images = run.folder / "images"
    have_images = images.is_dir() and any(images.iterdir())
    hashed: set[str] = set()
    for pair in run.pairs:
        counts: Counter[Status] = Counter()
        for row in rows_of(pair):
            counts[Status(str(row["status"]))] += 1
            try:
                verdict_of(row)
            except InputError as error:
                where = f"{pair.requirement.id} on {pair.system}"
                found.add("row", where, str(error))
            found.rows += 1
            if found.rows % 1000 == 0:
                told("Reading cases", found.rows)
            for digest in str(row["images"] or "").split():
                found.images += 1
                if have_images and digest not in hashed:
                    hashed.add(digest)
                    _check_image(image_path(images, digest), digest, str(row["case"]), found)
        _check_counts(pair, counts, found)
    if found.images and not have_images:
        found.notes.append("the images that rows name are not in the bundle: it was made without them")


def _check_image(path: Path, digest: str, case: str, found: Verification) -> None:
    if not path.is_file():
        found.add("image", digest, f"case {case!r} names it, and it is not there")
    elif sha256_of(path) != digest:
        found.add("image", digest, "its bytes do not hash to its name")


def _check_counts(pair: StoredPair, counts: Counter[Status], found: Verification) -> None:
    where = f"{pair.requirement.id} on {pair.system}"
    if pair.outcome is None:
        found.notes.append(f"{where}: the run was stopped before it concluded")
        return
    for status in Status:
        number = pair.outcome.counts.get(status, 0)
        if number != counts[status]:
            detail = f"the outcome says {number} cases are {status}, the rows say {counts[status]}"
            found.add("counts", where, detail)
    told = pair.outcome.status
    # Of a model that could not be tried nothing was concluded from rows, and nothing was measured.
    if pair.requirement.method not in _BY_RATE or not pair.outcome.measures:
        return
    rows_say = rate_status(counts, pair.requirement.acceptance)
    # A search may fail for want of coverage, whatever its rate.
    if told != rows_say and not (pair.requirement.method == "coverage" and told is OutcomeStatus.VIOLATED):
        detail = f"it says {told}, and the rows say {rows_say} by the rate that is accepted"
        found.add("outcome", where, detail)
