"""What runs that are started on the page may use: models, data, and who labels frames; nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock

from roadworthy._files import is_folder
from roadworthy.errors import InputError, RoadworthyError, suggest
from roadworthy.labelling.chain import TASKS
from roadworthy.labelling.folder import PARTS, maps_in
from roadworthy.models.load import is_description, short_name
from roadworthy.models.networks import public_networks
from roadworthy.web.added import AddedFiles, AddedItem
from roadworthy.web.settings import WORDS

WORLDS = WORDS["data"]
"""The built-in data, with what the page says of it."""


@dataclass(frozen=True, slots=True)
class FormChoice:
    """Something that a form may choose.

    Attributes:
        reference: What opens it, also in forms.
        name: What rows, reports and pages call it; of a model that is its own name.
        summary: What it is.
        task: Of a model, what it is for: regression, detection, ….
        outputs: Of a model that predicts signals, which.
        problem: Why it cannot be used.
        says: Of who labels frames, what: labels, depth, boxes.
    """

    reference: str
    name: str
    summary: str = ""
    task: str = ""
    outputs: tuple[str, ...] = ()
    problem: str = ""
    says: tuple[str, ...] = ()

    def fits(self, task: str) -> bool:
        """Return whether a model is for a task; one of which nothing is known before it is asked may be."""
        return self.task in ("", task)


_EVERYTHING = ("labels", "depth", "boxes")
_ALWAYS = (
    FormChoice("own", "the data", says=_EVERYTHING),
    FormChoice("street", "street", "the network that comes with Roadworthy", says=_EVERYTHING),
    FormChoice("none", "nobody", says=_EVERYTHING),
)
_MOST_ASKED = 8  # who are asked one after the other
_NETWORKS = (".yaml", ".yml", ".onnx", ".tflite")  # files in a folder that are offered
_GIVEN = "declared when the server was started"


class Declared:
    """The models and data sets that runs may use, and who may label frames.

    Args:
        models: References of models, beside the networks that come with the package.
        data: References of data sets, beside the built-in world.
        labels: Who may label frames, beside the data, the street network, imported networks and models:
            folders of maps, networks, and folders in which such lie.
        added: Models and data that are added while the server runs.

    Raises:
        InputError: Somebody who may label has a name with a comma, which joins names.

    Example:
        >>> declared = Declared((), ())
        >>> declared.check("models", "callable:os:system")
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: this server has no model 'callable:os:system': known names are \
chauffeur, classifier, dave2, ...
    """

    def __init__(
        self,
        models: Sequence[str],
        data: Sequence[str],
        labels: Sequence[str] = (),
        added: AddedFiles | None = None,
    ) -> None:
        from roadworthy.models.zoo import SHIPPED
        from roadworthy.registry import models as registered

        there = set(registered.names())
        shipped = {name: summary for name, summary in SHIPPED.items() if name in there}
        self._given = {
            "models": {**shipped, **dict.fromkeys(models, _GIVEN)},
            "data": {**WORLDS, **dict.fromkeys(data, _GIVEN)},
        }
        self._added = added
        self._labels = tuple(labels)
        for one in self._labels:
            if "," in one:
                raise InputError(
                    f"--labels must name one folder or network at a time, without commas, got {one!r}"
                )
        self._lock = RLock()
        self._choices: dict[str, FormChoice] = {}

    def _summaries(self, kind: str) -> dict[str, str]:
        return self._given[kind] | {key: one.summary for key, one in self.added(kind).items()}

    def added(self, kind: str) -> dict[str, AddedItem]:
        """Return the models or data that were added on the page, by their references."""
        return {} if self._added is None else self._added.ready(kind)

    def check(self, kind: str, reference: str) -> str:
        """Return a reference that was declared.

        Raises:
            InputError: It was not.
        """
        if reference not in self._summaries(kind):
            what, option = ("model", "--model") if kind == "models" else ("data set", "--data")
            known = suggest(reference, self._summaries(kind))
            raise InputError(
                f"this server has no {what} {reference!r}: {known}; start it with {option} to add one"
            )
        return reference

    def models(self) -> list[FormChoice]:
        """Return the models as they are now: files may have changed since they were last opened."""
        from roadworthy.models.zoo import SHIPPED

        with self._lock:
            self._choices = {name: one for name, one in self._choices.items() if name in SHIPPED}
            return [self._model_choice(*one) for one in self._summaries("models").items()]

    def names(self, references: Sequence[str]) -> list[str]:
        """Return what models are called in results; one that cannot be opened any more, as it was declared.

        Example:
            >>> Declared((), ()).names(["dave2", "gone"])
            ['dave2', 'gone']
        """
        with self._lock:
            known = self._summaries("models")
            return [self._model_choice(one, known[one]).name if one in known else one for one in references]

    def data(self) -> list[FormChoice]:
        """Return the data sets."""
        names = {reference: one.name for reference, one in self.added("data").items()}
        return [
            FormChoice(reference, names.get(reference, reference), summary)
            for reference, summary in self._summaries("data").items()
        ]

    def labellers(self) -> list[FormChoice]:
        """Return who may label frames; folders as they are now, networks as `models` found them.

        Example:
            >>> [one.reference for one in Declared((), ()).labellers()][:3]
            ['own', 'street', 'none']
        """
        with self._lock:
            return list({one.reference: one for one in (*_ALWAYS, *self._others())}.values())

    def check_labels(self, what: str, chain: str) -> None:
        """Refuse who may not label frames here: nobody but those who are offered is opened.

        Args:
            what: What they would say: labels, depth or boxes.
            chain: Their names, joined by commas.

        Raises:
            InputError: One of them is not offered for this, or there are too many.

        Example:
            >>> Declared((), ()).check_labels("labels", "own,folder:/etc")
            Traceback (most recent call last):
            ...
            roadworthy.errors.InputError: labels: this server cannot ask 'folder:/etc': known names are ...
        """
        names = [name.strip() for name in chain.split(",")]
        if len(names) > _MOST_ASKED:
            raise InputError(f"{what}: at most {_MOST_ASKED} can be asked in turn, got {len(names)}")
        if all(name in {one.reference for one in _ALWAYS} for name in names):
            return
        known = [one.reference for one in self.labellers() if what in one.says and not one.problem]
        for name in names:
            if name not in known:
                raise InputError(
                    f"{what}: this server cannot ask {name!r}: {suggest(name, known)}; start it with "
                    "--labels to add a folder of maps or a network"
                )

    def _others(self) -> Iterator[FormChoice]:
        for reference in (one for given in self._labels for one in _offered(given)):
            if reference.startswith("folder:"):
                path = reference.removeprefix("folder:").partition("@")[0]
                yield FormChoice(
                    reference, short_name(reference), f"maps in {path}", says=maps_in(Path(path))
                )
            else:
                choice = self._model_choice(reference, _GIVEN)
                if choice.problem and reference not in self._labels and not is_description(reference):
                    continue  # a file beside its description, most likely
                # One of which nothing is known before it is asked may say anything.
                yield replace(choice, says=_said_by(choice.task) if choice.task else _EVERYTHING)
        for network in public_networks().values():
            if (says := _said_by(network.describe.get("output", {}).get("task"))) and not network.missing:
                yield FormChoice(network.name, network.name, network.does, says=says)
        for reference, summary in self._summaries("models").items():
            choice = self._model_choice(reference, summary)
            if says := _said_by(choice.task):
                yield replace(choice, says=says)

    def _model_choice(self, reference: str, summary: str) -> FormChoice:
        from roadworthy.models import Network, load_model
        from roadworthy.models.outputs import RegressionOutput

        if reference not in self._given["models"] and (item := self.added("models").get(reference)):
            # Its file was opened in a process of its own, and is opened nowhere else but in runs.
            told = item.about
            return FormChoice(reference, item.name, item.summary, told["task"], tuple(told["signals"]))
        if reference not in self._choices:
            try:
                system = load_model(reference)
            except (RoadworthyError, OSError) as error:
                choice = FormChoice(reference, reference, summary, problem=str(error))
            else:
                task, outputs = "", tuple[str, ...]()
                if isinstance(system, Network):
                    task = system.task
                    if isinstance(system.output, RegressionOutput):
                        outputs = tuple(system.output.signals)
                choice = FormChoice(reference, system.name, summary, task, outputs)
            self._choices[reference] = choice
        return self._choices[reference]


def _said_by(task: str | None) -> tuple[str, ...]:
    """Return what a network for a task can say of frames."""
    return tuple(what for what, tasks in TASKS.items() if task in tasks)


def _offered(given: str) -> Iterator[str]:
    """Yield what --labels offers: a folder of maps, a network, or what of both lies in a folder.

    A link that leads out of the folder is not followed.
    """
    path, at, classes = given.removeprefix("folder:").partition("@")
    root = Path(path).expanduser()
    if not is_folder(root) or is_description(given):
        yield given
        return
    if maps_in(root):
        yield f"folder:{root}{at}{classes}"
    for one in sorted(root.iterdir()):
        outside = not one.resolve().is_relative_to(root.resolve())
        if outside or set(",@") & set(one.name) or one.name in PARTS:
            continue
        if one.suffix.lower() in _NETWORKS or is_description(str(one)):
            yield str(one)
        elif is_folder(one) and maps_in(one):
            yield f"folder:{one}{at}{classes}"
