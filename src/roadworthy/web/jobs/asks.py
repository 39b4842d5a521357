"""What a run is asked for, as forms and job.json have it, and the suite that it is."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, TypeAdapter, model_validator
from pydantic_core import PydanticCustomError

from roadworthy._files import naming
from roadworthy._yaml import Place
from roadworthy.datasets import fitting_options
from roadworthy.errors import InputError, RoadworthyError
from roadworthy.models.load import model_name, short_name
from roadworthy.runs.gate import OFF, STREET
from roadworthy.runs.suites import suite_of
from roadworthy.runs.suites.forms import DataForm, Form
from roadworthy.runs.suites.kinds.driving import DrivingForm
from roadworthy.runs.suites.schema import SuiteForm
from roadworthy.transforms.objects.gallery import OWN, SHIPPED

if TYPE_CHECKING:
    from roadworthy.bbsl import Spec

Name = Annotated[str, Field(min_length=1, max_length=300)]
LabelledBy = Annotated[str, Field(min_length=1, max_length=2_000)]  # names of those whom the server offers


class _Form(BaseModel):
    """What a page or a job asks for."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _RunAsk(_Form, ABC):
    """What the forms of the page share.

    Attributes:
        text: The rule or the specification.
        name: The id of the requirement, by which runs are compared; a general one when left empty.
        models: References of the models to test, each declared.
        data: The reference of the data set, declared.
        labels: Who says what each pixel shows, of those whom the server offers; several in their order.
        depth: Who says how far away it is.
        boxes: Who says where things are.
        frames: How many frames of it.
        seed: The same seed makes the same cases.
        allow: The share of cases that may violate.
    """

    text: str
    name: Annotated[str, Field(max_length=80, pattern=r"^[\w .\-]*$")] = ""
    models: Annotated[tuple[Name, ...], Field(min_length=1, max_length=8)]
    data: Name
    labels: LabelledBy = "own"
    depth: LabelledBy = "own"
    boxes: LabelledBy = "own"
    frames: Annotated[int, Field(ge=1)] = 60
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    allow: Annotated[float, Field(ge=0, le=1)] = 0.0

    @property
    def labelled_by(self) -> tuple[tuple[str, str], ...]:
        """Who labels what, where it is not the data alone."""
        said = {"labels": self.labels, "depth": self.depth, "boxes": self.boxes}
        return tuple((what, who) for what, who in said.items() if who != "own")

    @property
    @abstractmethod
    def title(self) -> str:
        """What lists of runs say that was asked."""

    @abstractmethod
    def entry(self) -> dict[str, Any]:
        """Return what must hold, as an entry of a suite says it.

        Raises:
            InputError: Something that was typed cannot be used.
        """

    @property
    def id(self) -> str:
        """The id of the requirement."""
        return self.name or ("rule" if isinstance(self, RulesAsk) else "specification")

    def suite(self) -> dict[str, Any]:
        """Return what is asked for as a suite: what a file of it would say.

        Raises:
            InputError: Something that was typed cannot be used.

        Example:
            >>> ask = RulesAsk(text="If it rains, slow down.", models=["dave2"], data="world:town", frames=4)
            >>> ask.suite()["requirements"]
            {'rule': {'rule': 'If it rains, slow down.', 'same': {}, 'accept': None}}
        """
        made = fitting_options(self.data, count=self.frames, seed=self.seed) | dict(self.labelled_by)
        return {
            "suite": self.id,
            "seed": self.seed,
            "models": {model_name(one): one for one in dict.fromkeys(self.models)},
            "data": {short_name(self.data): {"data": self.data, "options": made, "sample": self.frames}},
            "requirements": {self.id: {**self.entry(), "accept": self.allow or None}},
        }


class RulesAsk(_RunAsk):
    """A rule to be tried.

    Attributes:
        same_steering: How far steering angles that are the same may differ, in degrees.
        same_speed: How far speeds that are the same may differ, as a share.
    """

    kind: Literal["rules"] = "rules"
    same_steering: Annotated[float, Field(gt=0, le=90)] = 1.39
    same_speed: Annotated[float, Field(gt=0, le=1)] = 0.1

    @property
    def title(self) -> str:
        """The rule."""
        return self.text

    def entry(self) -> dict[str, Any]:
        """Return the rule, with the tolerances that are not the usual ones."""
        from roadworthy.rules.expectation import TOLERANCES, read_tolerance

        # As a percentage that is read as exactly this share.
        speed = f"{(Decimal(repr(self.same_speed)) * 100).normalize():f}%"
        given: dict[str, float | str] = {"steering": self.same_steering, "speed": speed}
        same = {name: one for name, one in given.items() if read_tolerance(one) != TOLERANCES[name]}
        return {"rule": " ".join(self.text.split()), "same": same}


class Binding(_Form):
    """What an external function of a specification gets its value from.

    Nothing here reads a file: a form must not name one.

    Attributes:
        source: The object under test, a value that is the same in every frame, all boxes of some classes,
            whether there is one, the lead vehicle, whether there is one, or a recorded signal.
        value: The numbers, the classes or the signal.
    """

    source: Literal["object", "value", "boxes", "exists", "lead", "lead_exists", "signal"]
    value: Annotated[str, Field(max_length=300)] = ""

    def given(self, name: str) -> Any:
        """Return what gives a function of this name its values, as a file of bindings writes it."""
        text = self.value.strip()
        if self.source == "value":
            from roadworthy.bbsl.bindings import read_value

            with naming(name):
                return read_value(text)
        if not text:
            what = "a signal, such as speed" if self.source == "signal" else "classes, such as vehicle"
            raise InputError(f"{name}: name {what}")
        return {self.source: text if self.source == "signal" else _words(text)}


class BbslAsk(_RunAsk):
    """A specification that a detector is to be tested by.

    Attributes:
        bindings: Where the external functions get their values from, by their names.
        classes: Which objects are tested, where a function stands for one object.
    """

    kind: Literal["bbsl"] = "bbsl"
    bindings: Annotated[dict[Name, Binding], Field(max_length=100)] = {}
    classes: Annotated[str, Field(max_length=300)] = "vehicle"

    @property
    def title(self) -> str:
        """That it is a specification, which has too many lines for a list."""
        return "a specification in BBSL"

    def entry(self) -> dict[str, Any]:
        """Return the specification with its values."""
        from roadworthy.bbsl import parse

        spec = parse(self.text)
        names = {one.name for one in spec.functions}
        for name in self.bindings:
            if name not in names:
                raise InputError(
                    f"the specification has no external function {name!r}: choose its values again"
                )
        values = {name: one.given(name) for name, one in self.bindings.items() if one.source != "object"}
        entry: dict[str, Any] = {"bbsl": self.text, "values": values}
        if function := self._object(spec):
            entry |= {"object": function, "classes": _words(self.classes)}
        return entry

    def _object(self, spec: Spec) -> str:
        """Return the function that stands for the object under test; empty where none does."""
        objects = {name for name, one in self.bindings.items() if one.source == "object"}
        boxes = [one.name for one in spec.functions if one.name in objects and one.result.value == "bb"]
        if objects and len(boxes) != 1:
            raise InputError("one function of type bb must stand for the object under test, and only one")
        return boxes[0] if boxes else ""


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


LABELLED = ("labels", "depth", "boxes")
_CONDITIONS = ("weather", "level", "time")  # of the built-in world
_AMOUNTS = ("count", "seed", "traffic")  # of what a reader makes: numbers name nothing
_TYPED = ("rule", "bbsl", "text", "tags")  # free text, which opens nothing


class SuiteAsk(_Form):
    """A suite with requirements of any kind.

    Attributes:
        document: What the file of the suite would say.
    """

    kind: Literal["suite"] = "suite"
    document: dict[str, Any]
    _form: SuiteForm = PrivateAttr()

    @model_validator(mode="after")
    def _read(self) -> Self:
        # At once: a stored job that cannot be read must not break the pages that list all of them.
        try:
            self._form = suite_of(self.document).form
        except RoadworthyError as error:
            raise PydanticCustomError("suite", "{told}", {"told": str(error)}) from error
        return self

    @property
    def form(self) -> SuiteForm:
        """The suite, read."""
        return self._form

    @property
    def name(self) -> str:
        """What the suite is called."""
        return self._form.suite or ""

    @property
    def title(self) -> str:
        """The ids of its requirements."""
        return ", ".join(self._form.requirements)

    @property
    def models(self) -> tuple[str, ...]:
        """References of the models."""
        return tuple(one.model for one in self._form.models.values())

    @property
    def data(self) -> str:
        """References of the data, joined by commas."""
        return ", ".join(one.data for one in self._form.data.values())

    @property
    def frames(self) -> int:
        """How many frames there are, as far as the suite says so."""
        return sum(one.sample or len(one.frames or ()) for one in self._form.data.values())

    @property
    def seed(self) -> int:
        """The same seed makes the same cases."""
        return self._form.seed

    def suite(self) -> dict[str, Any]:
        """Return the suite."""
        return self.document

    def opening(self) -> Iterator[Place]:
        """Yield where it names files, programs or other machines, or could: a form must not."""
        form = self._form
        given = form.model_dump(exclude_defaults=True).keys() - form.sendable
        # A gate of another name is a model.
        yield from ((key,) for key in sorted(given - ({"gate"} if form.gate in (OFF, STREET) else set())))
        for key in ("models", "data", "requirements"):
            yield from ((key, name) for name, part in getattr(form, key).items() if _opens(part))


def _opens(part: Form) -> bool:
    """Return whether a part of a suite names a file, a program or another machine, or could."""
    given = part.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    if isinstance(part, DataForm | DrivingForm):
        # Who labels the frames; whether it is one whom the server offers is for the server to say.
        known: tuple[str, ...] = LABELLED if isinstance(part, DataForm) else ()
        if not isinstance(part, DataForm) or part.data.partition(":")[0] == "world":
            known += _CONDITIONS
        if all(
            type(said) in (int, float) if what in _AMOUNTS else what in known and isinstance(said, str)
            for what, said in part.options.items()
        ):
            given.pop("options", None)
    if given.get("gallery") in (OWN, SHIPPED):
        del given["gallery"]  # no folder
    others = {key: value for key, value in given.items() if key not in (*_TYPED, "model", "data")}
    # A table of values is a file, and so are thresholds that are no mapping.
    return (
        not given.keys() <= part.sendable
        or bool(re.search(r'[/\\=]|"table"', json.dumps(others)))
        or "endcase" not in given.get("bbsl", "endcase")
        or isinstance(given.get("driving"), str)
        or not all(
            word.startswith("world") for word in (*given.get("simulator", ()), given.get("drive", "world"))
        )
    )


AnyAsk: TypeAlias = RulesAsk | BbslAsk | SuiteAsk
Ask = Annotated[AnyAsk, Field(discriminator="kind")]
_ADAPTER: TypeAdapter[AnyAsk] = TypeAdapter(Ask)


def read_ask(document: object) -> AnyAsk:
    """Return what a document asks for.

    Raises:
        pydantic.ValidationError: It cannot be used.

    Example:
        >>> read_ask({"kind": "rules", "text": "…", "models": ["dave2"], "data": "world"}).frames
        60
    """
    return _ADAPTER.validate_python(document)
