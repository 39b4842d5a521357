"""How the operations that an engine does are written: in an engines file, and on an engine's card."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import BaseModel, ConfigDict

from roadworthy._frozen import FrozenDict
from roadworthy.errors import InputError, suggest
from roadworthy.ontology import ontology
from roadworthy.transforms.engines.support import Support
from roadworthy.transforms.wording import Description, described

__all__ = ["Form", "SupportForm"]

_OPERATIONS = ("add", "remove", "replace")


class Form(BaseModel):
    """What users or programs wrote into a file: nothing unknown, no infinities, never changed."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)


class SupportForm(Form):
    """An operation as it is written.

    Attributes:
        operation: "add", "remove" or "replace".
        element: What is added, removed or replaced, as a word of the ontology.
        properties: Of the element, besides those that are in its words.
        by: What comes in its place; nothing for anything.
        relation: How an added thing stands to the reference; nothing for any.
        reference: Where; nothing for anywhere.
    """

    operation: str
    element: str
    properties: dict[str, str] = {}
    by: str | None = None
    relation: str | None = None
    reference: str | None = None

    def support(self, where: Callable[..., str]) -> Support:
        """Return what it means.

        Args:
            where: Returns the place of one of its keys, for messages.

        Raises:
            InputError: It means nothing; names the place.

        Example:
            >>> str(SupportForm(operation="replace", element="building", by="tree").support(lambda *_: "x"))
            'replace building by tree'
        """
        if self.operation not in _OPERATIONS:
            raise InputError(
                f"{where('operation')}: unknown operation {self.operation!r}; "
                f"{suggest(self.operation, _OPERATIONS)}"
            )
        element = _described(self.element, where("element"))
        properties = dict(element.properties)
        for key, value in self.properties.items():
            try:
                properties[key] = ontology().check_property(element.element, key, value)
            except InputError as error:
                raise InputError(f"{where('properties', key)}: {error}") from error
        for key, needed in (("by", "replace"), ("relation", "add"), ("reference", "add")):
            if getattr(self, key) is not None and self.operation != needed:
                raise InputError(
                    f"{where(key)}: {key!r} goes with the operation {needed}, not {self.operation}"
                )
        by = None if self.by is None else _described(self.by, where("by"))
        if by is not None and not _may_come(by, element):
            raise InputError(
                f"{where('by')}: {str(by)!r} cannot come in the place of {str(element)!r}: "
                f"one is {by.condition or element.condition}, the other is not"
            )
        described_element = Description(element.element, FrozenDict(properties))
        return Support(self.operation, described_element, by, self.relation, self.reference)


def _may_come(new: Description, old: Description) -> bool:
    """Return whether a rule can ask for it in the place of another: things both, or conditions of a kind."""
    of_a_kind = new.condition is not None and ontology().is_a(new.condition, old.element)
    return new.condition == old.condition or of_a_kind


def _described(words: str, where: str) -> Description:
    try:
        return described(words)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
