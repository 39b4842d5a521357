"""The parameters of Table 4 of DeepTest, as it prints them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from roadworthy.coverage.parameter_sets import (
    COMPOSITE,
    SIMPLE,
    ParameterChoice,
    ParameterSet,
    parameter_sets,
)
from roadworthy.errors import InputError
from roadworthy.transforms import make_transform

TABLE_4: dict[str, Sequence[object]] = {
    "translation": [(10.0 * k, 10.0 * k) for k in range(1, 11)],
    "scale": [(1 + 0.5 * k, 1 + 0.5 * k) for k in range(1, 11)],
    "shear": [(-1.1 + 0.1 * k, 0.0) for k in range(1, 11)],
    "rotation": [3.0 * k for k in range(1, 11)],
    "contrast": [1 + 0.2 * k for k in range(1, 11)],
    "brightness": [10.0 * k for k in range(1, 11)],
}


def test_the_simple_ones_have_ten_parameters_each_as_in_table_4() -> None:
    sets = {one.name: one for one in parameter_sets()}
    assert tuple(sets) == SIMPLE
    assert {len(one) for one in sets.values()} == {10}
    for name, expected in TABLE_4.items():
        for choice, wanted in zip(sets[name], expected, strict=True):
            assert choice.parameter == pytest.approx(wanted)


def test_the_ten_blurs_are_four_filters() -> None:
    (blur,) = parameter_sets(["blur"])
    assert [choice.parameter for choice in blur] == [
        *(("averaging", size) for size in (3, 4, 5, 6)),
        *(("gaussian", size) for size in (3, 5, 7)),
        *(("median", size) for size in (3, 5)),
        ("bilateral", 9, 75.0, 75.0),
    ]


def test_words_name_groups_transforms_and_single_choices() -> None:
    named = parameter_sets(["deeptest"])
    assert tuple(one.name for one in named) == (*SIMPLE, *COMPOSITE)
    night, rotation = parameter_sets(["night", "rotation(angle=5)", "rotation:deeptest-2"])
    assert [choice.parameter for choice in night] == [level / 10 for level in range(1, 11)]
    assert [str(choice.transform) for choice in rotation] == ["rotation(angle=5)", "rotation(angle=6)"]
    assert len(parameter_sets(["simple", "blur", "rotate"])) == len(SIMPLE), "nothing is there twice"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "expected the names of transformations"),
        ("simple", "expected the names of transformations"),
        (["rotattion"], "did you mean 'rotation'"),
        (["mirror"], "mirror has no amount: give its parameters"),
        (["rotation", "rotation(angle=5)"], "rotation is named with all its parameters and with single ones"),
        (["rotation(angle=5)", "rotation(angle=5.0)"], "every parameter once"),
    ],
)
def test_refuses(words: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parameter_sets(words)


def test_a_set_needs_choices() -> None:
    with pytest.raises(InputError, match="expected at least one parameter"):
        ParameterSet("blur", ())
    with pytest.raises(InputError, match="every parameter once"):
        ParameterSet("blur", (ParameterChoice(3, make_transform("median-blur")),) * 2)
