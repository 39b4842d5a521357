import subprocess
import sys
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.errors import InputError
from roadworthy.ontology import ontology
from roadworthy.rules.wordnet.lexicon import LEXICON, PartOfSpeech, letter_of, lexicon

NOUNS = lexicon("n")
VERBS = lexicon("v")


def test_every_noun_sense_that_the_ontology_names_is_there() -> None:
    named = [sense for element in ontology().elements.values() for sense in element.senses]
    nouns = [sense for sense in named if letter_of(sense) == "n"]
    assert len(nouns) > 40
    for sense in nouns:
        assert NOUNS.synset(sense) >= 0


def test_every_noun_is_a_kind_of_entity() -> None:
    (root,) = (synset for synset in range(len(NOUNS.parents)) if not NOUNS.above(synset))
    assert NOUNS.name(root) == "entity.n.01"
    assert all(root in NOUNS.ancestors(synset) for synset in range(len(NOUNS.parents)))


def test_the_numbers_are_those_of_wordnet() -> None:
    # wnstats(7WN) tells 13767 verb synsets and 11529 verbs; names among them are left out.
    assert 13700 < len(VERBS.parents) <= 13767
    assert 11500 < len(VERBS.lemmas) <= 11529
    assert max(map(NOUNS.depth, range(len(NOUNS.parents)))) == 20


@pytest.mark.parametrize(
    ("word", "first_words"),
    [
        ("pedestrian", ["pedestrian.n.01"]),
        ("oak", ["oak.n.01", "oak.n.02"]),
        ("taxi", ["cab.n.03"]),
        ("person", ["person.n.01", "person.n.02", "person.n.03"]),
        (
            "bank",
            [
                "bank.n.01",
                "depository_financial_institution.n.01",
                "bank.n.03",
                "bank.n.04",
                "bank.n.05",
                "bank.n.06",
                "bank.n.07",
                "savings_bank.n.02",
                "bank.n.09",
                "bank.n.10",
            ],
        ),
    ],
)
def test_a_word_has_all_its_senses_in_the_order_of_wordnet(word: str, first_words: list[str]) -> None:
    assert [NOUNS.name(sense.synset) for sense in NOUNS.senses(word)] == first_words


def test_words_of_one_synset_name_the_same_sense() -> None:
    names = ("car.n.01", "auto.n.01", "automobile.n.01", "motorcar.n.01", "machine.n.06")
    assert len({NOUNS.synset(name) for name in names}) == 1


def test_shares_come_from_counts_and_rank() -> None:
    # bank: counted 25, 20, 2 and 1 times and six times not at all; 1/rank is added to each.
    weights = [25 + 1, 20 + 1 / 2, 2 + 1 / 3, 1 + 1 / 4, *(1 / rank for rank in range(5, 11))]
    shares = [sense.share for sense in NOUNS.senses("bank")]
    assert shares == pytest.approx([weight / sum(weights) for weight in weights])


@given(st.sampled_from(sorted(NOUNS.lemmas)))
def test_shares_of_a_word_sum_to_one(lemma: str) -> None:
    senses = NOUNS.senses(lemma)
    assert sum(sense.share for sense in senses) == pytest.approx(1)
    assert [NOUNS.synset(sense.name) for sense in senses] == [sense.synset for sense in senses]


@given(st.sampled_from(range(len(NOUNS.parents))))
def test_every_synset_has_the_name_that_leads_to_it_and_is_deeper_than_what_is_above(synset: int) -> None:
    assert NOUNS.synset(NOUNS.name(synset)) == synset
    assert all(NOUNS.depth(above) < NOUNS.depth(synset) for above in NOUNS.above(synset))


def test_a_synset_may_be_a_kind_of_several() -> None:
    above = {NOUNS.name(one) for one in NOUNS.above(NOUNS.synset("person.n.01"))}
    assert above == {"organism.n.01", "causal_agent.n.01"}


@pytest.mark.parametrize("word", ["george washington", "canis familiaris", "genus canis", "paris hilton"])
def test_names_are_left_out(word: str) -> None:
    assert NOUNS.senses(word) == ()


def test_a_name_that_is_also_a_common_word_is_marked() -> None:
    assert [sense.is_name for sense in NOUNS.senses("cook")] == [False, True]


@pytest.mark.parametrize(
    ("form", "pos", "lemma"),
    [
        ("policemen", "n", "policeman"),
        ("Ladies", "n", "lady"),
        ("buses", "n", "bus"),
        ("lorries", "n", "lorry"),
        ("geese", "n", "goose"),
        ("SUVs", "n", "suv"),
        ("fire  engines", "n", "fire_engine"),
        ("double-decker", "n", "double-decker"),
        ("double decker", "n", None),
        ("cul-de-sac", "n", "cul_de_sac"),
        ("Douglas fir", "n", "douglas_fir"),
        ("braking", "v", "brake"),
        ("slowed down", "v", None),
        ("slow down", "v", "slow_down"),
        ("drove", "v", "drive"),
        ("xyzzy", "n", None),
        ("", "n", None),
    ],
)
def test_forms_lead_to_lemmas(form: str, pos: PartOfSpeech, lemma: str | None) -> None:
    assert lexicon(pos).lemma(form) == lemma


@pytest.mark.parametrize(
    "name", ["pedestrian", "pedestrian.v.01", "blorp.n.01", "rainy.s.01", "", "n.01", "a.b.c"]
)
def test_what_names_no_noun_sense_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"expected a noun of the lexicon like pedestrian.n.01, got"):
        NOUNS.synset(name)


def test_a_sense_too_many_is_refused_with_those_that_exist() -> None:
    with pytest.raises(InputError, match=r"'oak.n.03' is no sense in WordNet 3.0: did you mean .*oak.n.0"):
        NOUNS.synset("oak.n.03")


def test_another_part_of_speech_is_refused() -> None:
    with pytest.raises(InputError, match="one of n, v, got 'a'"):
        lexicon(cast(PartOfSpeech, "a"))


def test_the_file_is_small_and_its_licence_lies_beside_it() -> None:
    assert LEXICON.stat().st_size < 1_000_000
    licence = LEXICON.with_name("LICENSE").read_text("utf-8")
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in licence
    assert "Permission to use, copy, modify and distribute" in licence


def test_nothing_is_read_before_the_first_question() -> None:
    code = (
        "from roadworthy.rules.wordnet import lexicon\n"
        "from roadworthy.rules.wordnet.lexicon import wup\n"
        "print(lexicon._document.cache_info().currsize, end=' ')\n"
        "wup('person', 'pedestrian')\n"
        "print(lexicon._document.cache_info().currsize)\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["0", "1"]
