"""What commands that run rules take in: rules, models, frames and engines, checked before images are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy.cli._console import parse_options
from roadworthy.errors import InputError, RuleError, SystemUnderTestError, suggest

if TYPE_CHECKING:
    from roadworthy.frames import Frame
    from roadworthy.models import SystemUnderTest
    from roadworthy.rules.expectation import Quantity
    from roadworthy.rules.generation import RulePlan
    from roadworthy.transforms import Transform, UserEngine


def plans_of(
    sentences: Sequence[str],
    files: Sequence[Path],
    *,
    only: Sequence[str] = (),
    engines: Sequence[UserEngine] = (),
    same: Mapping[str, Quantity] | None = None,
    gallery: str = "shipped",
    traffic: str = "right",
    skip: bool = False,
) -> tuple[dict[str, RulePlan], dict[str, str]]:
    """Return how the rules that are given are tried, by their ids, and why others cannot be.

    Raises:
        InputError: There are none, one is not understood, or one cannot be tried and none is to be skipped.
    """
    from roadworthy.rules import read_rules

    texts = {f"rule {number}": text for number, text in enumerate(sentences, 1)}
    for file in files:
        for one in read_rules(file):
            if one.id in texts:
                raise InputError(f"{file}:{one.line}: the id {one.id!r} is used twice; give one another")
            texts[one.id] = one.text
    if not texts:
        raise InputError('give a rule by --rule "If …, then …", or a file of rules by --rules FILE')
    for name in only:
        if name not in texts:
            raise InputError(f"--only: there is no rule {name!r}; {suggest(name, texts)}")
    plans: dict[str, RulePlan] = {}
    skipped: dict[str, str] = {}
    for id, text in texts.items():
        if only and id not in only:
            continue
        try:
            plans[id] = _plan(text, engines, gallery, traffic).with_tolerances(same or {})
        except RuleError as error:
            raise InputError(f"{id}: {error}") from error
        except InputError as error:
            if not skip:
                raise InputError(f"{id}: {error}; --skip leaves out such rules") from error
            skipped[id] = str(error)
    if not plans:
        raise InputError("none of the rules can be tried: " + "; ".join(skipped.values()))
    return plans, skipped


def _plan(text: str, engines: Sequence[UserEngine], gallery: str, traffic: str) -> RulePlan:
    from roadworthy.rules import parse
    from roadworthy.rules.generation import plan_for

    if traffic not in ("right", "left"):
        raise InputError(f"--traffic must be right or left, got {traffic!r}")
    return plan_for(parse(text), engines, gallery=gallery, traffic=traffic)  # type: ignore[arg-type]


def read_engines_file(file: Path | None, *, allow_commands: bool) -> tuple[UserEngine, ...]:
    """Return the engines of a file, or none."""
    from roadworthy.transforms import read_engines

    return () if file is None else read_engines(file, allow_commands=allow_commands)


def transform_named(text: str, engines: Sequence[UserEngine]) -> Transform:
    """Return a transform as commands take it, or what an engine does: ``engine:NAME``.

    Raises:
        InputError: There is no such transform or engine, or the engine does more than one thing.
    """
    from roadworthy.transforms import parse_transform

    kind, _, name = text.partition(":")
    if kind != "engine":
        return parse_transform(text)
    found = {one.name: one for one in engines}
    if name not in found:
        raise InputError(f"--engines has no engine {name!r}; {suggest(name, found)}")
    if len(found[name].supported) != 1:
        raise InputError(
            f"the engine {name!r} supports {len(found[name].supported)} operations, so it is not clear which "
            "is meant: describe it once more, under another name, with that one alone"
        )
    (support,) = found[name].supported
    operation = support.asked()
    if operation is None:
        raise InputError(f"the engine {name!r} does not say what it replaces {support.element} by")
    return found[name].transform(operation)


def predicted_outputs(system: SystemUnderTest, frame: Frame) -> frozenset[str] | None:
    """Return what a model predicts, seen from its answer to one frame; None if it gave none.

    Raises:
        InputError: It answers with something that no rule speaks of.
    """
    from roadworthy.frames import Signals
    from roadworthy.models import task_of
    from roadworthy.runs.batches import ask

    (answer,) = ask(system, [frame], batch_size=1)
    if isinstance(answer, SystemUnderTestError):
        # Whether that is this frame's or every frame's fault, the run will show.
        return None
    if not isinstance(answer, Signals):
        raise InputError(
            f"{system.name} is a model for {task_of(answer)}, and rules speak of speed and steering: give a "
            "model that predicts these"
        )
    return frozenset(answer.as_dict())


def settings_of(
    sample: int | None, same: Sequence[str] | None, gallery: str, traffic: str, engines: Path | None
) -> dict[str, Any]:
    """Return what rows depend on beside rules, models and data, as manifest.json and suites have it."""
    given = {output: str(one).strip() for output, one in parse_options(same or ()).items()}
    return {
        "sample": sample,
        "same": {output: one if one.endswith("%") else float(one) for output, one in given.items()},
        "gallery": gallery,
        "traffic": traffic,
        "engines": None if engines is None else str(engines),
    }


def tolerances(given: Sequence[str]) -> dict[str, Quantity]:
    """Return δ by output, as --same gives them."""
    from roadworthy.rules.expectation import TOLERANCES, read_tolerance

    found: dict[str, Quantity] = {}
    for output, text in parse_options(given, "--same speed=5%").items():
        if output not in TOLERANCES:
            raise InputError(f"--same: unknown output {output!r}; {suggest(output, TOLERANCES)}")
        words = str(text).strip()
        try:
            found[output] = read_tolerance(words if words.endswith("%") else float(words))
        except (ValueError, InputError):
            raise InputError(
                f"--same {output} must be a number in degrees or m/s, or a percentage, got {text!r}"
            ) from None
    return found
