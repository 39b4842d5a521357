"""The study of the driving room: clips of drives, rated from 1 to 5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roadworthy.driving.rating.files import COLUMNS
from roadworthy.errors import InputError
from roadworthy.web.studies.task import Part, Task


class ClipStudy(Task):
    """Clips of drives; people say how good the driving is."""

    kind = "clips"
    title = "How good is the driving"
    columns = tuple(COLUMNS)

    def _files(self) -> list[str]:
        clips = [str(clip["file"]) for one in self.plan["questionnaires"] for clip in one["clips"]]
        return clips + ([str(self.plan["reference"])] if self.plan.get("reference") else [])

    def _prepare(self) -> None:
        self._questionnaires = {str(one["id"]): one for one in self.plan["questionnaires"]}
        self._scale = [{"score": int(one["score"]), "label": str(one["label"])} for one in self.plan["scale"]]
        self._wanted = int(self.plan["raters_per_questionnaire"])
        self._question = str(self.plan["question"])
        for one in self._questionnaires.values():
            known = {str(clip["id"]) for clip in one["clips"]}
            if not one["orders"] or any(set(map(str, order)) != known for order in one["orders"]):
                raise ValueError(f"the orders of {one['id']} are not those of its clips")

    def parts(self) -> list[Part]:
        """Return the questionnaires."""
        done = dict.fromkeys(self._questionnaires, 0)
        for rows in self.answers.read_all().values():
            if rows and all(row["score"] for row in rows) and rows[0]["questionnaire"] in done:
                done[rows[0]["questionnaire"]] += 1
        return [
            Part(id, len(one["clips"]), done[id], self._wanted) for id, one in self._questionnaires.items()
        ]

    def begin(self, rater: str) -> dict[str, Any]:
        """Return a person's questionnaire: the one begun, or else the one that fewest have."""
        with self.answers.lock:
            rows = self.answers.read(rater)
            if not rows:
                rows = self._dealt(rater)
                if not rows:
                    return {"items": [], "part": ""}
                self.answers.write(rater, rows)
        one = self._questionnaires[rows[0]["questionnaire"]]
        files = {str(clip["id"]): str(clip["file"]) for clip in one["clips"]}
        return {
            "part": str(one["id"]),
            "question": self._question,
            "scale": self._scale,
            "reference": self.plan.get("reference"),
            "items": [
                {
                    "id": row["clip"],
                    "file": files[row["clip"]],
                    "given": int(row["score"]) if row["score"] else None,
                }
                for row in rows
            ],
        }

    def answer(self, rater: str, item: str, values: Mapping[str, Any]) -> None:
        """Store the score of a clip."""
        score = values.get("score")
        known = [one["score"] for one in self._scale]
        if type(score) is not int or score not in known:
            raise InputError(f"the score must be one of {', '.join(map(str, known))}, got {score!r}")
        with self.answers.lock:
            rows = self.answers.read(rater)
            found = next((row for row in rows if row["clip"] == item), None)
            if found is None:
                raise InputError(f"{rater} was not asked about the clip {item!r}: open the page again")
            found["score"] = str(score)
            self.answers.write(rater, rows)

    def _dealt(self, rater: str) -> list[dict[str, str]]:
        """Return an empty table for a person: no two people of a questionnaire rate in the same order.

        Whoever began and gave no score may have gone for good: such an order is dealt again, but last.
        """
        begun: dict[str, list[tuple[str, ...]]] = {id: [] for id in self._questionnaires}
        rated: dict[str, list[tuple[str, ...]]] = {id: [] for id in self._questionnaires}
        for rows in self.answers.read_all().values():
            if rows and rows[0]["questionnaire"] in begun:
                order = tuple(row["clip"] for row in rows)
                begun[rows[0]["questionnaire"]].append(order)
                if any(row["score"] for row in rows):
                    rated[rows[0]["questionnaire"]].append(order)
        free = [
            (len(rated[id]), begun[id].count(order), id, order)
            for id, one in self._questionnaires.items()
            for order in (tuple(map(str, given)) for given in one["orders"])
            if order not in rated[id]
        ]
        if not free:
            return []
        _, _, id, order = min(free, key=lambda one: (one[0] + one[1], one[1], one[2]))
        return [{"questionnaire": id, "rater": rater, "clip": clip, "score": ""} for clip in order]
