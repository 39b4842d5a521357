from collections.abc import Iterator
from pathlib import Path

import pytest

from roadworthy.errors import InputError
from roadworthy.ontology import Ontology, ontology, use_ontology
from roadworthy.rules.wordnet.elements import (
    ALSO,
    NEVER,
    SIDE_MEANINGS,
    USUAL,
    WIDE,
    ElementMatch,
    match_element,
    nearest_elements,
)
from roadworthy.rules.wordnet.lexicon import is_kind_of, letter_of, lexicon, nearest

REFUSED = "refused"


def nouns(name: str) -> dict[str, str]:
    """Return the nouns of a list with the element each means."""
    found = {}
    for line in Path(__file__).with_name(name).read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            element, _, words = line.partition(": ")
            for word in words.split(", "):
                assert word not in found, f"{word} stands twice in {name}"
                found[word] = element
    return found


@pytest.fixture(params=["nouns.txt", "more_nouns.txt"])
def listed(request: pytest.FixtureRequest) -> dict[str, str]:
    return nouns(request.param)


def test_the_lists_are_long_and_hold_words_that_the_ontology_does_not_have(listed: dict[str, str]) -> None:
    refused = [word for word, element in listed.items() if element == REFUSED]
    assert len(refused) >= 120
    assert len(listed) - len(refused) >= 80
    assert [word for word in listed if word in ontology()] == []
    assert {*listed.values()} <= {REFUSED, *ontology().elements}


def test_no_noun_gets_a_wrong_element(listed: dict[str, str]) -> None:
    matches = {word: match_element(word) for word in listed}
    wrong = {word: match for word, match in matches.items() if match and match.element != listed[word]}
    assert wrong == {}


@pytest.mark.parametrize(("name", "least"), [("nouns.txt", 0.98), ("more_nouns.txt", 0.8)])
def test_most_nouns_with_an_element_get_it(name: str, least: float) -> None:
    meant = [word for word, element in nouns(name).items() if element != REFUSED]
    assert sum(match_element(word) is not None for word in meant) >= least * len(meant)


def test_the_floor_of_the_paper_alone_would_not_do(listed: dict[str, str]) -> None:
    """Wu-Palmer similarity above 0.75 to named senses takes more than a third of the refused nouns."""
    leaves = {
        element.name: element.senses
        for element in ontology().elements.values()
        if not ontology().children(element.name)
    }
    refused = [word for word, element in listed.items() if element == REFUSED]
    taken = [word for word in refused if (near := nearest(word, leaves)) and near[0][1] >= 0.75]
    assert len(taken) > len(refused) / 3
    assert {"wolf", "bicycle", "flower"} <= {*taken} or {"lion", "kayak"} <= {*taken}


@pytest.mark.parametrize(
    ("word", "element", "properties"),
    [
        ("hatchback", "vehicle", {"type": "car"}),
        ("ambulance", "vehicle", {"type": "ambulance"}),
        ("fire engine", "vehicle", {"type": "truck"}),
        ("moving van", "vehicle", {"type": "van"}),
        ("minibus", "vehicle", {"type": "bus"}),
        ("moped", "vehicle", {"type": "motorcycle"}),
        ("tramcar", "vehicle", {"type": "tram"}),
        ("camper", "vehicle", {}),
        ("cloudburst", "rainy", {"level": "heavy"}),
        ("mizzle", "rainy", {"level": "light"}),
        ("rainstorm", "rainy", {}),
        ("jogger", "pedestrian", {}),
        # The ontology itself has these, and its word holds.
        ("lorry", "vehicle", {"type": "truck"}),
        ("red car", "vehicle", {"type": "car", "color": "red"}),
        ("lane marking", "line", {}),
    ],
)
def test_a_kind_of_a_thing_has_its_properties(word: str, element: str, properties: dict[str, str]) -> None:
    match = match_element(word)
    assert match is not None
    assert (match.element, dict(match.properties)) == (element, properties)


def test_a_match_tells_why() -> None:
    match = match_element("jogger")
    assert match == ElementMatch(
        "pedestrian", {}, "jogger.n.01", "runner.n.02", match.similarity if match else 0, 1.0
    )
    assert match is not None
    # runner.n.02 is 10 deep with the virtual root, and one step above.
    assert match.similarity == pytest.approx(20 / 21)
    known = match_element("pedestrian")
    assert known is not None
    assert (known.sense, known.similarity, known.share) == (None, 1.0, 1.0)


def test_the_wood_of_a_tree_does_not_speak_against_the_tree_but_another_thing_does() -> None:
    oak = match_element("oak")
    assert oak is not None
    assert (oak.element, oak.sense, oak.share) == ("tree", "oak.n.02", 1.0)
    assert match_element("ash") is None  # what a fire leaves
    assert match_element("plane") is None


@pytest.mark.parametrize("category", ["object", "environment", "static object", "weather"])
def test_nothing_is_a_kind_of_a_category(category: str) -> None:
    everything = [*nouns("nouns.txt"), *nouns("more_nouns.txt")]
    assert all(match is None or match.element != category for match in map(match_element, everything))


def test_nearest_elements_are_hints() -> None:
    near = nearest_elements("wolf")
    assert near[0][0] == "pedestrian"
    assert len(near) == 3
    assert near == sorted(near, key=lambda one: -one[1])
    assert nearest_elements("bus lane", 1)[0][0] == "lane"
    assert nearest_elements("blorp") == []
    assert not {"object", "weather", "time"} & {name for name, _ in nearest_elements("wolf", 100)}


@pytest.fixture
def extended(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[None]:
    path = tmp_path / "mine.yaml"
    path.write_text(request.param, "utf-8")
    use_ontology(Ontology.load(path))
    yield
    use_ontology(None)


ANIMALS = """
elements:
  animal:
    parent: dynamic object
    senses: [animal.n.01]
extend:
  vehicle:
    senses: [bicycle.n.01]
"""


@pytest.mark.usefixtures("extended")
@pytest.mark.parametrize("extended", [ANIMALS], indirect=True)
def test_senses_of_users_reach_down_to_all_below_them() -> None:
    matches = {word: match_element(word) for word in ("wolf", "deer", "tandem", "jogger", "bank", "sponge")}
    assert {word: match.element for word, match in matches.items() if match} == {
        "wolf": "animal",
        "deer": "animal",
        "jogger": "pedestrian",
    }
    assert match_element("mountain bike") is not None


SMUGGLERS = "elements:\n  smuggler:\n    parent: dynamic object\n    senses: [smuggler.n.01]\n"


@pytest.mark.usefixtures("extended")
@pytest.mark.parametrize("extended", [SMUGGLERS], indirect=True)
def test_a_word_that_may_mean_two_elements_means_neither() -> None:
    # WordNet's first runner is a smuggler, its second runs; without the new element it is a person anyway.
    assert match_element("runner") is None
    assert match_element("jogger") is not None


def test_an_ontology_that_is_taken_back_leaves_nothing_behind() -> None:
    assert match_element("wolf") is None
    assert match_element("runner") is not None


@pytest.mark.usefixtures("extended")
@pytest.mark.parametrize("extended", ["elements:\n  hut:\n    senses: [hut.n.77]\n"], indirect=True)
def test_a_sense_that_does_not_exist_is_refused_with_its_element() -> None:
    with pytest.raises(InputError, match=r"element 'hut'.*'hut.n.77' is no sense"):
        match_element("cabin")


def test_the_reach_of_elements_is_made_of_senses_that_exist() -> None:
    words = lexicon("n")
    for name in (
        *WIDE,
        *(sense for table in (ALSO, NEVER, SIDE_MEANINGS) for row in table.values() for sense in row),
    ):
        assert words.synset(name) >= 0
    assert {*ALSO, *NEVER, *SIDE_MEANINGS} <= {*ontology().elements}
    for word, sense in USUAL.items():
        assert word in words.lemmas
        assert word not in ontology()
        if sense is not None:
            assert sense in [one.name for one in words.senses(word)]
            assert match_element(word.replace("_", " ")) is not None


def test_every_wide_sense_and_every_exception_changes_something() -> None:
    anchors = {
        element.name: {*element.senses, *ALSO.get(element.name, ())}
        for element in ontology().elements.values()
    }
    assert {*WIDE} <= {sense for senses in anchors.values() for sense in senses}
    for element, row in NEVER.items():
        senses = sorted(row)
        down = [one for one in anchors[element] if letter_of(one) == "n" and one not in WIDE]
        for sense in senses:
            within = [*down, *SIDE_MEANINGS.get(element, ())]
            assert any(is_kind_of(sense, one) for one in within), f"{element} does not reach {sense} anyway"


def test_what_is_matched_with_the_built_in_ontology_reaches_the_floor_of_the_paper() -> None:
    matches = [match_element(word.replace("_", " ")) for word in sorted(lexicon("n").lemmas)[::10]]
    found = [match for match in matches if match]
    assert len(found) > 300
    assert min(match.similarity for match in found) >= 0.75


def test_a_name_in_use_is_no_thing_of_the_same_letters() -> None:
    assert match_element("berlin") is None, "the town is meant more often than the carriage"
    assert match_element("limousine") is not None
