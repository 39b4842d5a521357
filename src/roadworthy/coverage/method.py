"""The method of coverage: changed images that a search finds must be answered as well as the originals."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from roadworthy.cases import (
    AWAIT_VERDICTS,
    TAKE_BACK,
    Acceptance,
    Answers,
    BaseMethod,
    Case,
    CaseStream,
    Dataset,
    Decision,
    Feedback,
    Outcome,
    OutcomeStatus,
    Predict,
    Requirement,
    Scalar,
    Status,
    Verdict,
    conclude_rate,
)
from roadworthy.coverage.activations import Activations
from roadworthy.coverage.criteria.named import Training, parse_mixture
from roadworthy.coverage.observed import Observed
from roadworthy.coverage.search import trials
from roadworthy.coverage.search.findings import OriginalFrames
from roadworthy.coverage.search.settings import SearchSettings
from roadworthy.coverage.search.strategies import Sampled
from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.frames import SignalUnits
from roadworthy.seeding import rng_for
from roadworthy.statistics import FEWEST_CLUSTERS, mean_bounds

ORIGINAL = "an original: its error sets the bound, and its neurons count as covered"
"""Why originals have no verdict."""

_AHEAD = 32  # trials that are looked at together, at most


class CoverageMethod(BaseMethod):
    """Searches for changed images that raise coverage, and judges each by DeepTest's Equation 2.

    First the network answers the original frames: their errors give the bound λ · MSE, and what their neurons
    do counts as covered. Then a search tries changed images until its budget is spent. All squared errors and
    margins are in the data set's own unit.

    A requirement has the parameters of :class:`~roadworthy.coverage.search.settings.SearchSettings`. The
    system under test must be observed (:class:`~roadworthy.coverage.Observed`). A row holds the number of the
    original (``place``) and its id (``frame``), the try that made what was changed (``parent``, empty for an
    original) and the ``transform``; with them :class:`~roadworthy.coverage.search.trials.Replay` makes the
    image again. Its measures are label, prediction and error, the gain in coverage and coverage after it, and
    a fingerprint of the network's last hidden layer, by which failures are clustered.

    Args:
        clock: Tells seconds.

    Example:
        >>> from roadworthy.coverage import Observed
        >>> from roadworthy.datasets import load
        >>> from roadworthy.models import load_model
        >>> from roadworthy.runs import run
        >>> text = "Steering stays right under the changes that a search tries"
        >>> requirement = Requirement("C1", text, "coverage", {"lambda": 5, "tries": 20})
        >>> data, system = load("world:town", count=4), Observed(load_model("dave2"))
        >>> result = run(CoverageMethod(), requirement, data, system)
        >>> sum(result.counts.values())
        24
    """

    name = "coverage"

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.training = Training()
        self.evaluated = 0
        self._clock = clock
        self._stored: Mapping[str, Any] | None = None
        self._settings = SearchSettings()
        self._search: trials.SearchStrategy | None = None
        self._open: dict[str, trials.SearchTrial] = {}
        self._tries = 0
        self._spent = 0.0
        self._started = 0.0

    def learn(self, criterion: str, system: Observed[Any], data: Dataset) -> None:
        """Learn what the neurons do on training data, as far as a criterion needs it."""

        def batches() -> Iterator[Activations]:
            frames = iter(data)
            while batch := list(islice(frames, _AHEAD)):
                yield system.observe(batch)[1]

        self.training = Training().completed(parse_mixture(criterion).needs, batches)

    def cases(self, requirement: Requirement, data: Dataset, rng: np.random.Generator) -> CaseStream:
        """Yield the originals, then what the search tries; or only images that an earlier one made.

        Raises:
            InputError: A parameter cannot be used, or the frames have no labels.
            SystemUnderTestError: No original could be answered.
        """
        settings = self._settings = SearchSettings.from_parameters(requirement.parameters)
        seed = int(rng.integers(2**62))
        units = getattr(data, "units", None) or SignalUnits()
        self.originals = OriginalFrames(settings, units, self.training)
        self._search, self._open, self._tries, self.evaluated = None, {}, 0, 0
        scale = float(getattr(units, f"encode_{settings.output}")(1.0))
        maker = trials.Maker(data, settings.space(), seed)
        common: dict[str, Scalar] = {"output": settings.output, "scale": scale, "seed": seed}
        if settings.only:
            for one in settings.only:
                source, known = one.source(data)
                yield Case(one.id, requirement.id, (Predict((source,), observed=True),), {**common, **known})
            return
        if not len(data):
            raise InputError(f"{data.name} has no frames, and a search needs some to change")
        for place in range(len(data)):
            frame = maker.frame(trials.SearchImage(place))
            facts: dict[str, Scalar] = {**common, "place": place, "frame": frame.id}
            id = self.originals.expect(place, frame)
            yield Case(id, requirement.id, (Predict((frame,), observed=True),), facts)
        yield AWAIT_VERDICTS
        common["bound"] = self.originals.conclude()
        search = self._search = settings.make(len(data), rng_for(seed, "search"))
        self._spent = 0.0
        if self._stored is not None:
            self._go_on(search, self._stored)
        self._started = self._clock()
        while self._tries < settings.tries and not self._out_of_time():
            proposed = search.propose(min(_AHEAD, settings.tries - self._tries))
            if not proposed:
                break
            for trial in proposed:
                case = self._case(trial, requirement.id, maker, common)
                self._open[case.id] = trial
                yield case
            yield AWAIT_VERDICTS

    def _case(
        self, trial: trials.SearchTrial, requirement: str, maker: trials.Maker, common: Mapping[str, Scalar]
    ) -> Case:
        parent = trial.image.made[-1].number if trial.image.made else None
        facts: dict[str, Scalar] = {
            **common,
            "place": trial.image.seed,
            "frame": self.originals.frame_id(trial.image.seed),
            "parent": "" if parent is None else trials.case_id(parent),
            "transform": str(maker.space.transform(trial.picks)),
            "depth": trial.result.picks,
        }
        if isinstance(self._search, Sampled):
            facts["weight"] = self._search.weight(trial)
        source = trials.ChangedFrame(maker, trial.result)
        return Case(trials.case_id(trial.number), requirement, (Predict((source,), observed=True),), facts)

    def judge(self, case: Case, answers: Answers) -> Verdict:
        """Judge an answer by Equation 2; originals, which set its bound, are not judged."""
        predicted = answers.predicted()
        (frame,) = predicted.frames
        output, scale = str(case.parameters["output"]), float(case.parameters["scale"])  # type: ignore[arg-type]
        (given,) = predicted.signal(output)
        label = getattr(frame.signals, output)
        if label is None:
            return Verdict.not_applicable(case, f"the changed frame has no label for {output}")
        error = (given - label) * scale
        if not math.isfinite(error):
            raise SystemUnderTestError(f"it answered frame {frame.id!r} with {given}, which is no number")
        measures: dict[str, Scalar] = {"label": label * scale, "prediction": given * scale, "error": error}
        bound = case.parameters.get("bound")
        if (weight := case.parameters.get("weight")) is not None:
            measures["weight"] = weight
        if bound is None:
            verdict = Verdict.not_applicable(case, ORIGINAL, measures)
        else:
            verdict = Verdict.from_margin(case, float(bound) - error**2, measures=measures)
        return replace(verdict, clue=predicted.internals[0])

    def feedback(self, case: Case, verdict: Verdict) -> Feedback:
        """Tell the search what a trial brought; return its gain and fingerprint for the row."""
        if self._settings.only:
            return None
        if case.id not in self._open:
            fingerprint = self.originals.tell(case, verdict)
            return TAKE_BACK if self._stored is not None else fingerprint
        assert self._search is not None
        trial = self._open.pop(case.id)
        self.evaluated += 1
        clue = verdict.clue
        if not isinstance(clue, Activations):
            return None if self._told(trial, trials.TrialResult(0.0)) else TAKE_BACK
        criterion = self.originals.criterion
        gain = criterion.gain(clue)
        fingerprint = self.originals.fingerprint(clue)
        failed = verdict.status is Status.VIOLATED
        error = float(verdict.measures["error"])  # type: ignore[arg-type]
        seen = trials.TrialResult(gain, failed, self.originals.behaviour(fingerprint, error))
        if not self._told(trial, seen):
            return TAKE_BACK
        criterion.update(clue)
        return {**fingerprint, "gain": gain, "coverage": criterion.value}

    def _told(self, trial: trials.SearchTrial, seen: trials.TrialResult) -> bool:
        assert self._search is not None
        counts = self._search.tell(trial, seen)
        self._tries += counts
        return counts

    def _out_of_time(self) -> bool:
        seconds = self._settings.seconds
        return seconds is not None and self._spent + self._clock() - self._started >= seconds

    def conclude(self, requirement: Requirement, verdicts: Iterable[Verdict]) -> Outcome:
        """Return what the search found, with coverage before and after.

        No changed image may violate Equation 2, and coverage must be what is to be reached. A search follows
        the answers, so how often it finds something says nothing about how often the model fails.
        """
        reached: list[float] = []

        def read() -> Iterator[Verdict]:
            for verdict in verdicts:
                coverage, gain = verdict.measures.get("coverage"), verdict.measures.get("gain")
                if coverage is not None and gain is not None:
                    if not reached:
                        reached.append(float(coverage) - float(gain))
                    reached[1:] = [float(coverage)]
                yield verdict

        settings = SearchSettings.from_parameters(requirement.parameters)
        if settings.search == "sampled" and not settings.only:
            outcome = _conclude_sample(requirement, read(), settings)
        else:
            outcome = conclude_rate(replace(requirement, acceptance=Acceptance()), read())
            failing = outcome.counts[Status.VIOLATED] + outcome.counts[Status.ERROR]
            tries = failing + outcome.counts[Status.PASSED]
            if tries and not settings.only:
                told = f"{failing} of {tries} tries fail" if failing else f"none of {tries} tries fails"
                # Nor are its tries worth any number of independent ones.
                names = ("max_rate", "clusters", "worst_margin")
                kept = {name: outcome.measures[name] for name in names if name in outcome.measures}
                told += "; what a search finds is no rate"
                outcome = replace(outcome, rate=None, summary=told, measures=kept)
        outcome = replace(outcome, notes=(*outcome.notes, *self._notes(settings)))
        if not reached:
            return outcome
        found: dict[str, Scalar] = {"coverage_of_originals": reached[0], "coverage": reached[-1]}
        text = f"{settings.criterion} coverage went from {reached[0]:.1%} to {reached[-1]:.1%}"
        status = outcome.status
        if settings.reach is not None:
            found["reach"] = settings.reach
            text += f", {settings.reach:.1%} must be reached"
            # Exactly what is asked for may be a little less by rounding.
            if reached[-1] < settings.reach - 1e-9:
                status = OutcomeStatus.VIOLATED
        summary, measures = f"{text}; {outcome.summary}", {**outcome.measures, **found}
        return replace(outcome, status=status, summary=summary, measures=measures)

    def _notes(self, settings: SearchSettings) -> Iterator[str]:
        """Yield what a reader should know about the search that was just made."""
        if self._search is None:
            return
        for one in self.originals.constant_layers():
            yield (
                f"Layer {one.name!r} gave one and the same number for every original: its {one.neurons} "
                "neurons cannot be covered unless a change wakes it."
            )
        if self.originals.not_counted:
            yield f"Neurons of the counted layers only; {self.originals.not_counted}."
        if unanswered := self.originals.unanswered:
            yield (
                f"{len(unanswered)} originals could not be answered and set no bound; the first: "
                f"{unanswered[0]}"
            )
        if self._tries < settings.tries:
            why = "the time was up" if self._out_of_time() else "nothing was left to try"
            yield f"It ended after {self._tries} of {settings.tries} tries: {why}."

    def state(self) -> Mapping[str, Any]:
        """Return where the search stands."""
        if self._search is None:
            return {}
        state: dict[str, Any] = {
            "settings": self._settings.fixed(),
            "tries": self._tries,
            "evaluated": self.evaluated,
            "search": self._search.state(),
            "covered": self.originals.covered(),
            "bound": self.originals.bound,
            "cells": self.originals.criterion.total,
        }
        if self._settings.seconds is not None:
            state["seconds"] = self._spent + self._clock() - self._started
        return state

    def restore(self, requirement: Requirement, state: Mapping[str, Any], /) -> None:
        """Let the next search go on from a state; its budget may have changed, nothing else.

        Raises:
            InputError: The state is of other settings; names one that differs.
        """
        wanted = SearchSettings.from_parameters(requirement.parameters).fixed()
        for name, value in state.get("settings", {}).items():
            if (asked := wanted.get(name)) != value:
                raise InputError(
                    f"the search to resume has {name} {value!r}, and {asked!r} was asked for: resume with "
                    "the same, or choose another folder"
                )
        self._stored = state if state else None

    def _go_on(self, search: trials.SearchStrategy, stored: Mapping[str, Any]) -> None:
        bound, cells = self.originals.bound, self.originals.criterion.total
        if stored["cells"] != cells or not math.isclose(stored["bound"], bound, rel_tol=1e-6):
            was = f"bound {stored['bound']:.6g} and {stored['cells']} cells"
            raise InputError(f"resume with the same network and images: {was}, now {bound:.6g} and {cells}")
        search.restore(stored["search"])
        self.originals.restore(stored["covered"])
        self._tries, self.evaluated = stored["tries"], stored["evaluated"]
        self._spent = float(stored.get("seconds", 0.0))
        self._stored = None


def _conclude_sample(
    requirement: Requirement, verdicts: Iterable[Verdict], settings: SearchSettings
) -> Outcome:
    """Conclude from tries that were drawn from the operating domain: how often it fails there.

    A failing try counts as much as its transformation was drawn too seldom (Horvitz and Thompson, J. Am.
    Statist. Assoc. 47, 1952), so the mean is that over the domain; its bounds are over clusters of originals.
    """
    kinds = len(settings.space().sets)
    largest = 1 / (kinds * min(settings.shares, default=1 / kinds))
    clusters: dict[str, list[float]] = {}
    weights = np.zeros(2)  # their sum, and that of their squares

    def read() -> Iterator[Verdict]:
        nonlocal weights
        for verdict in verdicts:
            if verdict.status.is_judged:
                # A crash has no measures; it counts as much as a try can.
                weight = float(verdict.measures.get("weight", largest))  # type: ignore[arg-type]
                own = clusters.setdefault(verdict.cluster or verdict.case_id, [0, 0.0])
                own[0] += 1
                weights += weight, weight**2
                own[1] += weight * (verdict.status is not Status.PASSED)
            yield verdict

    plain = conclude_rate(replace(requirement, acceptance=Acceptance()), read())
    if not clusters:
        return plain
    sizes, losses = (np.array(column) for column in zip(*clusters.values(), strict=True))
    accepted, rate = requirement.acceptance, float(losses.sum() / sizes.sum())
    how = {"least": 0.0, "most": largest, "confidence": accepted.confidence}
    low, high = mean_bounds(losses / sizes, weights=sizes, **how)
    rate, lower, upper = min(1.0, rate), max(0.0, low), min(1.0, high)
    status, enough = plain.status, len(sizes) >= FEWEST_CLUSTERS
    if accepted.max_rate:
        status = OutcomeStatus.INCONCLUSIVE
        least = rate if accepted.decide is Decision.ESTIMATE else lower if enough else 0.0
        if least > accepted.max_rate:
            status = OutcomeStatus.VIOLATED
        elif enough and upper <= accepted.max_rate:
            status = OutcomeStatus.PASSED
    where = "1 cluster" if len(sizes) == 1 else f"{len(sizes)} clusters"
    # Unequal weights cost as much as Kish (1965) says, beside what clusters cost.
    effective = float(plain.measures["effective_cases"]) * weights[0] ** 2 / weights[1] / sizes.sum()  # type: ignore[arg-type]
    summary = (
        f"an estimated {rate:.1%} of the operating domain fails (at least {lower:.1%}, at most {upper:.1%}, "
        f"each with {100 * accepted.confidence:.12g}% confidence; {int(sizes.sum())} tries on {where}, worth "
        f"{effective:.0f} independent ones)"
    )
    if accepted.max_rate:
        summary += f"; {accepted.max_rate:.1%} accepted"
        if not enough:
            summary += (
                f"; {where} (drives, laps, scenes) say too little about a rate: {FEWEST_CLUSTERS} are needed"
            )
    bounds = {"upper_bound": upper, "lower_bound": lower, "confidence": accepted.confidence}
    measures = {"estimate": rate, "max_rate": accepted.max_rate, "clusters": len(sizes), **bounds}
    measures["effective_cases"] = round(float(effective), 1)
    return replace(plain, status=status, rate=rate, summary=summary, measures=measures)
