"""What the commands that test models share: the requirements that fit each model, running them, and plots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy._files import file_name
from roadworthy.cli._campaigns import hashed, try_all, write_as_suite
from roadworthy.cli._console import make_folder, make_new_folder
from roadworthy.errors import InputError, SystemUnderTestError

if TYPE_CHECKING:
    from roadworthy.cases import Dataset, Requirement
    from roadworthy.models import SystemUnderTest
    from roadworthy.reliability import Measure, Preservation
    from roadworthy.runs import ImageRetention, SeveralResults
    from roadworthy.runs.store import Tested


def measures_of(system: SystemUnderTest, data: Dataset, texts: Sequence[str]) -> list[Measure]:
    """Return the measures that fit a model as it was opened, of those that are given, or the usual ones.

    Raises:
        InputError: It does not answer the first frame, or none of the measures fits what it answers.
    """
    from roadworthy.reliability.requirements import fitting_measures
    from roadworthy.runs.batches import ask

    (answer,) = ask(system, [data[0]], batch_size=1)
    if isinstance(answer, SystemUnderTestError):
        raise InputError(f"no measure can be chosen, because the model fails on the first frame: {answer}")
    return fitting_measures(system, answer, texts)


@dataclass
class Campaign:
    """Requirements of reliability tried on models, and what came of it.

    Attributes:
        systems: The models, as they were opened.
        data: The frames.
        asked: What is required of each model, by its name.
        out: Where everything is written.
        seed: The same seed makes the same images.
        settings: What else the rows depend on, as manifest.json has it.
        command: The command that does it.
        seconds: How long everything took.
        requirements: What is required of any of them, by ids.
        tested: What is tested, once it is run.
        noticed: What looks wrong with the models, likewise.
    """

    systems: Sequence[SystemUnderTest]
    data: Dataset
    asked: Mapping[str, Sequence[Preservation]]
    out: Path
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    command: str = "reliability check"
    seconds: float = 0.0
    requirements: dict[str, Preservation] = field(default_factory=dict)
    tested: Tested = field(init=False)
    noticed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for every in self.asked.values():
            for one in every:
                # Two models may be measured otherwise under the same change.
                if self.requirements.setdefault(one.id, one) != one:
                    self.requirements[f"{one.id} {one.measure.word}"] = one

    @property
    def models(self) -> list[str]:
        """The names of the models."""
        return [one.name for one in self.systems]

    def run(self, *, images: ImageRetention, processes: int) -> SeveralResults:
        """Try all requirements on the models that they are asked of."""
        from roadworthy.models.scorers import with_all_boxes
        from roadworthy.reliability import ReliabilityMethod
        from roadworthy.runs.model_notes import note_models

        make_new_folder(self.out)
        self.tested = hashed(self.command, self.systems, self.data, seed=self.seed, settings=self.settings)
        found, self.seconds = try_all(
            "Checking",
            ReliabilityMethod(),
            [one.requirement(id) for id, one in self.requirements.items()],
            self.data,
            # A detector is measured by all its boxes, also those that it is unsure of.
            [with_all_boxes(one) for one in self.systems],
            cases=sum(len(self.data) * one.versions for one in self.requirements.values()),
            out=self.out,
            manifest=self.tested,
            images=images,
            processes=processes,
            tested=self._tested,
        )
        self.noticed = note_models(self.out, self.systems, self.data)
        return found

    def write_suite(self, references: Sequence[str], data: Mapping[str, Any]) -> None:
        """Write what was run as a suite into the folder.

        Args:
            references: How the models were opened.
            data: How the data was opened.
        """
        told = {name: self.settings[name] for name in ("study", "limit", "versions", "batches", "batch")}
        study = Path(str(self.settings["study"]))
        write_as_suite(
            self.command,
            self.out,
            self.tested,
            models=dict(zip(self.models, references, strict=True)),
            data=data,
            requirements={
                id: {
                    "reliability": one.transformation.name,
                    "preserve": one.preserve,
                    "measure": str(one.measure),
                    "sampling": one.sampling,
                    **told,
                    "models": [model for model in self.models if one in self.asked[model]],
                }
                for id, one in self.requirements.items()
            },
            files=[study],
        )

    def _tested(self, requirement: Requirement, system: SystemUnderTest) -> bool:
        return self.requirements[requirement.id] in self.asked[system.name]

    def rows(self, found: SeveralResults) -> Iterator[tuple[Preservation, str, dict[str, Any]]]:
        """Yield every requirement with the model it was tried on and what came of it, for scripts."""
        for (id, model), result in found.results.items():
            one = self.requirements[id]
            assert result.folder is not None
            yield (
                one,
                model,
                {
                    "model": model,
                    "transformation": one.transformation.name,
                    "preserve": one.preserve,
                    "measure": one.measure.name,
                    "limit": one.limit,
                    "source": one.source,
                    "status": str(result.outcome.status),
                    "summary": result.outcome.summary,
                    **result.outcome.measures,
                    "counts": {str(status): count for status, count in result.counts.items()},
                    "folder": str(result.folder.relative_to(self.out)),
                },
            )

    def write_plots(self, found: SeveralResults) -> list[str]:
        """Draw what became of each measure over the visual change; return the files, below the folder."""
        import numpy as np

        from roadworthy.report.plots import Held, held_figure, save
        from roadworthy.runs import read_rows

        panels: dict[tuple[str, str], dict[str, list[Held]]] = {}
        limits: dict[tuple[str, str], dict[str, float]] = {}
        # Levels that stand beside another sampling are a benchmark, not a second curve of the same.
        levels = {id for id, one in self.requirements.items() if one.sampling == "levels"}
        benchmarks = levels if len(levels) < len(self.requirements) else set()
        for (id, model), result in found.results.items():
            one, column = self.requirements[id], "measure.after"
            if one.preserve == "prediction":
                column = "measure.similarity"
            if "required" not in result.outcome.measures or result.folder is None or id in benchmarks:
                continue
            rows = [row for row in read_rows(result.folder) if row.get(column) is not None]
            changes, values = (
                np.array([float(str(row[name])) for row in rows]) for name in ("visual_change", column)
            )
            key = one.preserve, one.measure.name
            required = float(str(result.outcome.measures["required"]))
            panels.setdefault(key, {}).setdefault(one.transformation.name, []).append(
                Held(model, changes, values, required)
            )
            limits.setdefault(key, {})[one.transformation.name] = one.limit
        written = []
        for (preserve, measure), drawn in panels.items():
            path = self.out / "plots" / f"{file_name(f'{preserve} {measure}')}.png"
            make_folder(path.parent)
            what = measure if preserve == "correctness" else "answers like those to the original"
            save(held_figure(drawn, limits[preserve, measure], what), path)
            written.append(str(path.relative_to(self.out)))
        return written
