"""The least change that still fails, of one case of a rule that was run here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from roadworthy.errors import InputError
from roadworthy.models import SystemUnderTest, load_model
from roadworthy.rules.shrinking import Shrinking, Violation
from roadworthy.runs import run
from roadworthy.web.jobs.asks import RulesAsk
from roadworthy.web.jobs.trials import plan_of, trial_of

if TYPE_CHECKING:
    from roadworthy.web.pictures import Pictures

__all__ = ["shrunk"]


def shrunk(
    ask: RulesAsk,
    case: Mapping[str, Any],
    pictures: Pictures,
    opened: Callable[[str], SystemUnderTest] = load_model,
) -> dict[str, Any]:
    """Return how much of the change is enough for a case to fail, with its pictures and answers.

    Args:
        ask: What the run was asked for.
        case: The case, as the wall shows it.
        pictures: Where pictures are kept for the page.
        opened: Opens a model.

    Raises:
        InputError: The case does not violate, or does not any more.
    """
    if case["status"] != "violated":
        raise InputError("only a violation can be shrunk")
    reference = next((one for one in ask.models if opened(one).name == case["system"]), None)
    if reference is None:
        raise InputError(f"the model {case['system']!r} is not one that this run was asked for")
    trial = trial_of(ask.model_copy(update={"models": (reference,)}), opened)
    frame = str(case["parameters"]["frame"])
    search = Shrinking(plan_of(ask), [Violation(frame, int(case["parameters"]["seed"]))])
    run(search, trial.requirement, trial.data, trial.systems[0])
    found = search.smallest.get(frame)
    if found is None:
        raise InputError("the case does not fail any more: the model answers differently from time to time")
    return {
        "amount": found.amount,
        "changes": list(found.changes),
        "pictures": [pictures.add(one.image) for one in found.frames],
        "answers": {output: list(values) for output, values in found.predictions.items()},
        "margin": found.margin,
    }
