"""The images of a search, made again from its rows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping

from roadworthy.cases import Dataset, Scalar
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame
from roadworthy.seeding import rng_for
from roadworthy.transforms import parse_transform

__all__ = ["Replay"]

Row = Mapping[str, Scalar]

_REMEMBERED = 64  # images that others are made from


class Replay:
    """Makes the images of a search again, to the byte, and says what was done to each.

    Args:
        rows: The stored rows of the search.
        data: The originals that it was given.

    Raises:
        InputError: The rows are not those of a search.

    Example:
        >>> rows = [{"case": "try 000003", "param.place": 0, "param.parent": "", "param.seed": 7,
        ...          "param.transform": "brightness(bias=20)"}]
        >>> Replay(rows, []).changes("try 000003")
        'brightness(bias=20)'
    """

    def __init__(self, rows: Iterable[Row], data: Dataset) -> None:
        self.data = data
        self.rows = {str(row["case"]): row for row in rows if row.get("param.transform")}
        self._known: OrderedDict[str, Frame] = OrderedDict()
        for case, row in self.rows.items():
            if row.get("param.parent") and str(row["param.parent"]) not in self.rows:
                raise InputError(f"{case} was made from {row['param.parent']}, of which there is no row")

    def changes(self, case: str) -> str:
        """Return everything that was done to the original, in words."""
        return " + ".join(str(row["param.transform"]) for row in self._line(case))

    def original(self, case: str) -> Frame:
        """Return the original of an image."""
        return self.data[int(self.rows[case]["param.place"])]  # type: ignore[arg-type]

    def frame(self, case: str) -> Frame:
        """Return the changed image of a case."""
        row = self.rows[case]
        parent = str(row["param.parent"] or "")
        before = self._remembered(parent) if parent else self.original(case)
        number = int(case.rpartition(" ")[2])
        rng = rng_for(int(row["param.seed"]), "try", number)  # type: ignore[arg-type]
        changed = parse_transform(str(row["param.transform"]))(before, rng, measure=False)
        return changed.replace(id=f"{before.id.partition('~')[0]}~{number}")

    def frames(self) -> Iterator[Frame]:
        """Yield all that could be made, in the order in which they were tried."""
        for case in self.rows:
            try:
                frame = self.frame(case)
            except NotApplicable:
                continue
            yield frame

    def _remembered(self, case: str) -> Frame:
        if case not in self._known:
            self._known[case] = self.frame(case)
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        self._known.move_to_end(case)
        return self._known[case]

    def _line(self, case: str) -> list[Row]:
        """Return the rows of an image and of all that it was made from, the first first."""
        line: list[Row] = []
        while case:
            line.append(self.rows[case])
            case = str(self.rows[case]["param.parent"] or "")
        return line[::-1]
