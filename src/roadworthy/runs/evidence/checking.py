"""Checking a run or a bundle: is every file what it was, and do the files agree with each other?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from roadworthy import cases
from roadworthy._files import sha256_of
from roadworthy.coverage.method import CoverageMethod
from roadworthy.errors import InputError
from roadworthy.reliability.method import ReliabilityMethod
from roadworthy.runs.evidence.pairs import rows_of
from roadworthy.runs.evidence.sums import SUMS, Differences, is_signed, read_sums
from roadworthy.runs.store import StoredPair, StoredRun, image_path, read_verdicts
from roadworthy.runs.store.manifest import is_of_before
from roadworthy.runs.store.parts import verdict_of
from roadworthy.runs.store.rows import read_outcome, read_records, read_requirement
from roadworthy.runs.suites.forms import as_name
from roadworthy.runs.suites.planning import acceptance_of, chosen_entries, severity_of, tags_of
from roadworthy.runs.suites.reading import SUITE_FILE, Suite, read_suite
from roadworthy.runs.suites.running import INCLUDED, REQUIREMENTS

Progress = Callable[[str, int], None]

_MOST = 50  # findings that people read; scripts get all

BY_RATE = ("rules", "rules-drive", "bbsl", "driving", "driving-search", "coverage")
"""The methods that conclude from the rate of failures."""
BY_ROWS: Mapping[str, Callable[[], cases.BaseMethod]] = {
    "coverage": CoverageMethod,
    "reliability": ReliabilityMethod,
}
"""Those that need more than numbers of cases, which requirement and rows have; of searches, samples do."""


@dataclass(frozen=True, slots=True)
class EvidenceFinding:
    """Something that is not as it should be.

    Attributes:
        kind: ``changed``, ``missing``, ``added``, ``image``, ``counts``, ``digest``, ``document``,
            ``manifest``, ``outcome``, ``requirement``, ``row``, ``signature``, ``suite``.
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

    def document(self) -> dict[str, Any]:
        """Return everything for scripts."""
        numbers = {name: getattr(self, name) for name in ("digest", "files", "rows", "images")}
        return {**numbers, "findings": [asdict(one) for one in self.findings], "notes": self.notes}

    def lines(self) -> list[str]:
        """Return what is not as it should be, for people."""
        lines = [str(one) for one in self.findings[:_MOST]]
        left = len(self.findings) - len(lines)
        return [*lines, *([f"… and {left} more; --json lists them all"] if left else [])]

    def __str__(self) -> str:
        return f"{self.files:,} files hashed, {self.rows:,} cases and {self.images:,} images checked"


def verify(
    folder: Path,
    *,
    digest: str = "",
    key: Path | None = None,
    signature: Path | None = None,
    damaged: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Check a run or the folder of a bundle.

    Every file is hashed and compared with SHA256SUMS. Images must hash to their names and be there for every
    row that names one. No row may contradict itself, as a violation with a positive margin does. Outcomes
    must have the counts that the rows have, and where a method concludes from the rate of failures, be what
    that rate makes them. Every requirement that the suite asks for and that the run lists must have rows, and
    say there what it says in the suite; suite and seed must be those of the manifest. A run that was never
    bundled has no SHA256SUMS, which is noted.

    Args:
        folder: The folder.
        digest: What the SHA-256 of SHA256SUMS was when the bundle was made, if that was kept.
        key: The public key of whoever signed the bundle, if it was signed.
        signature: The file of the signature; the folder's name with .sig if left out.
        damaged: What could not be unpacked, and why; see `opened_bundle`.
        progress: Called with what is done and how many of it are.

    Raises:
        InputError: The folder holds no run, or the key is none.
        MissingExtraError: There is a key, and the extra `sign` is not installed.
    """
    told = progress or (lambda *_: None)
    found = Verification()
    for path, why in (damaged or {}).items():
        found.add("changed", path, f"it cannot be unpacked: {why}")
    _check_sums(folder, digest, found, told)
    if key is not None:
        _check_signature(folder, key, signature or signature_of(folder), found)
    try:
        run = StoredRun.open(folder)
        _check_rows(run, found, told)
        _check_requirements(run, found)
        _check_suite(run, found)
    except InputError as error:
        if not any(one.kind in ("changed", "missing") for one in found.findings):
            raise
        # What is broken was named above; the rows cannot be read because of it.
        found.notes.append(f"the rows could not be read: {error}")
    return found


def signature_of(bundle: Path) -> Path:
    """Return where the signature of a bundle lies, beside it.

    Example:
        >>> signature_of(Path("runs/night.zip")).as_posix()
        'runs/night.zip.sig'
    """
    bundle = bundle.resolve() if bundle.name in ("", "..") else bundle
    return bundle.with_name(f"{bundle.name}.sig")


def _check_signature(folder: Path, key: Path, signature: Path, found: Verification) -> None:
    content = signature.read_bytes() if signature.is_file() else None
    if not is_signed(folder, content or b"", key):
        detail = f"it is not of this {SUMS} by the owner of {key.name}"
        found.add("signature", str(signature), "it is not there" if content is None else detail)


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
        found.add("changed", path, f"its bytes are not those that were bundled (sha256 {listed[path][:16]}…)")
    for path in differences.missing:
        if path not in told_before:
            found.add("missing", path, "it was bundled and is not there")
    for path in differences.added:
        found.add("added", path, f"it is not in {SUMS}")


def _check_rows(run: StoredRun, found: Verification, told: Progress) -> None:
    images = run.folder / "images"
    have_images = images.is_dir() and any(images.iterdir())
    hashed: set[str] = set()
    for pair in run.pairs:
        counts: Counter[cases.Status] = Counter()
        tally, worst = cases.RateTally(pair.requirement), math.inf
        for row in rows_of(pair):
            counts[cases.Status(str(row["status"]))] += 1
            where = f"{pair.requirement.id} on {pair.system}"
            try:
                verdict = verdict_of(row)
                tally.add(replace(verdict, requirement_id=pair.requirement.id))
                worst = min(worst, math.inf if verdict.margin is None else verdict.margin)
            except InputError as error:
                found.add("row", where, str(error))
                # It counts all the same, by its status.
                status, cluster = cases.Status(str(row["status"])), str(row.get("cluster") or row["case"])
                margin = 0.0 if status in (cases.Status.PASSED, cases.Status.VIOLATED) else None
                tally.add(
                    cases.Verdict("-", pair.requirement.id, status, margin, str(error), cluster=cluster)
                )
            if (row["requirement"], row["system"]) != (pair.requirement.id, pair.system):
                found.add("row", where, f"case {row['case']!r} is of {row['requirement']} on {row['system']}")
            found.rows += 1
            if found.rows % 1000 == 0:
                told("Reading cases", found.rows)
            for digest in str(row["images"] or "").split():
                found.images += 1
                if have_images and digest not in hashed:
                    hashed.add(digest)
                    _check_image(image_path(images, digest), digest, str(row["case"]), found)
        _check_outcome(pair, counts, tally, worst, found)
    again = 'SELECT requirement, system, "case" FROM cases GROUP BY ALL HAVING count(*) > 1'
    for row in run.query(f"{again} ORDER BY ALL LIMIT {_MOST}"):
        where = f"{row['requirement']} on {row['system']}"
        found.add("row", where, f"case {row['case']!r} has more than one")
    if found.images and not have_images:
        found.notes.append("the images that rows name are not in the bundle: it was made without them")


def _check_image(path: Path, digest: str, case: str, found: Verification) -> None:
    if not path.is_file():
        found.add("image", digest, f"case {case!r} names it, and it is not there")
    elif sha256_of(path) != digest:
        found.add("image", digest, "its bytes do not hash to its name")


def _check_outcome(
    pair: StoredPair, counts: Counter[cases.Status], tally: cases.RateTally, worst: float, found: Verification
) -> None:
    where = f"{pair.requirement.id} on {pair.system}"
    if pair.outcome is None:
        found.notes.append(f"{where}: the run was stopped before it concluded")
        return
    for status in cases.Status:
        number = pair.outcome.counts.get(status, 0)
        if number != counts[status]:
            detail = f"the outcome says {number} cases are {status}, the rows say {counts[status]}"
            found.add("counts", where, detail)
    if pair.outcome.unanswered:
        return
    outcome, method = pair.outcome, pair.requirement.method
    sampled = pair.requirement.parameters.get("search") == "sampled"
    try:
        if method == "reliability" or sampled:
            rows_say = BY_ROWS[method]().conclude(pair.requirement, read_verdicts(pair.folder))
        elif method in BY_RATE:
            rows_say = tally.outcome()
        else:
            found.notes.append(
                f"{where}: only the counts were checked, since {method!r} is a method of yours"
            )
            return
    except (InputError, KeyError) as error:
        found.notes.append(
            f"{where}: only the counts were checked, since it cannot be concluded again: {error}"
        )
        return
    # A search may fail for want of coverage, whatever it found.
    of_search = method == "coverage" and not sampled and outcome.status is cases.OutcomeStatus.VIOLATED
    if outcome.status != rows_say.status and not of_search:
        detail = f"it says {outcome.status}, and the rows say {rows_say.status} by what is accepted"
        found.add("outcome", where, detail)
    derived: dict[str, cases.Scalar] = dict(rows_say.measures)
    if rows_say.rate is not None:
        derived["rate"] = rows_say.rate
    if counts[cases.Status.PASSED] + counts[cases.Status.VIOLATED]:
        derived["worst_margin"] = worst
    said: dict[str, cases.Scalar] = {**outcome.measures, "rate": outcome.rate}
    for name in derived.keys() & said.keys():
        told, value = said[name], derived[name]
        # What is not finite is stored as a word, and a search tells no rate.
        if told is None or told == value or str(told) == str(value):
            continue
        if not (
            isinstance(told, float) and isinstance(value, float) and math.isclose(told, value, rel_tol=1e-6)
        ):
            found.add("outcome", where, f"it says {name} {told}, and its rows say {value}")


def _check_requirements(run: StoredRun, found: Verification) -> None:
    """See that what the run lists has rows that are of the same requirement, and that nothing else has."""
    listed = run.folder / REQUIREMENTS
    stored = {(pair.requirement.id, pair.system): pair for pair in run.pairs}
    seed = (run.manifest or {}).get("seed")
    for pair in run.pairs:
        told = pair.about.get("seed")
        if None not in (seed, told) and told != seed:
            detail = f"the manifest says seed {seed}, the rows of {pair.requirement.id} are of seed {told}"
            found.add("manifest", "seed", detail)
            break
    if not (run.folder / "runs").is_dir() or not listed.is_file():
        return
    ended = is_complete(run.manifest)
    records = {(str(one["id"]), str(one.get("system", ""))): one for one in read_records(listed)}
    for key, record in records.items():
        where, tried = " on ".join(key), stored.get(key)
        about = record.get("run")
        told = about.get("seed") if isinstance(about, Mapping) else None
        if tried is None and (ended or record.get("outcome") is not None):
            found.add("requirement", where, f"{REQUIREMENTS} lists it, and there are no rows of it")
        elif tried is None:
            found.notes.append(f"{where} has no rows: it was never begun, or is another shard's")
        elif (read_requirement(record), read_outcome(record)) != (tried.requirement, tried.outcome):
            place = tried.folder.relative_to(run.folder).as_posix()
            found.add("requirement", where, f"{REQUIREMENTS} says something else than the one in {place}")
        if None not in (seed, told) and told != seed:
            found.add("manifest", "seed", f"it is {seed}, and {REQUIREMENTS} says {told} for {where}")
    for key in stored:
        if key not in records:
            found.add("requirement", " on ".join(key), f"there are rows of it, and {REQUIREMENTS} lacks it")


def is_complete(manifest: Mapping[str, Any] | None) -> bool:
    """Return whether all that a run lists was tried; of a shard, others have what cannot be shared out."""
    told = manifest or {}
    return told.get("ended") is not None and "shard" not in told.get("settings", {})


def _accepted(acceptance: cases.Acceptance, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is accepted, as far as a run of this manifest's format says it."""
    said = asdict(acceptance)
    if is_of_before(manifest):
        del said["decide"], said["early"]
    return said


def _check_suite(run: StoredRun, found: Verification) -> None:
    """See that the suite is the one of the manifest, and that what it asks for was tried as it says."""
    manifest = run.manifest or {}
    copy = run.folder / SUITE_FILE
    hashed = {name: str(one.get("sha256")) for name, one in (manifest.get("suite") or {}).items()}
    copies = {name: path for name in hashed if (path := run.folder / INCLUDED / name).is_file()}
    if copy.is_file():
        digest, own = sha256_of(copy), [hashed[name] for name in hashed if name not in copies]
        if hashed and digest not in own:
            wanted = ", ".join(f"{one[:16]}…" for one in own) or "another"
            found.add("suite", SUITE_FILE, f"the run was made with sha256 {wanted}, this is {digest[:16]}…")
    elif hashed:
        found.add("missing", SUITE_FILE, "the manifest names it, and it is not there")
    for name, path in copies.items():
        digest = sha256_of(path)
        if digest != hashed[name]:
            detail = f"the run was made with sha256 {hashed[name][:16]}…, this is {digest[:16]}…"
            found.add("suite", f"{INCLUDED}/{name}", detail)
    if not copy.is_file():
        return
    try:
        suite = read_suite(copy, Path(), of_run=True)
    except InputError as error:
        found.add("suite", SUITE_FILE, f"it cannot be read: {str(error).partition(chr(10))[0]}")
        return
    _check_entries(run, suite, found)


def _check_entries(run: StoredRun, suite: Suite, found: Verification) -> None:
    """See that every entry of the suite that was asked for has rows, and that they are of what it says."""
    manifest = run.manifest or {}
    only = [str(one) for one in manifest.get("only") or ()]
    listed = run.folder / REQUIREMENTS
    # A run lists all that it is asked for before it tries anything, also one that is stopped.
    planned = [read_requirement(one) for one in read_records(listed)] if listed.is_file() else []
    ended = is_complete(manifest)
    if manifest and manifest.get("ended") is None:
        found.notes.append("the run did not end: what it lists without rows was not tried")
    for id, entry in chosen_entries(suite.form, only).items():
        requirements = [one.requirement for one in run.pairs if _is_of(one.requirement, id)]
        if not requirements:
            if ended or (planned and not any(_is_of(one, id) for one in planned)):
                found.add("requirement", id, f"{SUITE_FILE} asks for it, and there are no rows of it")
            continue
        wanted: dict[str, Any] = {
            "accept": _accepted(acceptance_of(suite.form, entry, of_before=is_of_before(manifest)), manifest),
            "severity": str(severity_of(suite.form, entry)),
            "tags": list(tags_of(suite.form, entry)),
            **({"text": entry.text} if entry.text else {}),
        }
        for one in requirements:
            said = {
                "accept": _accepted(one.acceptance, manifest),
                "severity": str(one.severity),
                "tags": list(one.tags),
                "text": one.text,
            }
            for name, value in wanted.items():
                if said[name] != value:
                    detail = f"{SUITE_FILE} says {name} {value!r}, the run says {said[name]!r}"
                    found.add("requirement", one.id, detail)
    if only:
        left = [id for id in suite.form.requirements if id not in chosen_entries(suite.form, only)]
        if left:
            asked = ", ".join(only)
            found.notes.append(f"only {asked} was asked for, so the suite's {', '.join(left)} was not tried")


def _is_of(requirement: cases.Requirement, entry: str) -> bool:
    """Return whether a requirement is an entry of the suite, or one of several that an entry comes to."""
    return as_name(requirement.id) == entry or requirement.id.startswith((f"{entry}/", f"{entry}@"))
