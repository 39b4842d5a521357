"""Whether two runs can be compared, and their same cases put side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from roadworthy._yaml import read_yaml
from roadworthy.errors import InputError, check_known, shortened
from roadworthy.runs.store.stored_run import Stoppable, joined, quoted

if TYPE_CHECKING:
    import duckdb

    from roadworthy.cases import Requirement
    from roadworthy.runs.store import StoredPair, StoredRun


Manifest: TypeAlias = Mapping[str, Any]
_NAMED = 5  # of several things that differ alike


@dataclass(frozen=True)
class ComparedConditions:
    """What differs between two runs beyond the systems.

    Attributes:
        refusals: Why a comparison would be of different things.
        warnings: What should be known when reading it.
    """

    refusals: tuple[str, ...]
    warnings: tuple[str, ...]


def conditions_of(first: StoredRun, second: StoredRun, systems: Mapping[str, str]) -> ComparedConditions:
    """Return what differs between two runs beyond the systems.

    Args:
        first: The run before.
        second: The run after.
        systems: For each system of the first run its name in the second.
    """
    before, after = first.manifest, second.manifest
    refusals: list[str] = []
    warnings: list[str] = []
    if before is None or after is None:
        missing = first.folder if before is None else second.folder
        warnings.append(f"{missing} has no manifest.json: whether both runs used the same data is not known")
        refusals += _other_seed(first.pairs, second.pairs)
    else:
        if before.get("seed") != after.get("seed"):
            refusals.append(
                f"the seeds are {before.get('seed')} and {after.get('seed')}, so cases with one name may "
                "show different images"
            )
        refusals += _other_data(before, after)
        warnings += _remarks(before, after, systems)
    warnings += _other_requirements(first.pairs, second.pairs)
    return ComparedConditions(tuple(refusals), tuple(warnings))


def _other_seed(before: Sequence[StoredPair], after: Sequence[StoredPair]) -> Iterator[str]:
    for name in ("seed", "data"):
        values = [{one.about.get(name) for one in pairs} - {None} for pairs in (before, after)]
        if all(values) and values[0].isdisjoint(values[1]):
            told = " and ".join(", ".join(sorted(map(str, one))) for one in values)
            yield f"the {name} of the runs differ: {told}"


def _other_data(before: Manifest, after: Manifest) -> Iterator[str]:
    for what, title in (("engines", "engine"), ("data", "data")):
        old, new = _part(before, what), _part(after, what)
        for name in sorted(set(old) & set(new)):
            shas = _sha(old[name]), _sha(new[name])
            if not all(shas) or shas[0] == shas[1]:
                continue
            frames = [_part(one, name).get("count") for one in (old, new)]
            if what == "data" and all(frames) and frames[0] != frames[1]:
                yield (
                    f"the first run tried {frames[0]} frames of {name!r} and the second {frames[1]}, so "
                    "cases with one name may show different images: give both the same --sample"
                )
                continue
            told = " and ".join(f"{one[:12]}…" for one in shas)
            yield f"the {title} {name!r} has changed in between: its SHA-256 is {told}"
    if old and new and not set(old) & set(new):
        yield f"no data set is in both runs: {', '.join(sorted(old))} and {', '.join(sorted(new))}"


def _remarks(before: Manifest, after: Manifest, systems: Mapping[str, str]) -> Iterator[str]:
    old, new = _part(before, "models"), _part(after, "models")
    same = [
        one if one == other else f"{one} as {other}"
        for one, other in sorted(systems.items())
        if one in old and other in new and _sha(old[one]) and old[one] == new[other]
    ]
    if same:
        yield f"the same model in both runs, by its SHA-256: {shortened(same, _NAMED)}"
    data = _part(before, "data"), _part(after, "data")
    for name in sorted(set(data[0]) & set(data[1])):
        if not _sha(data[0][name]) or not _sha(data[1][name]):
            yield f"the data {name!r} has no checksum in one of the runs, so it may have changed"
    for name in ("tool", "settings", "libraries"):
        if differing := _differing(_part(before, name), _part(after, name)):
            yield f"{name}: {shortened(differing, _NAMED)}"


def _differing(before: Manifest, after: Manifest) -> list[str]:
    return [
        f"{key} {before.get(key, 'not given')} and {after.get(key, 'not given')}"
        for key in sorted(set(before) | set(after))
        if before.get(key) != after.get(key)
    ]


def _other_requirements(before: Sequence[StoredPair], after: Sequence[StoredPair]) -> Iterator[str]:
    old = {one.requirement.id: one.requirement for one in before}
    new = {one.requirement.id: one.requirement for one in after}
    if changed := [id for id in old if id in new and _asks(old[id]) != _asks(new[id])]:
        yield f"what is required has changed: {shortened(changed, _NAMED)}"
    for words, found in (
        ("no longer tested", [id for id in old if id not in new]),
        ("tested for the first time", [id for id in new if id not in old]),
    ):
        if found:
            yield f"{words}: {shortened(found, _NAMED)}"
    for run, pairs in (("first", before), ("second", after)):
        open_ones = [f"{one.requirement.id} on {one.system}" for one in pairs if one.outcome is None]
        if open_ones:
            yield f"the {run} run was not finished: {shortened(open_ones, _NAMED)}"


def _asks(requirement: Requirement) -> tuple[object, ...]:
    return requirement.text, requirement.method, dict(requirement.parameters), requirement.acceptance


def match_systems(
    before: Sequence[str], after: Sequence[str], given: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return which system of the second run each of the first is compared with.

    Those of one name belong together, and so do those that are left when it is one in each run.

    Args:
        before: The systems of the first run.
        after: Those of the second.
        given: Pairs of a name before and a name after; nothing else is compared then.

    Raises:
        InputError: A name that is given is unknown, or it cannot be told what belongs together.

    Example:
        >>> match_systems(["detector", "dave2"], ["dave2-retrained", "detector"])
        {'detector': 'detector', 'dave2': 'dave2-retrained'}
        >>> match_systems(["a", "b"], ["c", "d"])
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: no system is in both runs: a, b before and c, d after; say which ...
    """
    if given:
        for names, known, run in ((given, before, "first"), (given.values(), after, "second")):
            for name in names:
                check_known(f"the {run} run has no system", name, known)
        if len(set(given.values())) < len(given):
            raise InputError("a system of the second run can be compared with one of the first only")
        return dict(given)
    matched = {name: name for name in before if name in after}
    left = [name for name in before if name not in after], [name for name in after if name not in before]
    if len(left[0]) == len(left[1]) == 1:
        matched[left[0][0]] = left[1][0]
    if not matched:
        raise InputError(
            f"no system is in both runs: {', '.join(before)} before and {', '.join(after)} after; say which "
            f"belong together, such as --systems {before[0]}={after[0]}"
        )
    return matched


def _part(manifest: Manifest, name: str) -> Manifest:
    found = manifest.get(name)
    return found if isinstance(found, Mapping) else {}


def _sha(record: Any) -> str:
    return str(record.get("sha256") or "") if isinstance(record, Mapping) else ""


Key = tuple[str, str]
"""A requirement's id and the name that a system has in the second run."""

ABSENT = "absent"
_DIFFERENT = "different"
FAILED = ("violated", "error")
JUDGED = ("passed", *FAILED)
_SQL: Mapping[str, str] = read_yaml(Path(__file__).with_suffix(".yaml"), "file of queries", "queries").data
_WORDS = {"absent": ABSENT, "different": _DIFFERENT, "failed": FAILED, "judged": JUDGED}


@dataclass(frozen=True)
class ChangedCases:
    """A case that is broken or fixed: its margins before and after, and its images."""

    case: str
    before: float | None
    after: float | None
    status_before: str
    status_after: str
    reason: str
    images_before: str
    images_after: str


@dataclass
class PairedCases:
    """The cases of a requirement and system in both runs.

    Attributes:
        moves: How many cases went from which status to which; "absent" where a run does not have the case.
        different: How many cases have one name in both runs but were made differently; they are in no move.
        kinds: How many clusters have so many cases, of which so many more are broken than fixed.
        shifts: By how much the margin of each cluster went up, where both runs have one: the median of its
            cases.
        broken: Cases that passed and fail now, the farthest from passing first.
        fixed: Cases that failed and pass now, the farthest from passing before first.
    """

    moves: dict[tuple[str, str], int] = field(default_factory=dict)
    different: int = 0
    kinds: dict[tuple[int, int], int] = field(default_factory=dict)
    shifts: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    broken: list[ChangedCases] = field(default_factory=list)
    fixed: list[ChangedCases] = field(default_factory=list)


def pair_up(
    first: StoredRun,
    second: StoredRun,
    systems: Mapping[str, str],
    unpaired: Collection[str],
    examples: int,
    stoppable: Stoppable | None = None,
) -> dict[Key, PairedCases]:
    """Return the cases of two runs side by side, by requirement and system.

    All counting is done by the database, which keeps what does not fit into memory on disk.

    Args:
        first: The run before.
        second: The run after.
        systems: For each system of the first run that has one, its name in the second.
        unpaired: Requirements whose cases cannot be paired, because a search made them as it went.
        examples: How many broken and fixed cases of each requirement and system are named.
        stoppable: Is given what interrupts it while it goes on, from another thread.

    Raises:
        InputError: A run cannot be read.
    """
    found: dict[Key, PairedCases] = {}
    with joined({"first_rows": first, "second_rows": second}, stoppable or nullcontext) as connection:
        _join(connection, systems, unpaired)
        for requirement, system, before, after, number in _asked(
            connection, "SELECT requirement, system, before, after, count(*) FROM paired GROUP BY ALL"
        ):
            one = found.setdefault((requirement, system), PairedCases())
            if before == _DIFFERENT:
                one.different = number
            else:
                one.moves[before, after] = number
        for requirement, system, size, change, number in _asked(connection, _SQL["kinds"].format(**_WORDS)):
            found[requirement, system].kinds[size, change] = number
        _add_shifts(connection, found)
        for kind, name in (("broken", "after"), ("fixed", "before")):
            for requirement, system, *rest in _asked(connection, _worst(kind, name, examples)):
                getattr(found[requirement, system], kind).append(ChangedCases(*rest))
    return found


def _join(
    connection: duckdb.DuckDBPyConnection, systems: Mapping[str, str], unpaired: Collection[str]
) -> None:
    """Make the table of pairs: every case of either run once."""
    connection.execute("CREATE TABLE names (before VARCHAR, after VARCHAR)")
    connection.executemany("INSERT INTO names VALUES ($1, $2)", list(map(list, systems.items())))
    connection.execute("CREATE TABLE searched (requirement VARCHAR)")
    if unpaired:
        connection.executemany("INSERT INTO searched VALUES ($1)", [[one] for one in sorted(unpaired)])
    columns = [_columns(connection, name) for name in ("first_rows", "second_rows")]
    shared = sorted(name for name in set(columns[0]) & set(columns[1]) if name.startswith("param."))
    same = " AND ".join(_alike(quoted(name)) for name in shared)
    both = {"shown_before": _shown("one", columns[0]), "shown_after": _shown("two", columns[1])}
    sql = _SQL["pairs"].format(same=same or "TRUE", cluster=_cluster(columns), **both, **_WORDS)
    connection.execute(sql)


def _alike(column: str) -> str:
    """Return whether both cases have one value, be it stored as text, whole number or number.

    Other requirements of a run may use the name for values of another kind, and then a query gives those of
    all in the kind that holds them: 1 as 1.0, or as text.
    """
    one, two = (f"CAST({table}.{column} AS VARCHAR)" for table in ("one", "two"))
    as_numbers = f"TRY_CAST({one} AS DOUBLE) = TRY_CAST({two} AS DOUBLE)"
    return f"({one} IS NOT DISTINCT FROM {two} OR coalesce({as_numbers}, FALSE))"


def _cluster(columns: Sequence[Sequence[str]]) -> str:
    """Return what names the cluster of a case; rows of before tell the frame at best."""
    given = [
        f'CAST({table}."{name}" AS VARCHAR)'
        for name in ("cluster", "param.frame", "measure.frame")
        for table, known in zip(("one", "two"), columns, strict=True)
        if name in known
    ]
    return f'coalesce({", ".join([*given, """one."case" """, """two."case" """])})'


def _shown(table: str, known: Sequence[str]) -> str:
    """Return the images by which a case is shown, as `shown_images` has them: of a clip, where it decides."""
    images = f"coalesce({table}.images, '')"
    if "param.clip" not in known:
        return images
    decides = f'CAST({table}."measure.decides" AS INTEGER)' if "measure.decides" in known else "NULL"
    place, all_of = f"coalesce({decides}, 0)", f"string_split({images}, ' ')"
    changes = (f'({table}."{one}" IS NOT NULL)::INTEGER' for one in known if one.startswith("param.change."))
    each = " + ".join(("1", *changes))
    shown = f"array_to_string({all_of}[{place} * ({each}) + 1 : ({place} + 1) * ({each})], ' ')"
    return f'CASE WHEN {table}."param.clip" IS NULL THEN {images} ELSE {shown} END'


def _worst(kind: str, side: str, most: int) -> str:
    condition = (
        "failed_after AND before = 'passed'" if kind == "broken" else "failed_before AND after = 'passed'"
    )
    return _SQL["worst"].format(condition=condition, side=side, most=most)


def _add_shifts(connection: duckdb.DuckDBPyConnection, found: Mapping[Key, PairedCases]) -> None:
    connection.execute(_SQL["shifts"])
    keys = "SELECT requirement, system, count(*) FROM shifts GROUP BY ALL ORDER BY requirement, system"
    values = connection.execute("SELECT shift FROM shifts ORDER BY requirement, system").fetchnumpy()["shift"]
    start = 0
    for requirement, system, number in _asked(connection, keys):
        own = np.asarray(values[start : start + number], np.float64)
        found[requirement, system].shifts = own[~np.isnan(own)]
        start += number


def _columns(connection: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    return [str(row[0]) for row in _asked(connection, f"SELECT column_name FROM (DESCRIBE {table})")]


def _asked(connection: duckdb.DuckDBPyConnection, sql: str) -> Iterable[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = connection.execute(sql).fetchall()
    return rows
