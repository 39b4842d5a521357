"""Draw the picture of the page on human thresholds, from simulated people. Run it with ``make docs``."""

from __future__ import annotations

from pathlib import Path

from roadworthy.papers.reliability_figures import draw_thresholds
from roadworthy.reliability.human import SimulatedHumans, estimate_threshold
from roadworthy.report.plots import save

PICTURE = Path(__file__).parent / "pictures" / "human-thresholds.png"

PEOPLE = {
    "a sudden drop at 0.6": SimulatedHumans(0.6, steepness=float("inf"), at_most=0.7),
    "an even drop from 0.6": SimulatedHumans(0.6),
    "a slow one from 0.3": SimulatedHumans(0.3, steepness=2),
    "hard images, a small drop": SimulatedHumans(0.3, at_most=0.9, alike=0.3),
}
"""What is known about them, as the titles say it, and the people."""


def main() -> None:
    """Write the picture."""
    found = [estimate_threshold(people.answer(seed=1)) for people in PEOPLE.values()]
    save(draw_thresholds(found, list(PEOPLE)), PICTURE)


if __name__ == "__main__":
    main()
