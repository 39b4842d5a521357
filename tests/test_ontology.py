import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from roadworthy._frozen import FrozenDict
from roadworthy._ontology_file import load_elements
from roadworthy.errors import OntologyError
from roadworthy.ontology import Ontology, ontology, use_ontology

TABLE_3 = {
    "lane": (
        "road part",
        {
            "direction": ["forward", "reverse"],
            "orientation": ["vertical", "horizontal"],
            "position": ["left", "right"],
        },
    ),
    "line": ("road part", {"type": ["solid", "dash"], "color": ["white", "yellow"]}),
    "crosswalk": ("road part", {"orientation": ["vertical", "horizontal"]}),
    "sidewalk": ("road part", {}),
    "traffic sign": (
        "traffic infrastructure",
        {"type": ["stop", "speed limit", "turn"], "shape": ["circle", "square"]},
    ),
    "traffic light": ("traffic infrastructure", {"color": ["red", "yellow", "green"]}),
    "stop and yield line": ("traffic infrastructure", {}),
    "tree": ("static object", {}),
    "building": ("static object", {}),
    "pedestrian": ("dynamic object", {}),
    "vehicle": (
        "dynamic object",
        {"type": ["car", "truck", "van", "school bus"], "color": ["white", "black", "blue"]},
    ),
    "bicyclist": ("dynamic object", {}),
    "rainy": ("weather", {"level": ["light", "normal", "heavy"]}),
    "cloudy": ("weather", {"level": ["light", "normal", "heavy"]}),
    "snowy": ("weather", {"level": ["light", "normal", "heavy"]}),
    "day": ("time", {}),
    "night": ("time", {}),
}


@pytest.mark.parametrize("name", TABLE_3)
def test_table_3_of_the_paper_is_there_with_parents_and_property_values(name: str) -> None:
    parent, properties = TABLE_3[name]
    element = ontology().elements[name]
    assert element.parent == parent
    for key, values in properties.items():
        assert set(values) <= set(element.properties[key])
        assert [ontology().check_property(name, key, value) for value in values] == values


@pytest.mark.parametrize(
    ("level_1", "category"),
    [
        ("road part", "road network"),
        ("traffic infrastructure", "road network"),
        ("static object", "object"),
        ("dynamic object", "object"),
        ("weather", "environment"),
        ("time", "environment"),
    ],
)
def test_categories(level_1: str, category: str) -> None:
    assert ontology().ancestors(level_1) == (category,)
    assert ontology().elements[category].parent is None


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("fog", "foggy"),
        ("clear", "sunny"),
        ("cyclist", "bicyclist"),
        ("person", "pedestrian"),
        ("lorry", "vehicle"),
        ("stop line", "stop and yield line"),
        ("Yield_Line", "stop and yield line"),
        ("EGO vehicle", "ego-vehicle"),
        ("traffic-light", "traffic light"),
        ("  sky ", "sky"),
        ("verge", "terrain"),
        ("twilight", "dusk"),
    ],
)
def test_words_resolve_to_their_element(word: str, name: str) -> None:
    assert ontology().resolve(word).name == name
    assert ontology()[word].name == name
    assert word in ontology()
    found = ontology().get(word)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("lane lines", "line"),
        ("buildings", "building"),
        ("Pedestrians", "pedestrian"),
        ("trees", "tree"),
        ("bushes", "tree"),
        ("houses", "building"),
        ("skies", "sky"),
        ("stop_signs", "stop sign"),
        ("lorries", "lorry"),
        ("school buses", "school bus"),
        ("dashed lines", "dashed line"),
        ("traffic-lights", "traffic light"),
        ("stop and yield lines", "stop and yield line"),
        ("children", "child"),
        ("passers-by", "pedestrian"),
    ],
)
def test_plurals_mean_what_the_word_means(plural: str, singular: str) -> None:
    assert ontology().resolve_with_properties(plural) == ontology().resolve_with_properties(singular)
    assert plural in ontology()
    assert ontology().get(plural) is not None


def test_every_word_keeps_its_own_meaning_and_lends_it_to_its_plural() -> None:
    for element in ontology().elements.values():
        plain = dict.fromkeys((element.name, *element.synonyms), FrozenDict[str, str]())
        for word, properties in (plain | dict(element.kinds)).items():
            plurals = [word + "s", word + "es", word[:-1] + "ies"]
            regular = 1 if word.endswith(("s", "x", "z", "ch", "sh")) else 0
            if word.endswith("y") and word[-2] not in "aeiou":
                regular = 2
            for one in (word, plurals[regular]):
                assert ontology().resolve_with_properties(one) == (element, properties), one


@pytest.mark.parametrize("word", ["gras", "buss", "busss", "glasses", "s", "ies", "es", "", "news", "carx"])
def test_what_only_looks_like_a_plural_is_unknown(word: str) -> None:
    assert ontology().get(word) is None


def test_a_plural_with_a_meaning_of_its_own_or_with_two_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("elements: {glass: {}, glasses: {parent: object}, bas: {}, base: {}}\n")
    mine = Ontology.load(file)
    assert mine["glasses"].parent == "object"
    assert mine["bas"].name != mine["base"].name
    assert "bases" not in mine


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("truck", ("vehicle", {"type": "truck"})),
        ("school bus", ("vehicle", {"type": "school bus"})),
        ("lorry", ("vehicle", {"type": "truck"})),
        ("vehicle", ("vehicle", {})),
        ("stop sign", ("traffic sign", {"type": "stop"})),
        ("red light", ("traffic light", {"color": "red"})),
        ("downpour", ("rainy", {"level": "heavy"})),
        ("red cars", ("vehicle", {"type": "car", "color": "red"})),
        ("Yellow school-bus", ("vehicle", {"type": "school bus", "color": "yellow"})),
        ("solid white lane line", ("line", {"color": "white", "type": "solid"})),
        ("heavy rain", ("rainy", {"level": "heavy"})),
        ("red traffic light", ("traffic light", {"color": "red"})),
    ],
)
def test_kinds_carry_properties(word: str, expected: tuple[str, dict[str, str]]) -> None:
    element, properties = ontology().resolve_with_properties(word)
    assert (element.name, dict(properties)) == expected


@pytest.mark.parametrize("word", ["purple car", "green red light", "heavy car", "red", "red rain"])
def test_what_describes_nothing_known_is_unknown(word: str) -> None:
    assert ontology().get(word) is None


def test_word_for_goes_back_from_every_kind_to_a_word_of_the_same_meaning() -> None:
    for element in ontology().elements.values():
        for properties in element.kinds.values():
            word = ontology().word_for(element.name, properties)
            assert ontology().resolve_with_properties(word) == (element, properties)


def test_unknown_word_suggests_near_ones_or_lists_the_names() -> None:
    with pytest.raises(OntologyError, match="'bilding' is not in the ontology: did you mean 'building'"):
        ontology().resolve("bilding")
    with pytest.raises(OntologyError, match="known names are autumn, bicyclist, building, "):
        ontology().resolve("qqqq")
    assert ontology().get("bilding") is None
    assert "bilding" not in ontology()


def test_hierarchy() -> None:
    roads = ontology()
    assert roads.is_a("car", "dynamic object")
    assert roads.is_a("pedestrian", "pedestrian")
    assert not roads.is_a("pedestrian", "vehicle")
    assert not roads.is_a("vehicle", "truck")
    assert not roads.is_a("ego-vehicle", "dynamic object"), "the bonnet of the ego-vehicle is no road user"
    assert roads.leaves("weather") == ("rainy", "cloudy", "snowy", "foggy", "sunny")
    assert roads.leaves("day") == ("day",)


def test_check_property() -> None:
    assert ontology().check_property("traffic sign", "type", "yield") == "yield"
    assert ontology().check_property("fog", "level", "Heavy") == "heavy"
    with pytest.raises(OntologyError, match="'tree' has no property 'level': no names are known"):
        ontology().check_property("tree", "level", "heavy")
    with pytest.raises(OntologyError, match="'hevy' is not a level of 'rainy': did you mean 'heavy'"):
        ontology().check_property("rainy", "level", "hevy")


def test_label_classes_and_palette() -> None:
    roads = ontology()
    assert set(roads.label_classes) == {
        "void", "road", "line", "crosswalk", "sidewalk", "stop and yield line",
        "traffic sign", "traffic light", "tree", "building", "pedestrian", "vehicle",
        "bicyclist", "sky", "terrain", "pole", "ego-vehicle", "traffic cone", "dog",
    }  # fmt: skip
    assert roads.label_classes[0] == "void"
    assert roads.palette.shape == (len(roads.label_classes), 3)
    assert len({tuple(color) for color in roads.palette.tolist()}) == len(roads.palette)
    assert roads.palette[roads.label_id("road")].tolist() == [128, 64, 128]
    with pytest.raises(OntologyError, match="'lane' is no class of label maps"):
        roads.label_id("lane")


def test_users_extend_without_changing_label_ids(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "elements:\n"
        "  bollard:\n"
        "    parent: static object\n"
        "    synonyms: [pylon]\n"
        "    color: [255, 90, 0]\n"
        "  hail: {parent: weather}\n"
        "  sun shower: {parent: rainy, properties: {level: [light]}}\n"
        "extend:\n"
        "  vehicle:\n"
        "    synonyms: [Fahrzeug]\n"
        "    senses: [tractor.n.01]\n"
        "    properties: {type: [tractor], make: [vw]}\n"
        "    kinds: {tractor: {type: tractor}}\n"
    )
    mine = Ontology.load(file)
    built_in = ontology().label_classes
    assert mine.label_classes == (*built_in, "bollard")
    assert mine["pylon"].name == "bollard"
    assert mine["fahrzeug"].name == "vehicle"
    assert mine.resolve_with_properties("tractor")[1] == {"type": "tractor"}
    assert mine.check_property("vehicle", "make", "VW") == "vw"
    assert mine["vehicle"].senses[-1] == "tractor.n.01"
    assert mine["hail"].properties["level"] == ("light", "normal", "heavy"), "properties are inherited"
    assert mine["sun shower"].properties["level"] == ("light",), "and its own come first"
    assert "pylon" not in ontology()


def test_the_word_for_a_thing_is_the_one_that_says_most(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("extend: {vehicle: {kinds: {black cab: {type: car, color: black}}}}\n")
    mine = Ontology.load(file)
    assert mine.word_for("vehicle", {"type": "car", "color": "black"}) == "black cab"
    assert mine.word_for("vehicle", {"type": "car", "color": "white"}) == "car"


def test_use_ontology_makes_own_classes_known_to_frames(tmp_path: Path) -> None:
    from roadworthy.frames import Boxes

    file = tmp_path / "mine.yaml"
    file.write_text("elements: {bollard: {parent: static object}}\n")
    try:
        use_ontology(Ontology.load(file))
        assert len(Boxes([[0, 0, 1, 1]], ["bollard"]).select("static object")) == 1
    finally:
        use_ontology(None)
    with pytest.raises(OntologyError, match="box 0: 'bollard' is not in the ontology"):
        Boxes([[0, 0, 1, 1]], ["bollard"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("elements:\n  a: {parent: b}\n  b: {parent: a}\n", ":2: parents form a cycle: a > b > a"),
        ("elements:\n  a: {parent: a}\n", ":2: parents form a cycle: a > a"),
        ("elements:\n  hut: {}\n  hut: {}\n", ":3:3: 'hut' is written twice, first on line 2"),
        (
            "elements:\n  hut:\n    synonyms: [cabin]\n    synonyms: [shed]\n",
            ":4:5: 'synonyms' is written twice, first on line 3",
        ),
        (
            "elements:\n  lane: {}\n",
            r":2: element 'lane' is already defined at .*ontology.yaml:\d+: add to it",
        ),
        (
            "elements:\n  tank:\n    synonyms:\n      - armour\n      - car\n",
            r":5: 'car' is given to 'tank' but already belongs to 'vehicle' \(.*ontology.yaml:\d+\)",
        ),
        ("elements:\n  Traffic_Light: {}\n", ":2: element names are lower case .* got 'Traffic_Light'"),
        (
            "elements:\n  traffic-light: {}\n",
            ":2: 'traffic-light' is given .* already belongs to 'traffic light'",
        ),
        ("elements:\n  void: {}\n", ":2: 'void' .* belongs to 'void'"),
        ("extend:\n  vehicle:\n    synonyms: [fog]\n", ":3: 'fog' .* already belongs to 'foggy'"),
        ("elements:\n  hut:\n    parent: statik object\n", ":3: the parent .* did you mean 'static object'"),
        ("elements:\n  hut:\n    colour: [1, 2, 3]\n", ":3: unknown key 'colour': did you mean 'color'"),
        ("element:\n  hut: {}\n", ":1: unknown key 'element': did you mean 'elements'"),
        ("extend:\n  vehicle:\n    color: [1, 2, 3]\n", ":3: unknown key 'color'"),
        ("extend:\n  vehikle: {}\n", ":2: there is no element 'vehikle': did you mean 'vehicle'"),
        (
            "elements:\n  hut:\n    color: [70, 70, 70]\n",
            r":3: 'hut' has the colour \(70, 70, 70\) of 'building'",
        ),
        ("elements:\n  hut:\n    color: [0, 0, 0]\n", ":3: 'hut' has the colour .* of 'void'"),
        ("elements:\n  hut:\n    color: [0, 0, 256]\n", ":3: .*color > 2: expected .*255, got 256"),
        ("elements:\n  hut:\n    color: [0, 0]\n", ":3: .*color: .*at least 3 items.*, got"),
        ("elements:\n  hut:\n    synonyms: shed\n", ":3: .*synonyms: expected a list, got 'shed'"),
        ("elements:\n  hut:\n    synonyms: [no]\n", ":3: .*synonyms > 0: expected text, got False"),
        ("elements:\n  hut:\n    senses: [hut]\n", ":3: .*senses > 0: .*, got 'hut'"),
        ("elements:\n  hut: shed\n", ":2: elements > hut: .*, got 'shed'"),
        ("elements:\n  3: {}\n", ":2: elements > 3: expected text, got 3"),
        (
            "extend:\n  vehicle:\n    kinds: {tractor: {type: tractor}}\n",
            ":3: 'tractor' means 'vehicle' with type 'tractor', but expected one of car, truck",
        ),
        (
            "extend:\n  vehicle:\n    kinds: {limousine: {length: long}}\n",
            ":3: 'limousine' means .* but expected one of the properties type, color",
        ),
        (
            "extend:\n  tree:\n    kinds: {oak: {type: oak}}\n",
            ":3: 'oak' means 'tree' with type 'oak', but expected no properties at all",
        ),
        ("- lane\n", ":1: expected a mapping .*, got a list"),
        ("lane\n", ":1: expected a mapping .*, got a single value"),
        ("", ": the ontology file is empty"),
        ("# nothing\n", ": the ontology file is empty"),
        ("elements:\n  hut: {parent: [}\n", r":2:\d+: broken YAML: "),
        ("elements: {}\n---\nelements: {}\n", r":2:\d+: broken YAML: "),
        ("elements: \x00\n", ": broken YAML: "),
        ("elements:\n  hut: &h {}\n  shed: *h\n", ":2:8: broken YAML: anchors and aliases .* not allowed"),
        (
            "elements: !!python/object/apply:os.getcwd []\n",
            r":1:\d+: broken YAML: could not determine a constructor",
        ),
        pytest.param(
            "elements: " + "[" * 3000, r":1:\d+: broken YAML: nested too deeply", id="deeply nested"
        ),
    ],
)
def test_a_broken_file_is_refused_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(OntologyError, match=r"mine\.yaml" + message):
        Ontology.load(file)


def test_all_wrong_types_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("elements:\n  hut:\n    synonyms: shed\n    description: 3\n")
    with pytest.raises(OntologyError, match=r"(?s)mine\.yaml:3: .*mine\.yaml:4: "):
        Ontology.load(file)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(OntologyError, match=r"absent\.yaml: cannot read the ontology file: No such file"):
        Ontology.load(tmp_path / "absent.yaml")
    (tmp_path / "latin.yaml").write_bytes("elements: {straße: {}}".encode("latin-1"))
    with pytest.raises(OntologyError, match=r"latin\.yaml: an ontology file must be UTF-8"):
        Ontology.load(tmp_path / "latin.yaml")


def test_the_ontology_is_read_once_travels_to_workers_and_cannot_be_changed() -> None:
    assert ontology() is ontology()
    copy = pickle.loads(pickle.dumps(ontology()))
    assert copy.elements == ontology().elements
    assert hash(copy["car"]) == hash(ontology()["car"])
    with pytest.raises(TypeError, match="cannot be changed"):
        ontology()["car"].properties["type"] = ()  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        ontology().palette[0] = 1


def test_importing_frames_and_ontology_stays_light() -> None:
    code = (
        "import sys, roadworthy.frames, roadworthy.ontology, roadworthy.images; "
        "print([name for name in ('cv2', 'yaml', 'pydantic', 'scipy', 'torch') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_near_words_are_suggested_whether_they_are_names_synonyms_or_kinds() -> None:
    roads = ontology()
    with pytest.raises(OntologyError, match="'lorrry' is not in the ontology: did you mean 'lorry'"):
        roads.resolve("lorrry")
    assert roads.get("lorrry") is None
    assert (roads.condition_of("lorrry"), roads.condition_of("lorry")) == (None, None)
    assert roads.condition_of("rainy") == "weather"
    assert "lorrry" not in roads
    assert 3 not in roads
    assert repr(roads) == f"Ontology({len(roads.elements)} elements, 19 label classes)"


def test_files_add_up_in_their_order_and_each_word_is_claimed_once(tmp_path: Path) -> None:
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text(
        "elements:\n"
        "  thing: {properties: {size: [small, large]}, color: [0, 255, 1]}\n"
        "  cone: {parent: thing, synonyms: [pylon], senses: [cone.n.01], description: orange,\n"
        "    properties: {size: [tiny]}, kinds: {tiny cone: {size: tiny}}}\n"
    )
    second.write_text(
        "extend:\n"
        "  cone: {synonyms: [pylon, witch hat], senses: [cone.n.01, hat.n.02],\n"
        "    properties: {size: [tiny, huge], state: [fallen]}, kinds: {huge cone: {size: huge}}}\n"
    )
    found = load_elements([first, second])
    assert list(found) == ["thing", "cone"]
    assert found["thing"].color == (0, 255, 1)
    cone = found["cone"]
    assert (cone.parent, cone.color, cone.description) == ("thing", None, "orange")
    assert cone.synonyms == ("pylon", "witch hat")
    assert cone.senses == ("cone.n.01", "hat.n.02")
    assert cone.properties == {"size": ("tiny", "huge"), "state": ("fallen",)}, (
        "its own go before its parent's"
    )
    assert cone.kinds == {"tiny cone": {"size": "tiny"}, "huge cone": {"size": "huge"}}
    assert found["thing"].properties == {"size": ("small", "large")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("elements: {a: {color: [0, 0, 256]}}", "256"),
        ("elements: {a: {color: [-1, 0, 0]}}", "-1"),
        ("elements: {a: {color: [1, 2]}}", "a.yaml:1: "),
        ("elements: {a: {color: [1, 2, 3, 4]}}", "a.yaml:1: "),
        ("elements: {a: {color: [1, 2, 3]}, b: {color: [1, 2, 3]}}",
         "'b' has the colour (1, 2, 3) of 'a': give it one of its own"),
        ("elements: {a: {synonyms: [b]}, b: {}}", "'b' is given to 'b' but already belongs to 'a'"),
        ("elements: {void: {}}", "'void' is given to 'void' but already belongs to 'void' (a reserved word)"),
        ("elements: {a: {parent: b}}", "the parent of 'a' is 'b', which is no element"),
        ("elements: {a: {kinds: {x: {size: s}}}}",
         "'x' means 'a' with size 's', but expected no properties at all"),
        ("elements: {a: {properties: {size: [s]}, kinds: {x: {size: t}}}}", "but expected one of s"),
        ("elements: {a: {properties: {size: [s]}, kinds: {x: {hue: t}}}}", "one of the properties size"),
        ("elements: {a: {senses: [car]}}", "car"),
        ("extend: {a: {synonyms: [b]}}", "there is no element 'a'"),
    ],
)  # fmt: skip
def test_elements_that_contradict_each_other(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(OntologyError) as caught:
        load_elements([tmp_path / "a.yaml"])
    assert message in str(caught.value)
    assert f"{tmp_path}/a.yaml:1" in str(caught.value)
