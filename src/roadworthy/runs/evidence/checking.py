"""Checking a run or a bundle: is every file what it was, and do the files agree with each other?"""

from __future__ import annotations

import shutil
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from roadworthy.cases import Status
from roadworthy.errors import InputError
from roadworthy.runs.evidence.pairs import rows_of
from roadworthy.runs.evidence.sums import SUMS, Differences, digest_of, read_sums
from roadworthy.runs.store import StoredPair, StoredRun, image_path

__all__ = ["Finding", "Verification", "opened_bundle", "verify"]

Progress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be.

    Attributes:
        kind: ``changed``, ``missing``, ``added``, ``image``, ``counts``, ``digest``, ``manifest``,
            ``outcome``.
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

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: int = 0
    rows: int = 0
    images: int = 0
    digest: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def verify(folder: Path, *, digest: str = "", progress: Progress | None = None) -> Verification:
    """Check a run or the folder of a bundle.

    Every file is hashed and compared with SHA256SUMS. Images must hash to their names and be there for every
    row that names one, and outcomes must have the counts that the rows have. A run that was never bundled has
    no SHA256SUMS, which is noted.

    Args:
        folder: The folder.
        digest: What the SHA-256 of SHA256SUMS was when the bundle was made, if that was kept.
        progress: Called with what is done and how many of it are.

    Raises:
        InputError: The folder holds no run.
    """
    told = progress or (lambda *_: None)
    found = Verification()
    _check_sums(folder, digest, found, told)
    damaged = {one.what for one in found.findings if one.kind == "changed"}
    try:
        run = StoredRun.open(folder)
        _check_rows(run, found, told)
    except InputError as error:
        if not damaged and not any(one.kind == "missing" for one in found.findings):
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
            found.findings.append(Finding("digest", SUMS, "it is missing, and a digest of it was given"))
        found.notes.append(
            f"there is no {SUMS}, so changed files cannot be told: roadworthy evidence bundle writes it"
        )
        return
    found.digest = digest_of(sums)
    wanted = digest.strip().lower()
    if wanted and found.digest != wanted:
        found.findings.append(Finding("digest", SUMS, f"expected {wanted}, got {found.digest}"))
    listed = read_sums(sums)
    differences = Differences.of(folder, progress=lambda done: told("Hashing files", done))
    found.files = len(listed) - len(differences.missing)
    for path in differences.changed:
        detail = f"its bytes are not those that were bundled (sha256 {listed[path][:16]}…)"
        found.findings.append(Finding("changed", path, detail))
    for path in differences.missing:
        found.findings.append(Finding("missing", path, "it was bundled and is not there"))
    for path in differences.added:
        found.findings.append(Finding("added", path, f"it is not in {SUMS}"))


def _check_rows(run: StoredRun, found: Verification, told: Progress) -> None:
    images = run.folder / "images"
    have_images = images.is_dir() and any(images.iterdir())
    hashed: set[str] = set()
    for pair in run.pairs:
        counts: Counter[Status] = Counter()
        for row in rows_of(pair):
            counts[Status(str(row["status"]))] += 1
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
        found.findings.append(Finding("image", digest, f"case {case!r} names it, and it is not there"))
    elif digest_of(path) != digest:
        found.findings.append(Finding("image", digest, "its bytes do not hash to its name"))


def _check_counts(pair: StoredPair, counts: Counter[Status], found: Verification) -> None:
    where = f"{pair.requirement.id} on {pair.system}"
    if pair.outcome is None:
        found.notes.append(f"{where}: the run was stopped before it concluded")
        return
    for status in Status:
        told = pair.outcome.counts.get(status, 0)
        if told != counts[status]:
            detail = f"the outcome says {told} cases are {status}, the rows say {counts[status]}"
            found.findings.append(Finding("counts", where, detail))


@contextmanager
def opened_bundle(path: Path) -> Iterator[Path]:
    """Give the folder of a bundle; a zip file is unpacked into a temporary one.

    Raises:
        InputError: There is nothing, or the zip file is damaged or leads out of its folder.
    """
    if path.is_dir():
        yield path
        return
    if not path.is_file():
        raise InputError(f"{path} must be the folder of a run or a bundle, or a .zip; there is none")
    with TemporaryDirectory(prefix="roadworthy-evidence-") as name:
        try:
            with zipfile.ZipFile(path) as archive:
                entries = archive.infolist()
                size, free = sum(entry.file_size for entry in entries), shutil.disk_usage(name).free
                if size > free:
                    raise InputError(
                        f"{path} unpacks to {size:,} bytes, and {name} has room for {free:,}: unpack it "
                        "where there is room, and give the folder"
                    )
                tops = {entry.filename.split("/")[0] for entry in entries}
                if len(tops) != 1:
                    raise InputError(
                        f"{path} must hold one folder, as `roadworthy evidence bundle` writes it, got "
                        f"{len(tops)}"
                    )
                # Names that lead out of the folder are made harmless by zipfile and then are added files.
                archive.extractall(name)
        except (zipfile.BadZipFile, EOFError, NotImplementedError, OSError) as error:
            raise InputError(f"{path} cannot be unpacked: {error}") from error
        yield Path(name) / tops.pop()
