"""The experiment of the reliability room: an image for a moment, noise, and one of two answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roadworthy.errors import InputError
from roadworthy.reliability.human.experiment_files import COLUMNS
from roadworthy.web.studies.task import Part, Task

_LONGEST = 3600.0  # seconds; whatever is longer is no answer


class GlanceExperiment(Task):
    """Images that are shown for a moment; people say what they saw."""

    kind = "glances"
    title = "What people still see at a glance"
    columns = tuple(COLUMNS)

    def _files(self) -> list[str]:
        items = [item for _, _, batch in self._batches_of(self.plan) for item in batch]
        return [
            *(str(one["file"]) for one in (*items, *self.plan["practice"])),
            *map(str, self.plan["masks"]),
        ]

    @staticmethod
    def _batches_of(plan: Any) -> list[tuple[int, int, list[dict[str, Any]]]]:
        return [
            (int(track["track"]), int(batch["batch"]), list(batch["items"]))
            for track in plan["tracks"]
            for batch in track["batches"]
        ]

    def _prepare(self) -> None:
        self._batches = self._batches_of(self.plan)
        # Checks are shared by the tracks, so a check alone does not tell where a person is.
        self._tracks_of: dict[str, set[int]] = {}
        for track, _, items in self._batches:
            for one in items:
                self._tracks_of.setdefault(str(one["id"]), set()).add(track)
        self._choices = tuple(map(str, self.plan["choices"]))
        self._wanted = int(self.plan["raters_per_batch"])
        self._times = {name: int(self.plan[name]) for name in ("fixation_ms", "mask_ms", "answer_ms")}

    def parts(self) -> list[Part]:
        """Return the batches."""
        everybody = [{row["item"] for row in rows} for rows in self.answers.read_all().values()]
        return [
            Part(
                f"track {track}, batch {number}",
                len(items),
                sum({str(one["id"]) for one in items} <= seen for seen in everybody),
                self._wanted,
            )
            for track, number, items in self._batches
        ]

    def begin(self, rater: str) -> dict[str, Any]:
        """Return the next batch of a person's track: the one begun, or else the one that fewest have done."""
        with self.answers.lock:
            seen = {row["item"] for row in self.answers.read(rater)}
            everybody = [{row["item"] for row in rows} for rows in self.answers.read_all().values()]
        done = {
            (track, number): sum(bool(self._own(items) & other) for other in everybody)
            for track, number, items in self._batches
        }
        # A person stays in one track: in no other would all pictures be new.
        tracks = self._tracks_with(seen)
        left = [
            (track, number, [one for one in items if str(one["id"]) not in seen], len(items))
            for track, number, items in self._batches
            if track in tracks
        ]
        open_ones = [
            (track, number, items, size)
            for track, number, items, size in left
            if items and (len(items) < size or done[track, number] < self._wanted)
        ]
        chosen = min(
            open_ones,
            key=lambda one: (len(one[2]) == one[3], done[one[0], one[1]], one[0], one[1]),
            default=None,
        )
        return {
            "choices": list(self._choices),
            **self._times,
            "masks": [str(one) for one in self.plan["masks"]],
            "practice": [] if seen or chosen is None else list(self.plan["practice"]),
            "part": "" if chosen is None else f"track {chosen[0]}, batch {chosen[1]}",
            "items": [] if chosen is None else chosen[2],
        }

    def answer(self, rater: str, item: str, values: Mapping[str, Any]) -> None:
        """Store what a person chose, and after how many seconds; an empty choice is none in time."""
        answer, seconds = values.get("answer"), values.get("time")
        if answer != "" and answer not in self._choices:
            raise InputError(f"the answer must be {' or '.join(map(repr, self._choices))}, got {answer!r}")
        if seconds is not None and not (
            isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds <= _LONGEST
        ):
            raise InputError(f"the time must be in seconds, got {seconds!r}")
        if item not in self._tracks_of:
            raise InputError(f"the experiment has no image {item!r}")
        with self.answers.lock:
            rows = self.answers.read(rater)
            if not self._tracks_with({item, *(row["item"] for row in rows)}):
                raise InputError("a person stays in one track: this image belongs to another")
            if any(row["item"] == item for row in rows):
                return  # the first answer counts, whoever sends another
            time = "" if seconds is None else f"{seconds:.3f}"
            self.answers.write(rater, [*rows, {"item": item, "rater": rater, "answer": answer, "time": time}])

    def _own(self, items: list[dict[str, Any]]) -> set[str]:
        """Return the images of a batch that no other track shows."""
        return {str(one["id"]) for one in items if len(self._tracks_of[str(one["id"])]) == 1}

    def _tracks_with(self, ids: set[str]) -> set[int]:
        """Return the tracks that show all of some images."""
        found = {track for track, _, _ in self._batches}
        for id in ids & self._tracks_of.keys():
            found &= self._tracks_of[id]
        return found
