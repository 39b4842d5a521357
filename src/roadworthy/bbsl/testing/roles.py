"""Which external function of a specification stands for the object under test.

A test over single objects (the paper's) asks the specification about one object at a time: one function
gives its box, and another may say whether it is there at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from roadworthy.bbsl.specification import Spec
from roadworthy.bbsl.syntax import Type
from roadworthy.errors import InputError, suggest
from roadworthy.ontology import ontology


@dataclass(frozen=True)
class ObjectRole:
    """The functions that stand for the object under test.

    Attributes:
        function: The one that gives its box.
        exists: Those that say whether it is there: true for an object of the ground truth, and for its
            detection if there is one.
        classes: Words of the ontology: which objects are tested. Detections of the same elements are matched
            with them, whatever their properties: a truck that is detected as a car is detected.
    """

    function: str
    exists: tuple[str, ...] = ()
    classes: tuple[str, ...] = ("vehicle",)

    def __post_init__(self) -> None:
        for word in self.classes:
            ontology().resolve(word)

    @property
    def elements(self) -> tuple[str, ...]:
        """The elements of the ontology that the classes belong to: "truck" is a vehicle."""
        return tuple(dict.fromkeys(ontology().resolve(word).name for word in self.classes))

    @property
    def names(self) -> tuple[str, ...]:
        """All functions that the role gives values to."""
        return (self.function, *self.exists)


def find_role(
    spec: Spec, bound: Collection[str], *, function: str = "", classes: Iterable[str] = ("vehicle",)
) -> ObjectRole | None:
    """Return the functions that stand for the object under test.

    Args:
        spec: The specification.
        bound: The functions that have values already.
        function: The one that gives the box; when left out, the only one of type bb that is not bound, if
            there is one.
        classes: Which objects are tested.

    Returns:
        None when every function of type bb is bound: then the test is about whole frames.

    Raises:
        InputError: The function is not declared or gives no box, or several come into question.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> spec = parse('''
        ... exfunction vehicleExists(): bool vehicle(): bb stoppingDistance(): interval endexfunction
        ... precondition [vehicleExists() = true] endprecondition
        ... case stop PROJ_y(vehicle()) ~ stoppingDistance() endcase
        ... ''')
        >>> find_role(spec, ["stoppingDistance"])
        ObjectRole(function='vehicle', exists=('vehicleExists',), classes=('vehicle',))
    """
    boxes = [one.name for one in spec.functions if one.result is Type.BB and not one.parameters]
    if function:
        if function not in boxes:
            raise InputError(
                f"the object under test must be an external function of type bb without arguments, "
                f"got {function!r}: {suggest(function, boxes)}"
            )
    else:
        free = [name for name in boxes if name not in bound]
        if not free:
            return None
        if len(free) > 1:
            raise InputError(
                f"the object under test may be {' or '.join(f'{name}()' for name in free)}: say which "
                "(--object), and bind the others (--set or --bind)"
            )
        function = free[0]
    wanted = f"{function}exists".casefold()
    exists = tuple(
        one.name
        for one in spec.functions
        if one.result is Type.BOOL and one.name.casefold() == wanted and one.name not in bound
    )
    return ObjectRole(function, exists, tuple(classes))


def object_values(role: ObjectRole, box: Sequence[float] | None) -> dict[str, Any]:
    """Return the values of the functions that stand for the object under test; None where there is no box.

    Example:
        >>> object_values(ObjectRole("vehicle", ("vehicleExists",)), None)
        {'vehicle': None, 'vehicleExists': False}
    """
    return {role.function: box, **dict.fromkeys(role.exists, box is not None)}
