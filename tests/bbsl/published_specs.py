"""Specifications that were published: as they were printed, and the paper's listings mended."""

from pathlib import Path

from roadworthy.bbsl import load, parse
from roadworthy.bbsl.specification import Spec

HERE = Path(__file__).parent
LETS = (
    " let vehicle: bb = vehicle(), directionAreaDistance: interval = directionAreaDistance(), "
    "stoppingDistance: interval = stoppingDistance() in "
)


def published(number: int) -> Spec:
    """One of the twelve OEDR specifications, mistakes and all."""
    return load(next((HERE / "published").glob(f"{number:02d}_*.bbsl")))


def mended(number: int) -> Spec:
    """A listing of the paper with the mistakes mended that the type checker shows."""
    text = (HERE / "listings" / f"listing{number}.bbsl").read_text(encoding="utf-8")
    head, *cases = text.replace("lVehicle()", "Vehicle()").split("\ncase ")
    if number > 2:
        # Every case gets all the lets: Listings 3 and 4 leave some out.
        cases = [case.split("let")[0] + LETS + case.split(" in\n")[1] for case in cases]
    return parse("\ncase ".join([head, *cases]))
