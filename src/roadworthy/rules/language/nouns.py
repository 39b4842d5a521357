"""What the noun phrases of a sentence speak of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import cast

from roadworthy.errors import InputError, RuleError
from roadworthy.ontology import CONDITIONS, Ontology, ontology
from roadworthy.rules.language import lexicon
from roadworthy.rules.language.lexicon import SETS
from roadworthy.rules.language.words import Word, Words
from roadworthy.rules.reading import Comparative, Part

SCENE = "scene"
"""The element of phrases such as "in the picture", which say nothing about where."""

_BEFORE = ("weather", "season")  # what stands before other conditions: "a rainy winter night"
_LONGEST = 5
_MOST = max(many for many, _ in lexicon.AMOUNTS.values())  # things of a kind that are added
_ALIKE = 0.7  # what is less like a word is no hint
_USUAL = ("pedestrian", "bicyclist", "vehicle", "traffic sign", "traffic light", "tree")
"""What a thing has a value of: "the colour of the light"."""
_SIDED = re.compile(r"(?:left|right)\b.* lane|lane (?:on|to) (?:the|your|our) (?:left|right)$")
_THAT_IS = [(which, verb) for which in ("that", "which") for verb in ("is", "are", "'s")]
_SHOWN = ("color", "type", "shape")  # what a thing is by itself, and not where it is
_MODIFIERS = SETS["plain adjectives"] | lexicon.words_of("lefthand righthand - hand")
_MODIFIERS |= {*lexicon.VALUES, *lexicon.LEVELS}
_MODIFIER_TAGS = SETS["nouns"] | {"JJ", "JJR", "JJS", "VBG", "VBN", "RB", "FW", "CD"}


@dataclass(frozen=True)
class NounReading:
    """What a noun phrase speaks of.

    Attributes:
        element: Its ontology element, or `SCENE`, or "" for a pronoun.
        properties: Its properties.
        words: The phrase.
        determiner: The word it begins with, such as "a" or "the"; empty for none.
        also: What else the phrase names: the night of "a rainy night", both of "a rainy winter night".
        comparative: Whether there is more or less of a weather than before: "more fog".
        amount: The words that say how many, or which of them: "several", "half of", "the nearest"; None
            where none do.
        count: How many there are.
        part: Which of them are meant: "some", "half", "one" or "nearest", of lines "centre" or "edge"; empty
            for all.
    """

    element: str
    words: Words
    properties: Mapping[str, str] = field(default_factory=dict)
    determiner: str = ""
    also: tuple[str, ...] = ()
    comparative: Comparative | None = None
    amount: Words | None = None
    count: int = 1
    part: str = ""

    @property
    def narrower(self) -> str:
        """The noun, where it says more than its element: "hospital", "toddler"; empty where it does not."""
        head = self.words[-1] if len(self.words) else None
        if head is None or not self.element or is_pronoun(head):
            return ""
        known = _known(self.words, len(self.words) - 1) is not None
        return "" if known or _guessed_element(head) != self.element else head.lower

    @property
    def part_changed(self) -> Part:
        """Which of those that are there go or give way: some are about half."""
        return cast(Part, "half" if self.part == "some" else self.part)

    @property
    def definite(self) -> bool:
        """Whether it is spoken of as known: "the car"."""
        return self.determiner in SETS["definite"]

    @property
    def negated(self) -> bool:
        """Whether there is none of it: "no cars"."""
        return self.determiner == "no"


def is_weightless(word: Word) -> bool:
    """Return whether a word is on the published list of those that give nothing to a reading."""
    return word.lower in lexicon.WEIGHTLESS or not any(map(str.isalnum, word.lower))


def is_pronoun(word: Word) -> bool:
    """Return whether a word stands for a thing that was spoken of before."""
    return word.lower in SETS["pronouns"]


def is_environment(element: str) -> bool:
    """Return whether an element is a weather, a time of day or a season, or these themselves."""
    return ontology().condition_of(element) is not None


def no_level(element: str, level: str, words: Words) -> RuleError:
    """Return the refusal of a level of what has none: "a mild winter"."""
    return words.refuse(f"{element} cannot be {level}: only weather has levels")


def noun_phrase(words: Words, at: int) -> tuple[NounReading, int] | None:
    """Read the noun phrase that begins at a word.

    Returns:
        The thing and the number of the word after the phrase; None where no noun phrase begins there.

    Raises:
        RuleError: A noun phrase begins there, and what it speaks of is not known.
    """
    begin, determiner = at, ""
    if at < len(words) and words[at].lower in SETS["someone"]:
        none = words[at].lower == "nobody"
        return NounReading("pedestrian", words[at : at + 1], {}, "no" if none else "a"), at + 1
    amount: Words | None = None
    count, part = 1, ""
    while at < len(words) and (said := _amount(words, at)) is not None:
        # "All the", "some of the", "several", "the nearest"
        if determiner and "no" in (determiner, words[at].lower):
            first = at - (determiner == "no")  # "a no entry sign", "no other car"
            raise words[first : first + 2].refuse(
                f"{str(words[first : first + 2])!r} is not known here", ["no"]
            )
        all_of = determiner in ("all", "each", "every")
        determiner, (_, length, many, which) = determiner if all_of else said[0], said
        if many or which:
            if amount is not None:
                raise words[at : at + length].refuse(f"{str(amount)!r} says this already, or something else")
            amount, count, part = words[at : at + length], many or 1, which
        at += length
    if at < len(words) and words[at].pos == "NUM":
        sign = _numbered_sign(words, at)
        if sign is None:
            reason = f"how many there are is said in words, and up to {_MOST}"
            raise words[at : at + 1].refuse(reason, ["two", "several"])
        properties, stop = sign
        whole = words[begin:stop]
        return NounReading("traffic sign", whole, properties, determiner, (), None, amount, count, part), stop
    if at + 1 < len(words) and words[at].lower in SETS["aspects"] and words[at + 1].lower == "of":
        # "The colour of the light": what is said of it is said of the light.
        owner = noun_phrase(words, at + 2)
        return owner and (replace(owner[0], words=words[begin : owner[1]]), owner[1])
    comparative: Comparative | None = None
    if at + 1 < len(words) and _weather_adjective(words[at + 1]):
        comparative = lexicon.AMOUNTS_OF_WEATHER.get(words[at].lower)
        at += 1 if comparative else 0
    found = _described(words, at)
    if found is None:
        if determiner and at < len(words):
            raise _unknown(words, at)
        return None
    element, properties, also, stop = found
    _check_compound(words, begin, stop)
    turns = stop + 1 < len(words) and lexicon.VALUES.get(words[stop + 1].lower, ("",))[0] == "color"
    if determiner in ("", "no") and not turns and str(words[at:stop]).lower() == "light":
        raise words[begin:stop].refuse("is this a traffic light, or the day?", ["a traffic light", "day"])
    if part and "part" in properties:
        raise words[begin:stop].refuse("how many, or which of them, cannot be said here", ["the edge lines"])
    part = properties.pop("part", part)
    if properties == {"type": "speed limit"} and stop < len(words):
        limit = _LIMIT.match(words.text.lower(), words[stop].start)
        if limit is not None and limit.end() <= words[-1].stop:
            _check_value(words[stop : stop + 2], element, "limit", limit[1])
            properties["limit"] = limit[1]
            stop = next(number for number in range(stop, len(words)) if words[number].stop >= limit.end()) + 1
    if element == "sidewalk" and determiner == "other":
        properties["direction"] = "reverse"
    if element == "sidewalk" and determiner in ("both", "each"):
        properties["position"] = "both"
        amount = None
    elif determiner == "both":
        raise words[begin:stop].refuse("which two these are is not said", ["two"])
    if part == "some":
        # Of what is there, some are about half; "some" fog, or of what comes, is an article.
        part = "" if is_environment(element) else "some"
    if determiner in ("a", "an") and stop - at == 1 and ontology().condition_of(element) == "season":
        # A coil on the road is no season.
        reason = f"{str(words[begin:stop])!r} may be a thing: a season has no article"
        raise words[begin:stop].refuse(reason, [element])
    if is_environment(element) and words[stop - 1].tag == "JJR":
        comparative = comparative or "heavier"  # "foggier"
    if stop < len(words) and words[stop].lower in ("'s", "’s"):
        # "In the ego-vehicle's lane": that is the lane.
        owned = _described(words, stop + 1) if element == "ego-vehicle" else None
        if owned is not None:
            if owned[0] == "sidewalk":
                raise words[begin : owned[3]].refuse("which side of us is not shown", ["on the left"])
            element, properties, also, stop = owned
            determiner = "the"
    after = tuple(word.lower for word in words[stop : stop + 3])
    if after[:2] in _THAT_IS and (value := lexicon.VALUES.get(after[-1])) and value[0] in _SHOWN:
        # "A bus that is red"
        _check_value(words[stop + 2 : stop + 3], element, *value)
        if properties.setdefault(*value) != value[1]:
            raise words[begin : stop + 3].refuse(f"is it {properties[value[0]]}, or {after[-1]}?")
        stop += 3
    whole = words[begin:stop]
    return NounReading(element, whole, properties, determiner, also, comparative, amount, count, part), stop


def _check_compound(words: Words, begin: int, stop: int) -> None:
    """Refuse a noun that only describes the next one: "a bus stop is there", "a children crossing sign"."""
    end = stop
    while end < len(words) and words[end].tag in SETS["nouns"]:
        end += 1
    verb = end < len(words) and words[end].tag in SETS["verbal"]
    if verb and end > stop and words[stop - 1].dep == "compound":
        raise words[begin:end].refuse(f"{str(words[begin:end])!r} cannot be changed in a scene", _USUAL)


def _amount(words: Words, at: int) -> tuple[str, int, int, str] | None:
    """Return a determiner, how many words it has, how many things it asks for, and which part of them."""
    for phrase, (many, which) in lexicon.AMOUNTS.items():
        if tuple(word.lower for word in words[at : at + len(phrase)]) == phrase:
            return phrase[0], len(phrase), many, which
    if words[at].lower not in SETS["determiners"]:
        return None
    of = words[at + 1 : at + 3]
    leads_on = len(of) == 2 and of[0].lower == "of" and of[1].lower in SETS["determiners"]
    return words[at].lower, 2 if leads_on else 1, 0, ""


_LIMIT = re.compile(r"(?:of|for|with) (\d+) ?(?:km ?/ ?h|kmh|kph)\b")
_NUMBERED = re.compile(
    r"(?P<limit>\d+) ?(?P<unit>km ?/ ?h|kmh|kph|mph)? ?"
    r"(?P<speed>(?:maximum |max )?speed (?:limit )?)?(?:traffic |road )?sign(?P<several>s)?(?!\w)"
)


def _numbered_sign(words: Words, at: int) -> tuple[dict[str, str], int] | None:
    """Read a speed limit sign with its number: "a 30 km/h sign"."""
    found = _NUMBERED.match(words.text.lower(), words[at].start)
    if found is None or found.end() > words[-1].stop:
        return None
    stop = next(number for number in range(at, len(words)) if words[number].stop >= found.end()) + 1
    if found["unit"] == "mph":
        raise words[at:stop].refuse("signs are in km/h here", ["50 km/h sign"])
    if not found["unit"] and (found["several"] or not found["speed"]):
        # "20 signs" are twenty, and "20 speed limit signs" may be.
        reason = "how many there are is said in words, and a speed limit with its unit"
        raise words[at:stop].refuse(reason, ["two", "30 km/h sign"])
    _check_value(words[at : at + 1], "traffic sign", "limit", found["limit"])
    return {"type": "speed limit", "limit": found["limit"]}, stop


# What adjectives and a noun speak of: element, properties, what else is named, and the end.
_Described = tuple[str, dict[str, str], tuple[str, ...], int]


def _described(words: Words, at: int) -> _Described | None:
    """Read adjectives and a noun."""
    modifiers: list[int] = []
    place = at
    while place < len(words):
        head = _known(words, place)
        weather = place + 1 < len(words) and _named(words[place + 1], _BEFORE)
        if weather and words[place].lower in lexicon.LEVELS:
            # "Light rain" is no traffic light, nor is "light spring rain".
            modifiers.append(place)
            place += 1
            continue
        if head is not None and _describes_what_follows(words, head):
            modifiers += range(place, head[2])
            place = head[2]
            continue
        if head is not None:
            return _with_modifiers(words, modifiers, head[0], dict(head[1]), head[2])
        if not _may_modify(words[place]):
            break
        modifiers.append(place)
        place += 1
    guess = _guessed(words, at)
    if guess is not None:
        return guess
    if at < len(words) and words[at].tag in SETS["nouns"] and words[at].lower not in lexicon.LEVELS:
        raise _unknown(words, at)
    return None


def _describes_what_follows(words: Words, head: tuple[str, Mapping[str, str], int]) -> bool:
    """Return whether a condition stands before another noun: "rainy day", "foggy weather", "winter night"."""
    element, _, stop = head
    if not is_environment(element) or element in CONDITIONS or stop >= len(words):
        return False
    if words[stop].lower in SETS["days"]:
        return True
    following = _known(words, stop)
    return following is not None and (following[0] == SCENE or is_environment(following[0]))


def _may_modify(word: Word) -> bool:
    return word.lower in _MODIFIERS or _weather_adjective(word) is not None or word.tag in _MODIFIER_TAGS


def _weather_adjective(word: Word) -> str | None:
    return _named(word, ("weather",))


def _named(word: Word, kinds: Sequence[str]) -> str | None:
    """Return the condition, of some kinds, that a word names."""
    known = ontology().get(word.lower)
    kind = None if known is None else ontology().condition_of(known.name)
    return known.name if known is not None and kind in kinds and known.name != kind else None


def _with_modifiers(
    words: Words, modifiers: Sequence[int], element: str, properties: dict[str, str], stop: int
) -> _Described:
    also: tuple[str, ...] = ()
    level: Words | None = None
    for number in modifiers:
        word = words[number]
        one = words[number : number + 1]
        # "Dark rain" falls at night; dark clouds are clouds.
        sky = "night" if word.lower == "dark" and element != "cloudy" else _named(word, _BEFORE)
        sky = "rainy" if word.lower == "wet" else sky
        sided = number and words[number - 1].lower in ("left", "right", "-")
        if word.lower in SETS["plain adjectives"] or word.lower == "-" or (word.lower == "hand" and sided):
            continue
        if _named(word, ("weather",)) and element in ("season", "time"):
            raise one.refuse(f"a {word.text} {element} may be dry: say the weather", ["rain"])
        if sky is not None and (element == SCENE or is_environment(element)):
            # "A rainy day" may be a night; a rainy morning is none.
            named = () if words[stop - 1].lower in ("day", "days") and element == "day" else (element,)
            element, *more = _together(one, sky, (*named, *also))
            also = tuple(more)
        elif word.lower in SETS.get(f"{element} adjectives", ()):
            if element == "lane" and not _SIDED.search(str(words[modifiers[0] : stop + 3]).lower()):
                raise one.refuse("on which side is not said", ["the left lane"])
        elif word.lower in lexicon.LEVELS and is_environment(element):
            level = one
            if properties.setdefault("level", lexicon.LEVELS[word.lower]) != lexicon.LEVELS[word.lower]:
                raise one.refuse(f"this is {properties['level']} {element} already", [element])
        elif word.lower in lexicon.VALUES or word.lower in ("lefthand", "righthand"):
            key, value = lexicon.VALUES[word.lower.removesuffix("hand")]
            if element == "sidewalk" and (key, value) == ("direction", "forward"):
                raise one.refuse("this side is not understood", ["left", "right"])
            if element != "sidewalk" and word.lower == "far":
                # The far one of three lanes may go our way.
                raise one.refuse(f"which {element} is far is not known", _values_of(element))
            if not (word.lower == "oncoming" and ontology().is_a(element, "dynamic object")):
                _check_value(one, element, key, value)
            properties[key] = value
        elif word.tag in SETS["nouns"] and (known := _known(words[number : number + 1], 0)):
            if known[0] != element:
                raise one.refuse(f"{word.text!r} is not known of a {element}", _values_of(element))
        else:
            raise one.refuse(f"{word.text!r} is not known of a {element}", _values_of(element))
    if level is not None and ontology().condition_of(element) != "weather":
        raise no_level(element, properties["level"], level)
    return element, properties, also, stop


def _together(words: Words, new: str, others: Sequence[str]) -> list[str]:
    """Return a condition with those that are named beside it, each of another kind, the weather first.

    "Winter weather" and "winter scene" say nothing besides.
    """
    kind = ontology().condition_of
    kept = [one for one in others if one not in (*CONDITIONS, SCENE, new)]
    for one in kept:
        if kind(one) == kind(new):
            raise words.refuse(f"the {kind(new)} cannot be {new} and {one} at once")
    return sorted([new, *kept], key=lambda one: CONDITIONS.index(kind(one) or ""))


def _check_value(words: Words, element: str, key: str, value: str) -> None:
    """Refuse a property that the element does not have."""
    if element == "sidewalk" and key in ("position", "direction"):
        return
    if key == "position" and element == "road":
        return
    try:
        ontology().check_property(element, key, value)
    except InputError as error:
        raise words.refuse(f"a {element} cannot be {str(words).lower()}", _values_of(element)) from error


def _values_of(element: str) -> list[str]:
    """Return the values of the properties that an element has."""
    known = ontology()
    if element not in known:
        return []
    return [value for values in known.resolve(element).properties.values() for value in values]


def _known(words: Words, at: int) -> tuple[str, Mapping[str, str], int] | None:
    """Return the longest phrase of the lexicon or the ontology that begins at a word, and its end."""
    table = _phrases(ontology())
    forms: list[tuple[str, ...]] = []
    ends: list[int] = []
    number = at
    while number < len(words) and len(forms) < _LONGEST:
        word = words[number]
        number += 1
        inner = bool(forms) and forms[-1][0] in ("of", "on", "in", "with", "pushing")
        if word.lower == "-" or (inner and word.lower in ("the", "a", "an")):
            continue
        forms.append(tuple(dict.fromkeys(_forms(word))))
        ends.append(number)
    for length in range(len(forms), 0, -1):
        if length > 1 and _crosses(words, ends[length - 1]):
            continue
        for phrase in _combinations(forms[:length]):
            if phrase in table:
                element, properties = table[phrase]
                return SCENE if element == "environment" else element, properties, ends[length - 1]
    one = at and words[at].lower in SETS["ones"] and _named(words[at - 1], CONDITIONS)  # "a rainy one"
    if one or (forms and any(form in SETS["scene nouns"] for form in forms[0])):
        return SCENE, {}, ends[0]
    return None


def _crosses(words: Words, at: int) -> bool:
    """Return whether "crossing" is what someone does: "a pedestrian crossing the road", "people crossing"."""
    if words[at - 1].lower != "crossing":
        return False
    if at < len(words) and words[at].lower in ("behind", "slowly", "quickly", "between"):
        return True
    crossed = at + 1 < len(words) and words[at + 1].lower in SETS["crossed"]
    return words[at - 2].tag == "NNS" or (crossed and words[at].lower in SETS["determiners"])


def _combinations(forms: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yield the phrases that words may stand for: as they are written, and with the last in the singular."""
    written = tuple(one[0] for one in forms)
    for last in forms[-1]:
        yield (*written[:-1], last)
    for last in forms[-1]:
        yield (*(one[-1] for one in forms[:-1]), last)


def _forms(word: Word) -> Iterator[str]:
    """Yield a word as it is written and what it may be the plural of."""
    yield word.lower
    yield word.lemma
    if word.lower.endswith("ies"):
        yield word.lower[:-3] + "y"
    if word.lower.endswith("es"):
        yield word.lower[:-2]
    if word.lower.endswith("s") and not word.lower.endswith("ss"):
        yield word.lower[:-1]


@lru_cache(maxsize=4)
def _phrases(known: Ontology) -> dict[tuple[str, ...], tuple[str, Mapping[str, str]]]:
    """Return all phrases that are known, as their words."""
    found: dict[tuple[str, ...], tuple[str, Mapping[str, str]]] = {}
    for element in known.elements.values():
        names = [element.name, *element.synonyms]
        found |= {_split(name): (element.name, {}) for name in names}
        found |= {_split(name): (element.name, properties) for name, properties in element.kinds.items()}
    return found | {_split(name): meaning for name, meaning in lexicon.NOUNS.items()}


def _split(phrase: str) -> tuple[str, ...]:
    return tuple(re.split(r"[\s-]+", phrase.lower()))


def _guessed_element(word: Word) -> str | None:
    from roadworthy.rules.wordnet.elements import match_element

    found = match_element(word.lemma) or match_element(word.lower)
    return None if found is None else found.element


def _guessed(words: Words, at: int) -> _Described | None:
    """Read a noun that only WordNet knows; the last one of several is the head."""
    stop = at
    while stop < len(words) and words[stop].tag in _MODIFIER_TAGS and stop - at < _LONGEST:
        stop += 1
    for end in range(stop, at, -1):
        word = words[end - 1]
        if word.tag not in SETS["nouns"]:
            continue
        element = _guessed_element(word)
        if element == "vehicle":
            raise words[end - 1 : end].refuse(
                f"{str(word.text)!r} cannot be shown, and another vehicle is not the same",
                ["car", "truck", "van", "school bus"],
            )
        if element is not None:
            return _with_modifiers(words, range(at, end - 1), element, {}, end)
    return None


def _unknown(words: Words, at: int) -> Exception:
    """Return the refusal of a noun phrase that nothing is known about."""
    from roadworthy.rules.wordnet.elements import nearest_elements

    stop = at
    while stop < len(words) and words[stop].tag in _MODIFIER_TAGS and stop - at < _LONGEST:
        stop += 1
    nouns = [number for number in range(at, stop) if words[number].tag in SETS["nouns"]]
    # "Aliens land": what stands after a plural is rather a verb.
    many = [number for number in nouns if words[number].tag in ("NNS", "NNPS")]
    head = (many[:1] or nouns[-1:] or [min(at, len(words) - 1)])[0]
    phrase = words[at : max(stop, at + 1)]
    known = {name[0]: meaning[0] for name, meaning in _phrases(ontology()).items() if len(name) == 1}
    mistyped = [known[name] for name in get_close_matches(words[head].lower, known, n=2, cutoff=0.8)]
    return phrase.refuse(
        f"{str(phrase)!r} cannot be changed in a scene",
        mistyped
        or [element for element, alike in nearest_elements(words[head].lemma) if alike >= _ALIKE]
        or _USUAL,
    )
