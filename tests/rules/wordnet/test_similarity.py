import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.errors import InputError
from roadworthy.rules.wordnet.lexicon import common_senses, is_kind_of, lexicon, nearest, synsets, wup

SENSES = st.sampled_from(sorted(lexicon("n").lemmas)[::7]).map(lambda lemma: f"{lemma}.n.01")

# Counted by hand on the lines of WordNet 3.0, a virtual root on top of entity.n.01.
BY_HAND = {
    # person.n.01 is the 7th below it on its longest line, so 8 deep; pedestrian, traveler, person: 2 steps.
    ("person.n.01", "pedestrian.n.01"): 16 / 18,
    # carnivore.n.01 is 13 deep; canine and feline lie between.
    ("dog.n.01", "cat.n.01"): 26 / 30,
    # organism.n.01 is 7 deep; the dog is 3 steps from it as a domestic animal, the person 1.
    ("dog.n.01", "person.n.01"): 14 / 18,
    # motor_vehicle.n.01 is 12 deep.
    ("car.n.01", "truck.n.01"): 24 / 26,
    # precipitation.n.03 is 10 deep.
    ("rain.n.01", "snow.n.01"): 20 / 22,
    # Nothing but physical_entity.n.01, 3 deep, over process and object: 8 and 8 steps.
    ("rain.n.01", "street.n.01"): 6 / (6 + 8 + 7),
    # whole.n.02, 5 deep, is 3 and 7 steps away; physical_entity.n.01 is nearer, by the causal agent and by
    # food, but only 3 deep.
    ("person.n.01", "apple.n.01"): 10 / 20,
    # change_magnitude.v.01 is below change.v.02, so 3 deep.
    ("increase.v.01", "decrease.v.01"): 6 / 8,
    ("pedestrian.n.01", "walker.n.03"): 1.0,
}


@pytest.mark.parametrize(("pair", "expected"), BY_HAND.items())
def test_similarity_by_hand(pair: tuple[str, str], expected: float) -> None:
    assert wup(*pair) == pytest.approx(expected)


# From NLTK's documentation and tutorials, which use WordNet 3.0; NLTK adds a root for verbs only.
NLTK = {
    ("dog.n.01", "cat.n.01"): 0.8571428571428571,
    ("ship.n.01", "boat.n.01"): 0.9090909090909091,
    ("ship.n.01", "car.n.01"): 0.6956521739130435,
    ("ship.n.01", "cat.n.01"): 0.32,
    ("cookbook.n.01", "instruction_book.n.01"): 0.9166666666666666,
}


@pytest.mark.parametrize(("pair", "expected"), NLTK.items())
def test_similarity_of_nouns_in_nltk(pair: tuple[str, str], expected: float) -> None:
    assert wup(*pair, virtual_root=False) == pytest.approx(expected)


def test_similarity_of_verbs_in_nltk() -> None:
    assert wup("hit.v.01", "slap.v.01") == pytest.approx(0.25)


def test_verbs_without_a_common_ancestor_need_the_virtual_root() -> None:
    assert wup("hit.v.01", "slap.v.01", virtual_root=False) == 0
    assert wup("rain.v.01", "rain.v.01", virtual_root=False) == 1


@given(SENSES, SENSES)
def test_similarity_is_symmetric_and_grows_with_the_virtual_root(a: str, b: str) -> None:
    similarity = wup(a, b)
    assert 0 < similarity <= 1
    assert similarity == wup(b, a)
    assert wup(a, b, virtual_root=False) <= similarity
    assert (similarity == 1) == (lexicon("n").synset(a) == lexicon("n").synset(b))


@given(SENSES)
def test_every_noun_is_a_kind_of_the_root(sense: str) -> None:
    assert is_kind_of(sense, sense)
    assert is_kind_of(sense, "entity.n.01")
    root = lexicon("n").synset(sense) == lexicon("n").synset("entity.n.01")
    assert is_kind_of("entity.n.01", sense) == root


def test_words_stand_for_their_common_senses() -> None:
    assert wup("person", "pedestrian") == pytest.approx(8 / 9)
    # "dog" is slang for a man too, which would make it 0.94 like a person.
    assert wup("dog.n.03", "person.n.01") > 0.8
    assert wup("dog", "person") == pytest.approx(7 / 9)


def test_a_word_with_many_senses_keeps_the_commonest() -> None:
    many = [lemma for lemma in lexicon("v").lemmas if len(lexicon("v").senses(lemma)) > 25]
    assert len(many) > 3
    for lemma in many:
        assert common_senses(lemma, "v")
    assert common_senses("blorp") == ()


def test_a_rare_sense_does_not_make_a_bank_a_building() -> None:
    anchors = {"building": ["building.n.01"], "slope": ["slope.n.01"]}
    assert [name for name, _ in nearest("bank", anchors)] == ["slope", "building"]
    assert dict(nearest("bank", anchors))["building"] < 0.6


def test_nearest_compares_with_the_named_senses_only() -> None:
    ordered = nearest("wine", {"rainy": ["rain.n.01"], "drink": ["drink.n.03"], "colour": ["red.n.01"]})
    assert ordered[0][0] == "drink"
    assert nearest("emerge", {"add": ["appear.v.02"], "remove": ["remove.v.01"]}, "v")[0][0] == "add"


def test_nearest_passes_over_other_parts_of_speech() -> None:
    assert [
        name
        for name, _ in nearest("drizzle", {"rainy": ["rainy.s.01", "rain.n.01"], "clear": ["clear.a.11"]})
    ] == ["rainy"]


def test_an_unknown_word_is_near_nothing() -> None:
    assert nearest("blorp", {"rainy": ["rain.n.01"]}) == []
    assert synsets("blorp") == ()


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(InputError, match="got 'blorp'"):
        wup("blorp", "person")
    with pytest.raises(InputError, match="same part of speech"):
        wup("person.n.01", "hit.v.01")
    with pytest.raises(InputError, match=r"'person.n.09' is no sense"):
        wup("person.n.09", "person")
    with pytest.raises(InputError, match=r"got 'blorp.n.01'"):
        nearest("rain", {"x": ["blorp.n.01"]})


def test_a_lemma_with_full_stops_is_a_lemma() -> None:
    assert is_kind_of("r.v..n.01", "vehicle.n.01")
