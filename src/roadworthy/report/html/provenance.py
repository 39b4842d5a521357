"""What was tested and with what, as the manifest of a run has it: flat lines, bounded in number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roadworthy.runs.store import StoredRun

__all__ = ["Fact", "facts_of", "flat"]

MOST = 200  # lines
MOST_OF_ONE = 40  # entries of one list or mapping: a data set may name every file


@dataclass(frozen=True)
class Fact:
    """One line: what about, and what it is; a heading where there is no value."""

    name: str
    value: str | None
    depth: int

    @property
    def is_digest(self) -> bool:
        """Whether the value is a checksum, which is set in letters of one width."""
        value = (self.value or "").removeprefix("sha256:")
        return len(value) in (40, 64) and all(one in "0123456789abcdef" for one in value)


def facts_of(run: StoredRun) -> list[Fact]:
    """Return what the manifest of a run says; nothing where there is none."""
    if run.manifest is None:
        return []
    told = {name: value for name, value in run.manifest.items() if name not in ("format", "notes")}
    if isinstance(told.get("settings"), Mapping):
        told["settings"] = {
            name: "not given" if value is None else value for name, value in told["settings"].items()
        }
    facts = list(flat(told))
    if len(facts) > MOST:
        facts = [*facts[:MOST], Fact("…", f"{len(facts) - MOST} more lines are in manifest.json", 0)]
    return facts


def flat(document: Mapping[str, Any] | Sequence[Any], depth: int = 0) -> Iterator[Fact]:
    """Yield a nested document line by line.

    Example:
        >>> for fact in flat({"seed": 7, "models": [{"name": "dave2", "files": []}]}):
        ...     print("  " * fact.depth + fact.name, fact.value)
        seed 7
        models None
          dave2 None
            files none
    """
    if isinstance(document, Mapping):
        items = [(str(name), value) for name, value in document.items()]
    else:
        items = [(str(place), value) for place, value in enumerate(document, 1)]
    for name, value in items[:MOST_OF_ONE]:
        if not _is_nested(value):
            yield Fact(name, "not known" if value is None else str(value), depth)
        elif not value:
            yield Fact(name, "none", depth)
        elif not isinstance(value, Mapping) and not any(map(_is_nested, value)):
            yield Fact(name, _joined(value), depth)
        elif isinstance(value, Mapping) and "name" in value and not isinstance(document, Mapping):
            yield Fact(str(value["name"]), None, depth)
            yield from flat({key: one for key, one in value.items() if key != "name"}, depth + 1)
        else:
            yield Fact(name, None, depth)
            yield from flat(_brief(value) if isinstance(value, Mapping) else value, depth + 1)
    if len(items) > MOST_OF_ONE:
        yield Fact("…", f"{len(items) - MOST_OF_ONE} more", depth)


def _is_nested(value: object) -> bool:
    return isinstance(value, Mapping | list | tuple)


def _joined(values: Sequence[Any]) -> str:
    """Return a list in one line.

    Example:
        >>> _joined(["steering", "speed"]), _joined(range(100))[-14:]
        ('steering, speed', '39 and 60 more')
    """
    left = len(values) - MOST_OF_ONE
    told = ", ".join(map(str, values[:MOST_OF_ONE]))
    return f"{told} and {left} more" if left > 0 else told


def _brief(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a checksum with what it is of in one line, and without the sum of its only file once more.

    Example:
        >>> _brief({"sha256": "ab", "hashed": "the files", "count": 1, "sums": {"net.onnx": "ab"}})
        {'sha256': 'ab', 'hashed': 'the files: net.onnx'}
        >>> _brief({"sha256": "ab", "hashed": "the frames", "count": 40})
        {'sha256': 'ab', 'hashed': 'the frames (40)'}
    """
    if not {"sha256", "hashed"} <= record.keys():
        return record
    rest = {name: value for name, value in record.items() if name not in ("sha256", "hashed", "count")}
    told, sums = str(record["hashed"]), record.get("sums")
    if isinstance(sums, Mapping) and len(sums) == 1:
        told += f": {next(iter(sums))}"
        del rest["sums"]
    elif "count" in record:
        told += f" ({record['count']})"
    return {"sha256": record["sha256"] or "nothing to hash", "hashed": told, **rest}
