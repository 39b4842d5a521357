"""What the commands that run rules share: running them, counting what was found, and the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy.cli._answer import RESULT_FILE
from roadworthy.cli._campaigns import hashed, try_all, write_as_suite
from roadworthy.cli._console import make_new_folder
from roadworthy.cli.rules._inputs import predicted_outputs
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cases import Dataset, Requirement, Scalar
    from roadworthy.models import SystemUnderTest
    from roadworthy.rules.generation import Plan
    from roadworthy.rules.tables import Spent, Tally
    from roadworthy.runs import ImageRetention, SeveralResults
    from roadworthy.runs.store import Tested
    from roadworthy.transforms import UserEngine


_BUILT_IN = "what is built in"


@dataclass
class Campaign:
    """Rules tried on models, and what came of it.

    Attributes:
        plans: How the rules are tried, by their ids.
        systems: The models.
        data: The frames.
        out: Where everything is written.
        seed: The same seed makes the same images.
        allow: The share of frames that may violate a rule.
        thresholds: At which of them rules are judged as well.
        settings: What else the rows depend on, as manifest.json has it.
        engines: The image engines of the user.
        unable: Which models do not predict what a rule speaks of, with what that is.
        tallies: What became of the frames, by rule and model.
        seconds: How long everything took.
        command: The command that does it.
        tested: What is tested, once it is run.
        noticed: What looks wrong with the models, in what the rules speak of, likewise.
    """

    plans: Mapping[str, Plan]
    systems: Sequence[SystemUnderTest]
    data: Dataset
    out: Path
    seed: int = 0
    allow: float = 0.0
    thresholds: Sequence[float] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    engines: Sequence[UserEngine] = ()
    unable: dict[tuple[str, str], str] = field(default_factory=dict)
    tallies: dict[tuple[str, str], Tally] = field(default_factory=dict)
    seconds: float = 0.0
    command: str = "rules run"
    tested: Tested = field(init=False)
    noticed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        from roadworthy.models.recorded import SEES_NO_CHANGE, Truth

        first = self.data[0]
        for id, plan in self.plans.items():
            if reason := plan.misfit(first):
                raise InputError(f"{id} on {self.data.name}: {reason}")
        for system in self.systems:
            if isinstance(system, Truth):
                raise InputError(SEES_NO_CHANGE)
            known = predicted_outputs(system, first)
            for id, plan in self.plans.items():
                missing = [] if known is None else [one for one in plan.outputs if one not in known]
                if missing:
                    self.unable[id, system.name] = " and ".join(missing)
        if len(self.unable) == len(self.plans) * len(self.systems):
            lacking = " or ".join(sorted(set(self.unable.values())))
            names = ", ".join(one.name for one in self.systems)
            raise InputError(f"no model here predicts {lacking}, which the rules speak of: got {names}")

    @property
    def models(self) -> list[str]:
        """The names of the models."""
        return [one.name for one in self.systems]

    @property
    def images(self) -> int:
        """How many images are made at most."""
        return len(self.data) * len({one for plan in self.plans.values() for one in plan.scenarios})

    def requirement(self, id: str) -> Requirement:
        """Return a rule as a requirement."""
        from roadworthy.cases import Acceptance, Requirement

        return Requirement(id, self.plans[id].rule.text, "rules", acceptance=Acceptance(self.allow))

    def run(self, *, images: ImageRetention, passes: int, processes: int) -> SeveralResults:
        """Try all rules on all models that predict what they speak of."""
        from roadworthy.rules.method import RulesMethod
        from roadworthy.rules.tables import read_tally
        from roadworthy.runs import read_rows
        from roadworthy.runs.model_notes import note_models
        from roadworthy.runs.store import add_notes

        make_new_folder(self.out)
        self.tested = hashed(
            self.command,
            self.systems,
            self.data,
            seed=self.seed,
            settings=self.settings,
            engines=self.engines,
        )
        found, self.seconds = try_all(
            "Trying rules",
            RulesMethod(self.plans),
            [self.requirement(id) for id in self.plans],
            self.data,
            self.systems,
            cases=len(self.data) * len(self.plans),
            out=self.out,
            manifest=self.tested,
            images=images,
            passes=min(1.0, passes / len(self.data)),
            processes=processes,
            tested=lambda rule, system: (rule.id, system.name) not in self.unable,
        )
        signals = {output for plan in self.plans.values() for output in plan.outputs}
        self.noticed = note_models(self.out, self.systems, self.data, signals)
        add_notes(self.out, run=[*self._left_out(), *self._engine_notes()])
        for (rule, model), result in found.results.items():
            assert result.folder is not None
            rows = read_rows(result.folder)
            self.tallies[rule, model] = read_tally(self.plans[rule], rows, self.thresholds)
        return found

    def write_suite(
        self, references: Sequence[str], data: Mapping[str, object], engines: Path | None
    ) -> None:
        """Write what was run as a suite into the folder.

        Args:
            references: How the models were opened.
            data: How the data was opened.
            engines: The file of image engines.
        """
        told = {name: self.settings[name] for name in ("same", "gallery", "traffic", "engines")}
        write_as_suite(
            self.command,
            self.out,
            self.tested,
            models=dict(zip(self.models, references, strict=True)),
            data=data,
            requirements={
                id: {"rule": plan.rule.text, **told, "accept": self.allow or None}
                for id, plan in self.plans.items()
            },
            files=[engines],
        )

    def spent(self, found: SeveralResults) -> tuple[dict[str, Spent], float]:
        """Return the seconds for each rule, and those for the original frames."""
        from roadworthy.rules.tables import Spent

        spent = {
            rule: Spent(sum(cost.making[1:]), sum(cost.evaluating.values()) / max(1, len(cost.evaluating)))
            for rule, cost in found.costs.items()
        }
        return spent, max((cost.making[0] for cost in found.costs.values() if cost.making), default=0.0)

    def worst(self, folder: Path, count: int) -> list[dict[str, Scalar]]:
        """Return the stored rows with the smallest margins among the violations."""
        from roadworthy.runs import read_rows

        violations = (row for row in read_rows(folder) if row["status"] == "violated")
        return nsmallest(count, violations, key=lambda row: float(str(row["margin"])))

    def notes(self, found: SeveralResults) -> list[str]:
        """Return what a reader should know before relying on the tables, a sentence each."""
        return [
            *self._left_out(),
            *(f"{id}: {note}" for id, plan in self.plans.items() for note in plan.rule.notes),
            *self._engine_notes(),
            *self.noticed,
            *(
                f"{rule} on {model}: {note}"
                for (rule, model), one in found.results.items()
                for note in one.outcome.notes
                if note not in self.plans[rule].rule.notes
            ),
        ]

    def _left_out(self) -> list[str]:
        """Return which models are not tested by which rules."""
        left_out: dict[tuple[str, str], list[str]] = {}
        for (rule, model), missing in self.unable.items():
            left_out.setdefault((model, missing), []).append(rule)
        return [
            f"{model} does not predict {missing}, so it is not tested by {', '.join(rules)}."
            for (model, missing), rules in left_out.items()
        ]

    def _engine_notes(self) -> list[str]:
        """Return which engines made the images, what their cards warn of, and which are for other frames."""
        from roadworthy.transforms.learned import LearnedEngine

        first = self.data[0]
        used = dict.fromkeys(one for plan in self.plans.values() for one in plan.engines)
        return [
            *self._made_by(),
            *(
                f"{one.name}: {note}"
                for one in used
                if isinstance(one, LearnedEngine)
                for note in one.card.notes
            ),
            *(
                f"{one.name} was not made for frames such as those of {self.data.name}: look at what it "
                "makes of them."
                for one in used
                if not one.is_for(first)
            ),
        ]

    def _made_by(self) -> list[str]:
        """Return who made the images of which rules, where engines of the user might have; one sentence."""
        from roadworthy.transforms.engines import EngineTransform

        if not self.engines or self.command == "rules compare":  # its columns say who made what
            return []
        rules: dict[str, list[str]] = {}
        for id, plan in self.plans.items():
            steps = (step for scenario in plan.scenarios for step in scenario.steps)
            built_in = any(not isinstance(step, EngineTransform) for step in steps)
            makers = [one.name for one in plan.engines] + [_BUILT_IN] * built_in
            rules.setdefault(" and ".join(makers), []).append(id)
        rest = rules.pop(_BUILT_IN, [])
        told = [f"{makers} made the images of {', '.join(ids)}" for makers, ids in rules.items()]
        if rest:
            told.append(f"no engine of --engines does {', '.join(rest)}: {_BUILT_IN} made these images")
        return [f"{'; '.join(told)}."]

    def document(self, found: SeveralResults) -> dict[str, object]:
        """Return everything for scripts."""
        return {
            "data": self.data.name,
            "frames": len(self.data),
            "seed": self.seed,
            "allow": self.allow,
            "models": self.models,
            "rules": {
                id: {
                    "text": plan.rule.text,
                    "reading": str(plan.rule),
                    "notes": list(plan.rule.notes),
                    "changes": [str(one) for one in plan.scenarios],
                    "outputs": [one.output for one in plan.expectations],
                    "formulas": [one.formula for one in plan.expectations],
                }
                for id, plan in self.plans.items()
            },
            "results": [self._result(pair, found) for pair in found.results],
            "seconds": round(self.seconds, 3),
            "notes": self.notes(found),
        }

    def _result(self, pair: tuple[str, str], found: SeveralResults) -> dict[str, object]:
        from roadworthy.cases import Status

        result, tally = found.results[pair], self.tallies[pair]
        assert result.folder is not None
        return {
            "rule": pair[0],
            "model": pair[1],
            "status": str(result.outcome.status),
            "summary": result.outcome.summary,
            "violations": tally.violations,
            "judged": tally.judged,
            "ratio": tally.violations / tally.judged if tally.judged else None,
            "errors": tally.counts[Status.ERROR],
            "not_applicable": tally.counts[Status.NOT_APPLICABLE],
            "reasons": {reason: count for (_, reason), count in tally.reasons.items()},
            "thresholds": {
                f"{one:g}": {"violations": violations, "judged": judged}
                for one, (violations, judged) in tally.thresholds.items()
            },
            "worst_margin": result.outcome.measures.get("worst_margin"),
            "folder": str(result.folder.relative_to(self.out)),
        }


def exit_code(found: SeveralResults) -> int:
    """Return 1 if a rule is violated, 0 if none is.

    Raises:
        InputError: Nothing was tried, because no frame qualifies.
    """
    from roadworthy.cases import OutcomeStatus, Status

    counts = [one.counts for one in found.results.values()]
    if all(one[Status.NOT_APPLICABLE] == sum(one.values()) for one in counts):
        raise InputError(
            "no frame qualifies, so no rule was tried: use other data; the reasons are in tables.md and "
            f"{RESULT_FILE} of the run"
        )
    violated = any(one.outcome.status is OutcomeStatus.VIOLATED for one in found.results.values())
    return 1 if violated else 0


def write_report(folder: Path) -> Path:
    """Write the report of what was run into a folder, and return where it is."""
    from roadworthy.report.html import write_report as write_page
    from roadworthy.runs.store import StoredRun

    path = folder / "report.html"
    write_page(StoredRun.open(folder), path)
    return path
