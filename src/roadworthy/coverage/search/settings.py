"""What a search is asked to do: the parameters of its requirement, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from roadworthy.coverage.criteria.named import parse_mixture
from roadworthy.coverage.oracle import Reference, check_lambda
from roadworthy.coverage.parameter_sets import parameter_sets
from roadworthy.coverage.search import strategies
from roadworthy.coverage.search.trials import Remade, SearchStrategy, Space
from roadworthy.errors import InputError, check_known, check_number, told_as

SearchName = Literal["curious", "algorithm-1", "random", "random-deep", "sampled"]
SEARCHES: tuple[str, ...] = get_args(SearchName)
"""The names of all searches."""

OUTPUTS = ("steering", "speed")
# What may change when a search goes on: its budget, and what is asked of its result.
_FREE = ("tries", "seconds", "reach")


@dataclass(frozen=True)
class SearchSettings:
    """What a search is asked to do.

    Args:
        search: Which search decides what is tried.
        criterion: What guides it: a criterion, or several with weights.
        transforms: What images are changed by, in the words of `parameter_sets`.
        tries: How many changed images are tried at most.
        seconds: For how long they are tried at most; None for as long as it takes.
        lam: λ of Equation 2.
        reference: What it multiplies, the MSE or the RMSE of the originals.
        output: Which signal is judged.
        max_failed_tries: Of Algorithm 1: after how many more an image is given up.
        again: Of Algorithm 1: whether the seeds are pushed again when the stack is empty.
        deepest: Of the curious search and of random-deep: how many transformations are made to an original
            at most.
        reach: The coverage that must be reached, as a share; None asks for none.
        shares: Of the sampled search: how often each transformation is tried, in their order; all alike if
            empty.
        only: Images of an earlier search, which are made again and judged as then; there is no search.

    Raises:
        InputError: One of them cannot be used.

    Example:
        >>> SearchSettings.from_parameters({"lambda": 5, "search": "algorithm-1", "tries": 200}).tries
        200
    """

    search: str = "curious"
    criterion: str = "neuron"
    transforms: tuple[str, ...] = ("simple",)
    tries: int = 500
    seconds: float | None = None
    lam: float = 5.0
    reference: Reference = "mse"
    output: str = "steering"
    max_failed_tries: int = strategies.MAX_FAILED_TRIES
    again: bool = False
    deepest: int = strategies.DEEPEST
    reach: float | None = None
    shares: tuple[float, ...] = ()
    only: tuple[Remade, ...] = ()

    def __post_init__(self) -> None:
        for name, known in (("search", SEARCHES), ("output", OUTPUTS), ("reference", get_args(Reference))):
            value = getattr(self, name)
            check_known(f"there is no {name}", value, known)
        if isinstance(self.tries, bool) or not isinstance(self.tries, int) or self.tries < 1:
            raise InputError(f"tries must be 1 or more, got {self.tries}: with none, nothing is tested")
        check_number("seconds", self.seconds, above=0, below=math.inf)
        check_lambda(self.lam)
        check_number("max_failed_tries", self.max_failed_tries, least=0)
        check_number("deepest", self.deepest, least=1)
        check_number("reach", self.reach, least=0, most=1)
        ids = [one.id for one in self.only]
        if twice := [id for id in ids if ids.count(id) > 1]:
            raise InputError(f"two images of only are called {twice[0]!r}: put them into two requirements")
        parse_mixture(self.criterion)
        kinds = len(self.space().sets)
        if self.shares and (
            len(self.shares) != kinds or min(self.shares) <= 0 or not math.isclose(sum(self.shares), 1)
        ):
            raise InputError(
                f"shares must be {kinds} numbers above 0 that add up to 1, one for each transformation, got "
                f"{list(self.shares)}"
            )

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> SearchSettings:
        """Return the settings that a requirement's parameters give.

        Raises:
            InputError: A parameter is unknown or cannot be used.
        """
        known = ["lambda" if name == "lam" else name for name in cls.__dataclass_fields__]
        given: dict[str, Any] = {}
        for name, value in parameters.items():
            check_known("coverage has no parameter", name, known)
            if name == "only":
                if not isinstance(value, Sequence) or isinstance(value, str):
                    raise InputError(f"only is a list of images of a search, got {value!r}")
                value = tuple(map(Remade.of, value))
            several = name in ("transforms", "shares")
            given["lam" if name == "lambda" else name] = tuple(value) if several else value
        with told_as(InputError, "the parameters of coverage cannot be used", TypeError):
            return cls(**given)

    def parameters(self) -> dict[str, Any]:
        """Return them as the parameters of a requirement."""
        found = asdict(self)
        found["lambda"] = found.pop("lam")
        found["only"] = [one.as_data() for one in self.only]
        found["shares"] = list(self.shares)
        for name in ("only", "shares"):
            if not found[name]:
                del found[name]
        return {**found, "transforms": list(self.transforms)}

    @property
    def text(self) -> str:
        """What is required, in words."""
        if self.only:
            images = "an image" if len(self.only) == 1 else f"{len(self.only)} images"
            return (
                f"On {images} that a search made, the squared error of {self.output} stays within what was "
                "accepted then (Equation 2 of DeepTest)"
            )
        tried = "changes drawn from the operating domain"
        if self.search != "sampled":
            tried = "the changes that a search tries"
        text = (
            f"Under {tried}, the squared error of {self.output} stays within "
            f"{self.lam:g} times the {self.reference.upper()} of the originals (Equation 2 of DeepTest)"
        )
        if self.reach is not None:
            text += f", and {self.criterion} coverage reaches {self.reach:.0%} in {self.tries} tries"
        return text

    def fixed(self) -> dict[str, Any]:
        """Return those that must stay when a search goes on: all but its budget and what it must reach."""
        return {name: value for name, value in self.parameters().items() if name not in _FREE}

    def space(self) -> Space:
        """Return the transformations to choose from."""
        return Space(parameter_sets(self.transforms))

    def make(self, seeds: int, rng: np.random.Generator) -> SearchStrategy:
        """Return the search, for so many seed images."""
        if self.search == "algorithm-1":
            most = self.max_failed_tries
            return strategies.Algorithm1(self.space(), seeds, rng, max_failed_tries=most, again=self.again)
        if self.search == "random":
            return strategies.RandomChoice(self.space(), seeds, rng)
        if self.search == "sampled":
            return strategies.Sampled(self.space(), seeds, rng, shares=self.shares)
        if self.search == "random-deep":
            return strategies.RandomChoice(self.space(), seeds, rng, rounds=max(1, self.deepest // 2))
        return strategies.Curious(self.space(), seeds, rng, deepest=self.deepest)
