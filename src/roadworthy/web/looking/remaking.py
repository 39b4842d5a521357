"""Images of searches and sectors of drives as entries of a suite, which tries them alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roadworthy.coverage.search.remade import Remade, Step
from roadworthy.errors import InputError
from roadworthy.runs.store import Row, StoredRun
from roadworthy.runs.suites.forms import CoverageForm, DrivingForm

__all__ = ["image_entry", "sector_entry"]

_KEPT = {"coverage", "output", "counting", "severity"}
"""What a search says that matters for one of its images: its budget and guidance are spent."""


def image_entry(entry: CoverageForm, run: StoredRun, case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry that makes one image of a search again and judges it by the same bound.

    Args:
        entry: What the search was asked for.
        run: The run of the search.
        case: The case, as the wall shows it.

    Raises:
        InputError: It is an original, or an image that it was made from has no row.
    """
    line = [_row(run, case, str(case["case"]))]
    if not line[0].get("param.transform"):
        raise InputError("This case cannot be copied as a test: it is an original, which sets the bound.")
    seen = {str(case["case"])}
    while parent := line[0].get("param.parent"):
        if str(parent) in seen:
            raise InputError(f"This case cannot be copied as a test: {parent} seems to be made from itself.")
        seen.add(str(parent))
        line.insert(0, _row(run, case, str(parent)))
    last = line[-1]
    try:
        image = Remade(
            str(last["param.frame"]),
            int(str(last["param.seed"])),
            float(str(last["param.bound"])),
            tuple(
                Step(int(str(row["case"]).rpartition(" ")[2]), str(row["param.transform"])) for row in line
            ),
        )
    except (KeyError, ValueError) as error:
        raise InputError(
            "This case cannot be copied as a test: its row does not say how the image was made."
        ) from error
    return {**entry.model_dump(include=_KEPT, exclude_defaults=True), "only": [image.as_data()]}


def sector_entry(entry: DrivingForm, case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry that lets a model drive once more and judges one sector.

    Example:
        >>> entry = DrivingForm(driving={"SD(LP)": 0.2}, simulator=["world:town", "world:meadow"])
        >>> sector_entry(entry, {"parameters": {"simulator": "world:town", "sector": "town-02"}})
        {'driving': {'SD(LP)': 0.2}, 'simulator': 'world:town', 'sectors': 'town-02'}
    """
    told = entry.model_dump(
        exclude={"simulator", "sectors", "tags", "accept", "models", "data", "text"}, exclude_defaults=True
    )
    where = case["parameters"]
    return {**told, "simulator": str(where["simulator"]), "sectors": str(where["sector"])}


def _row(run: StoredRun, case: Mapping[str, Any], id: str) -> Row:
    rows = run.query(
        'SELECT * FROM cases WHERE requirement = $1 AND system = $2 AND "case" = $3 LIMIT 1',
        [case["requirement"], case["system"], id],
    )
    if not rows:
        raise InputError(
            f"This case cannot be copied as a test: it was made from {id}, of which there is no row."
        )
    return rows[0]
