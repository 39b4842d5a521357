"""Criteria (neurons, surprise, named), searches (strategies, trials) and their settings are what they were.

``kept.txt`` is no truth of its own: it was written by the code and looked through. Who means something to
change writes it again with ``python -m tests.coverage.test_kept`` and reads the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.kept import as_kept, defaults_of

from roadworthy.coverage import Activations, Layer
from roadworthy.coverage.criteria.named import CRITERIA, Training, parse_criterion, parse_mixture
from roadworthy.coverage.criteria.neurons import learn_ranges
from roadworthy.coverage.criteria.surprise import learn_reference
from roadworthy.coverage.oracle import BrokenRelation, cluster
from roadworthy.coverage.parameter_sets import parameter_sets
from roadworthy.coverage.search.settings import SEARCHES, SearchSettings
from roadworthy.coverage.search.trials import SearchTrial, TrialResult
from roadworthy.errors import InputError

KEPT = Path(__file__).with_name("kept.txt")
LAYERS = (Layer("conv", "conv", 5), Layer("dense", "dense", 6), Layer("answer", "dense", 2))
TEXTS = (
    *CRITERIA,
    "neuron(threshold=0.5)",
    "neuron(scaling=neurons)",
    "multisection(sections=9)",
    "boundary(margin=0.2)",
    "strong-activation(margin=0.2)",
    "top-k(k=2)",
    "top-k-patterns(k=1)",
    "likelihood-surprise(density=gaussian, groups=argmax)",
    "distance-surprise(groups=sign, buckets=50)",
    "0.7*neuron + 0.3*top-k(k=2)",
)


def activations(seed: int, images: int) -> Activations:
    """Numbers in few steps, so that some are equal; later ones reach further than what was learned."""
    values = np.random.default_rng(seed).integers(-8, 9, (images, 13)) / 4.0 * np.linspace(0.5, 2, 13)
    values *= 1 + seed / 10
    parts = np.split(values, [5, 11], axis=1)
    lows, highs = (np.stack([pick(part, axis=1) for part in parts], axis=1) for pick in (np.min, np.max))
    return Activations(LAYERS, values, lows - 0.5, highs + 0.5)


def result_of(trial: SearchTrial) -> TrialResult:
    """An answer that depends on the trial alone: some raise coverage, some fail, some of these alike."""
    key = sum(
        (place + 1) * (3 * pick.transformation + pick.parameter) for place, pick in enumerate(trial.picks)
    )
    key += 5 * trial.image.seed + 11 * len(trial.image.made)
    behaviour = (float(key % 7), float(key % 3))
    return TrialResult(0.01 if key % 4 == 0 else 0.0, key % 5 == 0, behaviour)


def lines() -> Iterator[str]:
    """Yield all that is kept."""
    training = Training(learn_ranges([activations(1, 30)]), learn_reference([activations(1, 30)], size=25))
    for text in TEXTS:
        mixture = parse_mixture(text)
        criterion = mixture.make(LAYERS, training)
        values = []
        for seed, images in ((2, 1), (3, 6), (4, 40)):
            seen = activations(seed, images)
            gains = " ".join(f"{one:.6f}" for one in criterion.gains(seen)[:3])
            values.append(f"{gains} + {criterion.gain(seen):.6f}")
            criterion.update(seen)
            values.append(f"{criterion.value:.6f}")
        yield f"{mixture} ({criterion}): {' '.join(values)}"
    for words in (
        ["deeptest"],
        ["motion-blur"],
        ["contrast(gain=2)", "rotation(angle=5)", "rotation:deeptest-2"],
    ):
        for one in parameter_sets(words):
            yield f"{one.name}: {[(choice.parameter, str(choice.transform)) for choice in one]}"
    for search in SEARCHES:
        settings = SearchSettings(
            search=search, tries=60, transforms=("simple", "fog"), max_failed_tries=3, deepest=5
        )
        yield f"{settings.parameters()}"
        yield from _course(settings)
    failures = [
        BrokenRelation(
            f"f{n}", "blur" if n % 3 else "fog", (n % 4, "mean"), 0.3 * n - 2, -0.1 - n % 6, (n % 2, n / 5)
        )
        for n in range(1, 40)
    ]
    for radius in (0.3, 1.0):
        found = cluster(failures, radius=radius)
        yield f"radius {radius}: {[(one.representative.frame, one.size, one.members[-1]) for one in found]}"


def _course(settings: SearchSettings) -> Iterator[str]:
    strategy = settings.make(4, np.random.default_rng(6))
    told: list[str] = []
    for _ in range(30):
        trials = strategy.propose(5)
        for trial in trials:
            counts = strategy.tell(trial, result_of(trial))
            picks = ",".join(f"{pick.transformation}.{pick.parameter}" for pick in trial.picks)
            told.append(
                f"{trial.number}:{trial.image.seed}/{len(trial.image.made)}>{picks}{'' if counts else '!'}"
            )
    return (f"    {' '.join(told[start : start + 12])}" for start in range(0, len(told), 12))


def test_criteria_and_searches_are_what_they_were() -> None:
    kept = KEPT.read_text("utf-8").splitlines()
    for now, then in zip(lines(), kept, strict=True):
        assert now == then


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            {},
            "Under the changes that a search tries, the squared error of steering stays within 5 times the "
            "MSE of the originals (Equation 2 of DeepTest)",
        ),
        (
            {"search": "sampled", "lambda": 2.5, "reference": "rmse", "output": "speed"},
            "Under changes drawn from the operating domain, the squared error of speed stays within 2.5 "
            "times the RMSE of the originals (Equation 2 of DeepTest)",
        ),
        (
            {"reach": 0.25, "tries": 40, "criterion": "top-k"},
            "Under the changes that a search tries, the squared error of steering stays within 5 times the "
            "MSE of the originals (Equation 2 of DeepTest), and top-k coverage reaches 25% in 40 tries",
        ),
    ],
)
def test_what_a_search_requires_in_words(given: dict[str, object], text: str) -> None:
    settings = SearchSettings.from_parameters(given)
    assert settings.text == text
    assert SearchSettings.from_parameters(settings.parameters()) == settings
    assert {"tries", "seconds", "reach"}.isdisjoint(settings.fixed())
    assert {"search", "lambda", "criterion", "transforms"} <= settings.fixed().keys()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"search": "curius"}, "there is no search 'curius': did you mean 'curious'"),
        ({"output": "brake"}, "there is no output 'brake'"),
        ({"reference": "mae"}, "there is no reference 'mae'"),
        ({"tries": 0}, "tries must be 1 or more, got 0: with none, nothing is tested"),
        ({"tries": True}, "tries must be 1 or more, got True"),
        ({"seconds": 0}, "seconds must be above 0 and finite, got 0"),
        ({"seconds": float("inf")}, "seconds must be above 0 and finite, got inf"),
        ({"max_failed_tries": -1}, "max_failed_tries must be 0 or more, got -1"),
        ({"deepest": 0}, "deepest must be 1 or more, got 0"),
        ({"reach": 1.1}, r"reach must be from 0 to 1, got 1\.1"),
        ({"shares": [0.5, 0.5]}, r"shares must be 7 numbers above 0 that add up to 1, .* got \[0\.5, 0\.5\]"),
        ({"shares": [0.5, 0.5, 0]}, "shares must be 7 numbers"),
        ({"only": "x"}, "only is a list of images of a search, got 'x'"),
        ({"lam": 1}, "coverage has no parameter 'lam': did you mean 'lambda'"),
        ({"criterion": "x*neuron"}, "cannot read the weight 'x'"),
        ({"criterion": "0*neuron + top-k"}, "cannot read the weight '0'"),
        ({"criterion": "nuron"}, "there is no criterion 'nuron': did you mean 'neuron'"),
        ({"criterion": "neuron(threshold)"}, "cannot read 'threshold' in 'neuron"),
        ({"criterion": "top-k(k=1, k=2)"}, r"cannot read 'k=2' in .*: expected option=value, each once"),
        ({"criterion": "neuron)("}, "cannot read the criterion"),
    ],
)
def test_settings_of_a_search_that_cannot_be_used(given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SearchSettings.from_parameters(given)


def test_a_criterion_says_what_it_needs() -> None:
    assert [parse_criterion(name).needs for name in CRITERIA] == [
        "layers", "ranges", "ranges", "ranges", "layers", "layers", "reference", "reference",
    ]  # fmt: skip
    assert [name for name in CRITERIA if not parse_criterion(name).per_neuron] == list(CRITERIA[5:])
    choice = parse_criterion("top-k(k=2)")
    assert str(choice.with_default("k", 9)) == "top-k(k=2)"
    assert dict(parse_criterion("top-k").with_default("k", 9).options) == {"k": 9}
    with pytest.raises(
        InputError, match="boundary compares with the network on training data: give that data"
    ):
        parse_criterion("boundary").make(LAYERS, Training())
    assert Training().lacks(["layers", "ranges"])
    assert not Training().lacks(["layers"])


def test_what_is_done_when_nothing_is_said_is_as_kept() -> None:
    as_kept(Path(__file__).with_name("kept") / "defaults.txt", defaults_of("coverage"))


if __name__ == "__main__":
    KEPT.write_text("\n".join(lines()) + "\n", "utf-8")
