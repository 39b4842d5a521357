import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from roadworthy._frozen import FrozenDict, frozen

WEATHER = FrozenDict({"kind": "rainy", "level": 0.5})


@pytest.mark.parametrize(
    "change",
    [
        lambda mapping: mapping.__setitem__("kind", "sunny"),
        lambda mapping: mapping.__delitem__("kind"),
        lambda mapping: mapping.__ior__({"kind": "sunny"}),
        lambda mapping: mapping.update(kind="sunny"),
        lambda mapping: mapping.setdefault("time", "night"),
        lambda mapping: mapping.pop("kind"),
        lambda mapping: mapping.popitem(),
        lambda mapping: mapping.clear(),
    ],
)
def test_every_way_to_change_it_is_refused(change: Callable[[Any], None]) -> None:
    with pytest.raises(TypeError, match="this mapping cannot be changed: make a changed copy with"):
        change(WEATHER)
    assert WEATHER == {"kind": "rainy", "level": 0.5}


@pytest.mark.parametrize(
    "same", [pickle.loads(pickle.dumps(WEATHER)), copy.copy(WEATHER), copy.deepcopy(WEATHER)]
)
def test_it_stays_frozen_on_its_travels(same: FrozenDict[str, object]) -> None:
    assert same == WEATHER
    assert hash(same) == hash(WEATHER)
    with pytest.raises(TypeError, match="cannot be changed"):
        same["kind"] = "sunny"


def test_it_goes_into_json_and_a_changed_copy_is_a_plain_dict() -> None:
    assert json.loads(json.dumps(WEATHER)) == WEATHER
    assert {**WEATHER, "kind": "sunny"} == {"kind": "sunny", "level": 0.5}


def test_freezing_copies_what_could_still_change_and_nothing_else() -> None:
    mine = {"kind": "rainy"}
    kept = frozen(mine)
    mine["kind"] = "sunny"
    assert kept == {"kind": "rainy"}
    assert frozen(WEATHER) is WEATHER
