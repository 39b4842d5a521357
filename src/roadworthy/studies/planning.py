"""Studies planned from what there is: an experiment from a data set, ratings from recorded drives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

from roadworthy._files import rendered
from roadworthy.cases import Dataset
from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.readers import drives_in
from roadworthy.reliability.human.answers import MOST_TOO_FEW
from roadworthy.reliability.transformations import Transformation
from roadworthy.report.driving import Film, film_of
from roadworthy.result_tables import ResultTable
from roadworthy.studies.clips import Clip, ClipDesign, ClipPlan, Kind, clips_of, plan_clips, write_clips
from roadworthy.studies.glances import GlanceDesign, GlancePlan, spare_needed, write_glances
from roadworthy.studies.stimuli import Stimuli, Stimulus, even_change, says_whether


@dataclass(frozen=True)
class GlanceExperiment:
    """What is asked in an experiment: whether a target is seen in images that transformations change.

    Attributes:
        target: What people look for.
        transformations: What changes the images.
        pairs: How many pairs of original and changed image for each.
        design: How the experiment is run.
        seed: The same seed makes the same images and batches.
    """

    target: str
    transformations: Sequence[Transformation]
    pairs: int
    design: GlanceDesign
    seed: int = 0

    @property
    def pictures(self) -> int:
        """How many pairs there are in all."""
        return max(self.pairs, 1) * len(self.transformations)

    @property
    def frames_needed(self) -> int:
        """How many frames are enough."""
        return self.pictures + spare_needed(self.pictures, self.design)

    def write(self, data: Dataset, folder: Path, made: Callable[[int], object] = int) -> WrittenGlances:
        """Make the images and write the files of the experiment, all of them or none.

        Args:
            data: Where frames come from.
            folder: Where; must be new or empty.
            made: Is told how many images are made, of twice as many as there are pairs at most.

        Raises:
            InputError: The folder is in use, or there are too few frames with an answer.
        """
        spare = spare_needed(min(self.pictures, len(data)), self.design)
        changes = [(one.name, even_change(one)) for one in self.transformations]
        stimuli = Stimuli(data, changes, says_whether(self.target), self.pairs, spare, self.seed)
        skipped: Counter[str] = Counter()

        def shown() -> Iterable[Stimulus]:
            for number, one in enumerate(stimuli.shown(lambda reason: skipped.update([reason])), 1):
                made(number)
                yield one

        plan = write_glances(shown(), stimuli.spare_ones(), folder, self.design, seed=self.seed)
        return WrittenGlances(plan, folder, data.name, self.pairs, dict(skipped.most_common()))


@dataclass(frozen=True)
class WrittenGlances:
    """An experiment that is written.

    Attributes:
        plan: Who sees what.
        folder: Where it lies.
        data: The name of the data that its images are of.
        pairs: How many pairs each transformation was to have.
        skipped: Why images were not made, and how many, the most first.
    """

    plan: GlancePlan
    folder: Path
    data: str
    pairs: int
    skipped: Mapping[str, int]

    def document(self) -> dict[str, Any]:
        """Return everything for scripts."""
        plan, raters = self.plan, self.plan.design.raters
        truths = Counter(item.truth for item in plan.items.values())
        return {
            "folder": str(self.folder),
            "data": self.data,
            "choices": {one: truths[one] for one in plan.design.choices},
            "images": len(plan.items),
            "tracks": plan.tracks,
            "batches": len(plan.batches),
            "raters_per_batch": raters,
            "fewest_people": raters * plan.tracks,
            "answers": len(plan.items) * raters,
            "checks": len(plan.checks),
            "skipped": dict(self.skipped),
            "seed": plan.seed,
        }

    def lines(self) -> list[str]:
        """Return what people read."""
        template, answers = Path(__file__).with_name("glances.jinja"), self.pairs * self.plan.design.raters
        told = rendered(template, facts=self.document(), answers=answers, fewest=MOST_TOO_FEW)
        return told.splitlines()


@dataclass(frozen=True)
class RatingStudy:
    """A study of drives: which clips are rated, and the drives that they are of.

    Attributes:
        plan: Who sees which clip.
        counts: How many clips of each kind there were to choose from.
        drives: The drives by the source of their clips, each with where it lies.
    """

    plan: ClipPlan
    counts: Mapping[Kind, int]
    drives: Mapping[str, tuple[Path, Drive]]

    @classmethod
    def of(
        cls,
        good: Sequence[Path],
        poor: Sequence[Path] = (),
        *,
        attention: Sequence[Path] = (),
        by: str | None = None,
        design: ClipDesign | None = None,
        seed: int = 0,
        **how: Any,
    ) -> RatingStudy:
        """Plan a study of recorded drives.

        Args:
            good: Drives of the model that drives well: folders of drives, or such that hold several.
            poor: Drives of models that drive poorly; may be empty where a metric tells.
            attention: Drives that crash, to see who looks; all others if left out.
            by: The metric that tells good clips from poor ones; who drove does where it is left out.
            design: How the study is run.
            seed: Chooses clips and their order.
            how: How long clips are, and settings of the metrics; see `rated_clips`.

        Raises:
            InputError: There are no drives in a folder, or too few clips.
        """
        drives: dict[Kind, list[tuple[Path, Drive]]]
        drives = {"good": list(drives_in(good)), "poor": list(drives_in(poor))}
        drives["attention"] = list(drives_in(attention)) or [*drives["poor"], *drives["good"]]
        clips = clips_of(drives, by=by, **how)
        rule = f"{by}: the best and the worst third" if by else "who drove"
        plan = plan_clips(clips, design or ClipDesign(), rule=rule, seed=seed)
        counts: dict[Kind, int] = {kind: sum(one.kind == kind for one in clips) for kind in drives}
        known = {str(place): (place, drive) for some in drives.values() for place, drive in some}
        return cls(plan, counts, known)

    def write(
        self, folder: Path, *, ending: str = ".webm", width: int = 480, filmed: Callable[[int], object] = int
    ) -> None:
        """Write the files of the study, with films of what the camera saw and nothing else.

        Args:
            folder: Where; must be new or empty.
            ending: What films end in.
            width: Of the films, in pixels.
            filmed: Is told after each clip how many are filmed.
        """
        done = count(1)

        @lru_cache(maxsize=1)
        def seen(source: str) -> Film:
            place, drive = self.drives[source]
            return film_of(drive, place if place.is_dir() else place.parent)

        def film(clip: Clip, path: Path) -> None:
            seen(clip.source).write_plain(path, clip.first, clip.last, width=width)
            filmed(next(done))

        write_clips(self.plan, folder, film, ending=ending)

    def document(self) -> dict[str, Any]:
        """Return everything for scripts."""
        return {
            "clips_found": dict(self.counts),
            "clips_shown": len(self.plan.clips),
            "rule": self.plan.rule,
            "questionnaires": [
                {"id": one.id, "track": one.track or None, "clips": list(one.clips)}
                for one in self.plan.questionnaires
            ],
            "raters": self.plan.design.raters,
            "reference": self.plan.reference,
        }

    def table(self) -> ResultTable:
        """Return the questionnaires."""
        rows = [
            (one.id, one.track or "mixed", str(len(one.clips)), str(len(one.orders)))
            for one in self.plan.questionnaires
        ]
        return ResultTable("", ("questionnaire", "track", "clips", "raters"), tuple(rows))
