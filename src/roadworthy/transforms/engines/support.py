"""Which operations an engine does."""

from __future__ import annotations

from dataclasses import dataclass

from roadworthy._frozen import FrozenDict
from roadworthy.transforms.operations import AddOperation, Operation, RemoveOperation, ReplaceOperation
from roadworthy.transforms.wording import Description

__all__ = ["Support"]


@dataclass(frozen=True)
class Support:
    """An operation that an engine does, with all that lies below the elements it names.

    Attributes:
        operation: "add", "remove" or "replace".
        element: What is added, removed or replaced.
        by: What comes in its place; None for anything.
        relation: How an added thing stands to the reference; None for any relation.
        reference: Where; None for anywhere.
    """

    operation: str
    element: Description
    by: Description | None = None
    relation: str | None = None
    reference: str | None = None

    def covers(self, operation: Operation) -> bool:
        """Return whether an operation is one of these."""
        if self.operation != operation.kind or not self.element.covers(operation.what):
            return False
        if isinstance(operation, ReplaceOperation):
            return self.by is None or self.by.covers(_levelled(operation.new, self.by))
        if isinstance(operation, AddOperation):
            return self.relation in (None, operation.relation) and self.reference in (
                None,
                operation.reference,
            )
        return True

    def asked(self) -> Operation | None:
        """Return the operation that asks for just this; None if it does not say what comes in its place.

        Example:
            >>> from roadworthy.transforms.wording import described
            >>> Support("remove", described("line")).asked()
            RemoveOperation(element='line')
        """
        element = str(self.element)
        if self.operation == "remove":
            return RemoveOperation(element)
        if self.operation == "add":
            return AddOperation(element, self.relation or "on", self.reference or "roadside")
        return None if self.by is None else ReplaceOperation(element, str(self.by))

    def __str__(self) -> str:
        by = "" if self.by is None else f" by {self.by}"
        where = " ".join(word for word in (self.relation, self.reference) if word)
        return f"{self.operation} {self.element}{by}" + (f" {where}" if where else "")


def _levelled(asked: Description, by: Description) -> Description:
    """Return what is asked for with the level that nobody needs to say, for an engine that says its own."""
    if "level" in asked.properties or by.properties.get("level") != "normal":
        return asked
    return Description(asked.element, FrozenDict({**asked.properties, "level": "normal"}), asked.words)
