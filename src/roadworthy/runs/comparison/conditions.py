"""Whether two runs can be compared: the same data, seed and requirements, and which system is which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roadworthy.errors import InputError, suggest

if TYPE_CHECKING:
    from roadworthy.cases import Requirement
    from roadworthy.runs.store import StoredPair, StoredRun

__all__ = ["Conditions", "conditions_of", "match_systems"]

_NAMED = 5  # of several things that differ alike


@dataclass(frozen=True)
class Conditions:
    """What differs between two runs beyond the systems.

    Attributes:
        refusals: Why a comparison would be of different things.
        warnings: What should be known when reading it.
    """

    refusals: tuple[str, ...]
    warnings: tuple[str, ...]


def conditions_of(first: StoredRun, second: StoredRun, systems: Mapping[str, str]) -> Conditions:
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
        warnings.append(
            f"{missing} has no manifest.json, so it is not known whether both runs used the same data"
        )
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
    return Conditions(tuple(refusals), tuple(warnings))


def _other_seed(before: Sequence[StoredPair], after: Sequence[StoredPair]) -> Iterator[str]:
    for name in ("seed", "data"):
        values = [{one.about.get(name) for one in pairs} - {None} for pairs in (before, after)]
        if all(values) and values[0].isdisjoint(values[1]):
            told = " and ".join(", ".join(sorted(map(str, one))) for one in values)
            yield f"the {name} of the runs differ: {told}"


def _other_data(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
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


def _remarks(
    before: Mapping[str, Any], after: Mapping[str, Any], systems: Mapping[str, str]
) -> Iterator[str]:
    old, new = _part(before, "models"), _part(after, "models")
    same = [
        one if one == other else f"{one} as {other}"
        for one, other in sorted(systems.items())
        if one in old and other in new and _sha(old[one]) and old[one] == new[other]
    ]
    if same:
        yield f"the same model in both runs, by its SHA-256: {_some(same)}"
    data = _part(before, "data"), _part(after, "data")
    for name in sorted(set(data[0]) & set(data[1])):
        if not _sha(data[0][name]) or not _sha(data[1][name]):
            yield f"the data {name!r} has no checksum in one of the runs, so it may have changed"
    for name in ("tool", "settings", "libraries"):
        differing = _differing(_part(before, name), _part(after, name))
        if differing:
            yield f"{name}: {_some(differing)}"


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [
        f"{key} {before.get(key, 'not given')} and {after.get(key, 'not given')}"
        for key in sorted(set(before) | set(after))
        if before.get(key) != after.get(key)
    ]


def _other_requirements(before: Sequence[StoredPair], after: Sequence[StoredPair]) -> Iterator[str]:
    old = {one.requirement.id: one.requirement for one in before}
    new = {one.requirement.id: one.requirement for one in after}
    changed = [id for id in old if id in new and _asks(old[id]) != _asks(new[id])]
    if changed:
        yield f"what is required has changed: {_some(changed)}"
    for words, found in (
        ("no longer tested", [id for id in old if id not in new]),
        ("tested for the first time", [id for id in new if id not in old]),
    ):
        if found:
            yield f"{words}: {_some(found)}"
    for run, pairs in (("first", before), ("second", after)):
        open_ones = [f"{one.requirement.id} on {one.system}" for one in pairs if one.outcome is None]
        if open_ones:
            yield f"the {run} run was not finished: {_some(open_ones)}"


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
                if name not in known:
                    raise InputError(f"the {run} run has no system {name!r}; {suggest(name, known)}")
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


def _part(manifest: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = manifest.get(name)
    return found if isinstance(found, Mapping) else {}


def _sha(record: Any) -> str:
    return str(record.get("sha256") or "") if isinstance(record, Mapping) else ""


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
