"""Coverage in a suite: a search with a budget, what it must reach and how many failures it may find."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, cast

from pydantic import Field

from roadworthy.errors import InputError
from roadworthy.frames import Signals
from roadworthy.models import Network, SystemUnderTest
from roadworthy.runs.suites.forms import Count, EntryForm, Form, Number, Share, Some, Text
from roadworthy.runs.suites.kinds.base import Context, Kind, Part, other_task
from roadworthy.runs.suites.opening import Facts

if TYPE_CHECKING:
    from roadworthy.cases import Method
    from roadworthy.coverage import Observed
    from roadworthy.coverage.method import CoverageMethod
    from roadworthy.coverage.search.settings import SearchSettings


class StepForm(Form):
    """One change on the way to an image of a search.

    Keys:
        number: The number of the try, which seeds what is random in it.
        transform: What was done, such as rotation(angle=3).
    """

    number: int = Field(ge=0)
    transform: Text


class ImageForm(Form):
    """An image of a search, made again and judged as it was.

    Keys:
        frame: The original, by its id.
        seed: What is random in the changes begins with it.
        bound: The largest squared error, in the data's own unit.
        made: What was done to the original, one after the other.
    """

    frame: Text
    seed: int = Field(ge=0, lt=2**63)
    bound: Number = Field(gt=0)
    made: Annotated[list[StepForm], Field(min_length=1)]


class CoverageForm(EntryForm):
    """A search for changed images that raise coverage, with a budget.

    Keys:
        coverage: What guides it: neuron, top-k, 0.7*neuron + 0.3*top-k, …
        training: Data of this suite that the network learned from, for criteria that compare with it; nothing
            is searched there. The originals if left out.
        reach: The coverage that must be reached.
        tries: How many changed images are tried at most.
        seconds: For how long at most; then a rerun may try another number.
        search: What decides what is tried; sampled draws from the operating domain and tells a rate.
        shares: Of sampled: how often each transformation is tried, in their order; all alike if left out.
        transforms: simple, composite, deeptest, a transform, or one with its parameters.
        lambda_: λ of Equation 2: how many times the error may grow.
        reference: What λ multiplies.
        output: Which answer is judged.
        counting: Which outputs count as neurons.
        deepest: How many transformations of an image, at most.
        max_failed_tries: Of algorithm-1: after how many more an image is given up.
        again: Of algorithm-1: push the seeds again when the stack is empty.
        only: Only these images of an earlier search, each made and judged as it was then; nothing is searched
            for.
    """

    key = "coverage"
    sendable = EntryForm.sendable | {
        *("coverage", "training", "reach", "tries", "seconds", "search", "shares", "transforms", "lambda"),
        *("reference", "output", "counting", "deepest", "max_failed_tries", "again"),
    }
    coverage: Text
    training: Text | None = None
    reach: Share | None = None
    tries: Count = 500
    seconds: Number | None = Field(default=None, gt=0)
    search: Literal["curious", "algorithm-1", "random", "random-deep", "sampled"] = "curious"
    shares: list[float] = Field(default_factory=list)
    transforms: Some = Field(default_factory=lambda: ["simple"])
    lambda_: Number = Field(default=5.0, gt=0, alias="lambda")
    reference: Literal["mse", "rmse"] = "mse"
    output: Literal["steering", "speed"] = "steering"
    counting: Text = "distinct"
    deepest: Count = 8
    max_failed_tries: int = Field(default=10, ge=0)
    again: bool = False
    only: Annotated[list[ImageForm], Field(min_length=1)] | None = None


_SETTINGS = {
    *("search", "tries", "seconds", "reference", "output", "max_failed_tries", "again", "deepest", "reach")
}
_PROBED = 8  # tries for each frame of a probe


class Search(NamedTuple):
    """What is searched for, which outputs count as neurons, and the data that the network learned from."""

    settings: SearchSettings
    counting: str
    training: str | None


class CoverageKind(Kind[CoverageForm, Search]):
    """A search that tries changed images, one model at a time, because it follows the model's answers.

    Images that an earlier one made can be tried alone.
    """

    name = "coverage"
    forms = (CoverageForm,)
    one_at_a_time = True

    def no_rate(self, search: object) -> str:
        """Return why a search accepts no share of failures; one that samples does."""
        if search == "sampled":
            return ""
        return (
            "a search tells what it finds, not how often the model fails: leave out 'accept'; "
            "`coverage rate` estimates how often"
        )

    def parts(self, entry: CoverageForm, context: Context) -> Iterator[Part[Search]]:
        """Yield the search."""
        from roadworthy.coverage.activations import counting_named
        from roadworthy.coverage.criteria import parse_mixture
        from roadworthy.coverage.search.settings import SearchSettings
        from roadworthy.coverage.search.trials import Remade

        counting_named(entry.counting)
        settings = SearchSettings(
            **entry.model_dump(include=_SETTINGS),
            criterion=entry.coverage,
            transforms=tuple(entry.transforms),
            shares=tuple(entry.shares),
            lam=entry.lambda_,
            only=tuple(Remade.of(one.model_dump()) for one in entry.only or ()),
        )
        if context.sample is not None:
            settings = replace(settings, tries=min(settings.tries, context.sample))
        if entry.training is not None and not parse_mixture(entry.coverage).needs - {"layers"}:
            raise InputError(
                "training is for multisection, boundary, strong-activation and the surprises: name one of "
                "them, or leave it out"
            )
        yield Part("", settings.text, settings.parameters(), Search(settings, entry.counting, entry.training))

    def needs(self, part: Part[Search]) -> Collection[str]:
        """Return what its transformations need, or look better with."""
        from roadworthy.coverage.parameter_sets import parameter_sets

        tried = (one for several in parameter_sets(part.inside.settings.transforms) for one in several)
        return {name for one in tried for name in (*one.transform.needs, *one.transform.wants)}

    def misfit(self, part: Part[Search], facts: Facts) -> str:
        """A search needs a network that predicts the output, and frames of which it is known."""
        output = part.inside.settings.output
        system, name = facts.model.system, facts.model.name
        if reason := other_task(facts, "regression", f"a search judges {output}"):
            return reason
        if not isinstance(system, Network):
            return f"{name} does not show its layers, and coverage is about these"
        if isinstance(facts.known, Signals) and output not in facts.known.as_dict():
            return f"{name} does not predict {output}"
        if facts.data is not None and getattr(facts.data.first.signals, output) is None:
            return f"{facts.data.name} does not know the {output} of its frames"
        return ""

    def signals(self, part: Part[Search]) -> Collection[str]:
        """Return the output that is judged."""
        return (part.inside.settings.output,)

    def method(self, parts: Mapping[str, Part[Search]], context: Context) -> Method:
        """Return a search that has not begun."""
        from roadworthy.coverage.method import CoverageMethod

        return CoverageMethod()

    def learns_from(self, entry: CoverageForm) -> Collection[str]:
        """Return the training data."""
        return () if entry.training is None else (entry.training,)

    def teach(self, method: Method, part: Part[Search], context: Context, system: SystemUnderTest) -> None:
        """Show the search what the neurons do on training data."""
        search = part.inside
        if search.training is not None:
            cast("CoverageMethod", method).learn(
                search.settings.criterion, cast("Observed[Any]", system), context.data[search.training]
            )

    def system(self, system: SystemUnderTest, part: Part[Search]) -> SystemUnderTest:
        """Return the network with its neurons watched."""
        from roadworthy.coverage import observable

        return observable(system, part.inside.counting)

    def cases(self, part: Part[Search], frames: int) -> int:
        """Return a case for each original and each try, or for each image that is made again."""
        settings = part.inside.settings
        return len(settings.only) or frames + settings.tries

    def probed(self, part: Part[Search], frames: int, of: int) -> tuple[Mapping[str, Any], float]:
        """Return a search with a few tries for each frame."""
        settings = part.inside.settings
        tries = min(settings.tries, _PROBED * frames)
        if settings.only:
            # Their frames may not be among those of a probe.
            return replace(settings, only=(), tries=1).parameters(), (frames + 1) / len(settings.only)
        return replace(settings, tries=tries).parameters(), (frames + tries) / (of + settings.tries)
