"""Coverage in a suite: a search with a budget, what it must reach and how many failures it may find."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from roadworthy.errors import InputError
from roadworthy.frames import Signals
from roadworthy.models import Network, SystemUnderTest
from roadworthy.runs.suites.forms import CoverageForm
from roadworthy.runs.suites.kinds.base import Context, Kind, Part, other_task
from roadworthy.runs.suites.opening import Facts

if TYPE_CHECKING:
    from roadworthy.cases import Method
    from roadworthy.coverage import Observed
    from roadworthy.coverage.method import CoverageMethod
    from roadworthy.coverage.search.settings import SearchSettings


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
    one_at_a_time = True

    def parts(self, entry: CoverageForm, context: Context) -> Iterator[Part[Search]]:
        """Yield the search."""
        from roadworthy.coverage import counting_named
        from roadworthy.coverage.criteria import parse_mixture
        from roadworthy.coverage.search.settings import SearchSettings
        from roadworthy.coverage.search.trials import Remade

        counting_named(entry.counting)
        settings = SearchSettings(
            search=entry.search,
            criterion=entry.coverage,
            transforms=tuple(entry.transforms),
            tries=entry.tries,
            seconds=entry.seconds,
            lam=entry.lambda_,
            reference=entry.reference,
            output=entry.output,
            max_failed_tries=entry.max_failed_tries,
            again=entry.again,
            deepest=entry.deepest,
            reach=entry.reach,
            only=tuple(Remade.of(one.model_dump()) for one in entry.only or ()),
        )
        if context.sample is not None:
            settings = replace(settings, tries=min(settings.tries, context.sample))
        if entry.training is not None and not parse_mixture(entry.coverage).needs - {"layers"}:
            raise InputError(
                "training is for multisection, boundary, strong-activation and the surprises: name one of "
                "them, or leave it out"
            )
        search = Search(settings, entry.counting, entry.training)
        yield Part("", settings.text, settings.parameters(), search)

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
        del parts, context
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
