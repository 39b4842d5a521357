"""Make the compact lexicon that ships with Roadworthy from the files of WordNet 3.0.

WordNet is not in pip; Debian has it, and nothing needs to be installed to read it:

    apt-get download wordnet-base && dpkg -x wordnet-base_*.deb wordnet
    python scripts/make_wordnet_lexicon.py wordnet/usr/share/wordnet

What is kept: every common noun and every verb, each with all of its senses in WordNet's order, and every
synset above them up to the root. A word keeps all senses or is left out: with only some of them, a rare
sense would look like the usual one. What is left out: names (of people, places, species), glosses, every
relation but "is a kind of", adjectives and adverbs, which WordNet does not order by that relation.

The same WordNet gives the same bytes. `roadworthy.rules.wordnet.lexicon` describes and reads the file.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roadworthy.rules.wordnet.lexicon import FORMAT, LEXICON, PartOfSpeech, regular_forms

PARTS_OF_SPEECH: Mapping[PartOfSpeech, str] = {"n": "noun", "v": "verb"}
# In front of the Latin names of kinds of animals and plants.
RANKS = re.compile(
    r"(genus|(sub|super)?(family|order|class|phylum|tribe|kingdom|division)|variety|section)_", re.IGNORECASE
)


@dataclass(frozen=True)
class Synset:
    """One line of a data file: words with one meaning, and the synsets it is a kind of or an example of."""

    words: tuple[str, ...]
    above: tuple[str, ...]
    is_name: bool


@dataclass(frozen=True)
class WordNet:
    """What is read of one part of speech.

    Attributes:
        synsets: By their place in the data file.
        senses: The places of the synsets of each lemma, the most common sense first.
        counts: How often each sense was met in the texts that WordNet's authors tagged.
        irregular: Forms that no rule leads back to their lemma.
    """

    synsets: Mapping[str, Synset]
    senses: Mapping[str, tuple[str, ...]]
    counts: Mapping[tuple[str, int], int]
    irregular: Mapping[str, str]


def main(arguments: list[str] | None = None) -> None:
    """Read WordNet's folder and write the lexicon with its licence beside it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="WordNet's folder, with data.noun, index.noun, …")
    parser.add_argument("--out", type=Path, default=LEXICON, help="the file to write")
    asked = parser.parse_args(arguments)
    licence = licence_of(asked.folder / "data.noun")
    if "WordNet 3.0" not in licence:
        parser.error(f"{asked.folder} must hold WordNet 3.0: the ontology names its senses by their numbers")
    document: dict[str, Any] = {"format": FORMAT, "source": "WordNet 3.0"}
    for letter, name in PARTS_OF_SPEECH.items():
        document[letter] = compact(read(asked.folder, name), letter)
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=True)
    asked.out.write_bytes(gzip.compress(text.encode("ascii"), 9, mtime=0))
    asked.out.with_name("LICENSE").write_text(licence, "utf-8")
    told = ", ".join(
        f"{len(document[letter]['senses_per_lemma'])} {name}s in {len(document[letter]['children'])} synsets"
        for letter, name in PARTS_OF_SPEECH.items()
    )
    sys.stdout.write(f"{asked.out}: {told}, {asked.out.stat().st_size / 1e6:.2f} MB\n")


def licence_of(path: Path) -> str:
    """Return the licence, which stands in numbered lines at the start of each data file."""
    lines = (line for line in lines_of(path) if line.startswith("  "))
    return "\n".join(re.sub(r"^ +\d+ ?", "", line).rstrip() for line in lines) + "\n"


def lines_of(path: Path) -> Iterator[str]:
    """Yield the lines of one of WordNet's files."""
    with path.open(encoding="latin-1") as file:
        for line in file:
            yield line.rstrip("\n")


def read(folder: Path, name: str) -> WordNet:
    """Read one part of speech; wndb(5WN) and cntlist(5WN) describe the files."""
    synsets, senses, counts = {}, {}, {}
    for line in lines_of(folder / f"data.{name}"):
        if not line.startswith("  "):
            place, _, rest = line.partition(" ")
            synsets[place] = synset_of(rest.partition(" | ")[0].split())
    for line in lines_of(folder / f"index.{name}"):
        if not line.startswith("  "):
            lemma, _, number, *places = line.split()
            senses[lemma] = tuple(places[-int(number) :])
    kind = "1" if name == "noun" else "2"
    for line in lines_of(folder / "cntlist.rev"):
        key, sense, count = line.split()
        lemma, _, rest_of_key = key.partition("%")
        if rest_of_key.startswith(f"{kind}:"):
            counts[lemma, int(sense)] = int(count)
    irregular = dict(line.split()[:2] for line in lines_of(folder / f"{name}.exc"))
    return WordNet(synsets, senses, counts, irregular)


def synset_of(fields: list[str]) -> Synset:
    """Read a synset from the fields of its line, from the second on."""
    number = int(fields[2], 16)
    words = fields[3 : 3 + 2 * number : 2]
    first = 4 + 2 * number
    pointers = [fields[first + 4 * i : first + 4 * i + 2] for i in range(int(fields[first - 1]))]
    # "@i" points from a name to what it is an example of.
    above = tuple(place for symbol, place in pointers if symbol in ("@", "@i"))
    return Synset(tuple(words), above, any(symbol == "@i" for symbol, _ in pointers))


def common_lemmas(wordnet: WordNet) -> list[str]:
    """Return the words that are not names.

    A word is common when it is written in lower case, is an abbreviation, or ends in a common word as
    "Douglas fir" does and "Canis familiaris" does not.
    """
    spellings: dict[str, set[str]] = defaultdict(set)
    for synset in wordnet.synsets.values():
        for word in synset.words:
            spellings[word.lower()].add(word)
    lower = {word for word, written in spellings.items() if word in written}

    def is_common(lemma: str) -> bool:
        if RANKS.match(lemma) or all(wordnet.synsets[place].is_name for place in wordnet.senses[lemma]):
            return False
        if lemma in lower:
            return True
        words = lemma.split("_")
        if len(words) > 1:
            return words[-1] in lower
        return any(written.replace(".", "").isupper() for written in spellings[lemma])

    return [lemma for lemma in wordnet.senses if is_common(lemma)]


def with_all_above(places: Iterable[str], wordnet: WordNet) -> set[str]:
    """Return synsets and everything they are kinds of."""
    found: set[str] = set()
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        if place not in found:
            found.add(place)
            waiting.extend(wordnet.synsets[place].above)
    return found


def in_layers(places: set[str], wordnet: WordNet) -> tuple[list[str], list[int]]:
    """Return synsets from the roots down, those below one synset together, and the number below each.

    Only the first synset above counts; further ones are written apart.
    """
    below: dict[str, list[str]] = defaultdict(list)
    order: list[str] = []
    for place in sorted(places):
        above = wordnet.synsets[place].above
        (below[above[0]] if above else order).append(place)
    children = []
    for place in order:  # grows on the way
        order.extend(below[place])
        children.append(len(below[place]))
    if len(order) != len(places):
        raise SystemExit(f"there is a circle among {sorted(places.difference(order))} in these files")
    return order, children


def closed(lemmas: Iterable[str], wordnet: WordNet) -> tuple[list[str], set[str]]:
    """Return the words and the synsets above them; words are added where a synset would have none."""
    kept = set(lemmas)
    while True:
        places = with_all_above((place for lemma in kept for place in wordnet.senses[lemma]), wordnet)
        words = {place: [word.lower() for word in wordnet.synsets[place].words] for place in places}
        nameless = {spelled[0] for spelled in words.values() if kept.isdisjoint(spelled)}
        if not nameless:
            return sorted(kept), places
        kept |= nameless


def compact(wordnet: WordNet, pos: PartOfSpeech) -> dict[str, Any]:
    """Return what the lexicon holds of one part of speech."""
    lemmas, places = closed(common_lemmas(wordnet), wordnet)
    order, children = in_layers(places, wordnet)
    number = {place: index for index, place in enumerate(order)}
    kept = set(lemmas)
    senses = [
        (lemma, index, place) for lemma in lemmas for index, place in enumerate(wordnet.senses[lemma], 1)
    ]
    first = {
        place: next(word.lower() for word in wordnet.synsets[place].words if word.lower() in kept)
        for place in order
    }
    return {
        "lemmas": "\n".join(lemmas),
        "senses_per_lemma": [len(wordnet.senses[lemma]) for lemma in lemmas],
        "senses": [number[place] for _, _, place in senses],
        "counts": [wordnet.counts.get((lemma, index), 0) for lemma, index, _ in senses],
        "first": "".join("1" if first[place] == lemma else "0" for lemma, _, place in senses),
        "children": children,
        "more_above": [
            [number[place], *(number[one] for one in wordnet.synsets[place].above[1:])]
            for place in order
            if len(wordnet.synsets[place].above) > 1
        ],
        "names": [number[place] for place in order if wordnet.synsets[place].is_name],
        "irregular": {
            form: lemma
            for form, lemma in sorted(wordnet.irregular.items())
            if lemma in kept and form not in kept and lemma not in regular_forms(form, pos)
        },
    }


if __name__ == "__main__":
    main()
