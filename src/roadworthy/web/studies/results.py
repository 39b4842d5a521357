"""What people think, as the page shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from roadworthy.driving.rating.answers import read_ratings
from roadworthy.driving.rating.files import ANSWERS, read_study
from roadworthy.driving.rating.results import StudyResult as ClipResult
from roadworthy.driving.rating.results import evaluate_study as evaluate_clips
from roadworthy.rules.study import StudyResult
from roadworthy.web.studies.box_plots import Ratings, box_plot


@dataclass(frozen=True)
class PairResults:
    """What came out of a blind study.

    Attributes:
        authenticity: The box plot of how real changed images look.
        reasonability: The box plot of how reasonable answers are.
        agreement: For each group, its number and alpha of both questions.
        means: The means of alpha over the groups.
        raters: How many people answered.
        missing: How many answers are missing.
    """

    authenticity: Markup
    reasonability: Markup
    agreement: tuple[tuple[int, float | None, float | None], ...]
    means: tuple[float | None, float | None]
    raters: int
    missing: int


def pair_results(found: StudyResult) -> PairResults:
    """Return the results of a blind study as the page shows them."""
    real = [Ratings(rule, scores) for rule, scores in found.authenticity.items()]
    reasonable = [
        Ratings(f"{rule}, {'violates' if violated else 'holds'}", scores, "bad" if violated else "good")
        for (rule, violated), scores in found.reasonability.items()
    ]
    first, second = found.agreement["authenticity"], found.agreement["reasonability"]
    return PairResults(
        box_plot(real, "How real the changed images look, by rule"),
        box_plot(reasonable, "How reasonable the answers are, by rule and verdict"),
        tuple((number, first[number], second[number]) for number in sorted(first)),
        (found.mean_agreement("authenticity"), found.mean_agreement("reasonability")),
        found.raters,
        found.missing,
    )


def clip_results(folder: Path, files: Sequence[Path]) -> ClipResult:
    """Return what people think of clips: from the files of the page, and the table filled in by hand.

    Raises:
        InputError: The answers cannot be used.
    """
    study = read_study(folder)
    by_hand = folder / ANSWERS
    return evaluate_clips(study, read_ratings(study, [*files, *([by_hand] if by_hand.is_file() else [])]))
