"""Clauses about the weather, the time of day and the season."""

from __future__ import annotations

import dataclasses
from difflib import get_close_matches

from roadworthy.errors import RuleError
from roadworthy.ontology import CONDITIONS, ontology
from roadworthy.rules.language.conditions import AND, UNDERSTOOD
from roadworthy.rules.language.lexicon import (
    ABSENT,
    ADD_VERBS,
    CHANGE_VERBS,
    COMPARATIVES,
    HEAVIER_VERBS,
    LEVELS,
    LIGHTER_VERBS,
    PRESENCE_VERBS,
    REMOVE_VERBS,
    REPLACE_VERBS,
    SEE_VERBS,
    VANISH_VERBS,
    WEATHER_VERBS,
    words_of,
)
from roadworthy.rules.language.nouns import SCENE, SUCH_AS, NounReading, is_environment, noun_phrase
from roadworthy.rules.language.phrases import VerbGroup, after_fillers, prepositional, verb_group
from roadworthy.rules.language.reader import Reader
from roadworthy.rules.language.words import Words
from roadworthy.rules.reading import Comparative

_SUN_DOWN = frozenset({"set", "fall", "go"})
_SUN_UP = frozenset({"rise", "break"})
_COMES = words_of(
    "fall start begin set roll come arrive appear occur happen be pour shine show cover move exist descend "
    "develop form emerge hang present continue break become"
)


_INTO = ("to", "into")
_INSTEAD = ("with", "by", "for")  # what it is replaced by; but what comes with another comes beside it
_WHEN = ("in", "at", "on", "during")  # "the scene is in winter"
_ALIKE = 0.75  # of two words, one of which is probably a slip: "fogy" and "foggy" have 0.89


def _words_of_the_environment() -> list[str]:
    """Return every single word that stands for a weather, a time of day or a season."""
    known = ontology()
    elements = [known.elements[name] for kind in CONDITIONS for name in known.leaves(kind)]
    words = [word for one in elements for word in (one.name, *one.synonyms, *one.kinds)]
    return [*(word for word in words if " " not in word), *WEATHER_VERBS, "dark"]


class WeatherReader(Reader):
    """Reads clauses about the weather, the time of day and the season."""

    def _about_weather(self) -> bool:
        """Return whether "it" is that of "it rains" and "it gets dark", and stands for nothing."""
        found = verb_group(self.words, self.at + 1)
        if found is None:
            return False
        group, stop = found
        if group.lemma in WEATHER_VERBS or (group.lemma == "stop" and stop < len(self.words)):
            return True
        if group.lemma not in CHANGE_VERBS | {"be"}:
            return False
        stop = after_fillers(self.words, stop, ("very", "more"))
        if stop < len(self.words) and (
            self.words[stop].lower in ("dark", "darker") or self.words[stop].lower in LEVELS
        ):
            return self.words[stop].lower in ("dark", "darker")
        try:
            noun = noun_phrase(self.words, stop)
        except RuleError:
            return False
        return noun is not None and is_environment(noun[0].element)

    def _misspelt(self, begin: int) -> RuleError | None:
        """Return the refusal of the first word from a place on that is nearly a word for a condition."""
        known = _words_of_the_environment()
        for number in range(begin, len(self.words)):
            word = self.words[number].lower
            near = [] if word in ontology() else get_close_matches(word, known, n=2, cutoff=_ALIKE)
            if near:
                wrong = self.words[number : number + 1]
                return wrong.refuse(f"{str(wrong)!r} is no weather, time of day or season", near)
        return None

    def _it(self) -> None:
        self.at += 1
        group = self.group()
        if group.negated or group.no_longer or group.lemma == "stop":
            raise self.ended(self._named(), self.words[self.at - len(group.words) :])
        if group.lemma in WEATHER_VERBS:
            element, properties = WEATHER_VERBS[group.lemma]
            tail = self.tail()
            self.result.found("TRANSFORMATION", group.lemma, "replace")
            level = {"level": tail.level} if tail.level else {}
            self.become(element, {**properties, **level}, tail.comparative, group.words)
            self.leftover(tail, allow_environment=True)
            return
        if self.lower() in ("dark", "darker"):
            word = self.words[self.at : self.at + 1]
            self.at += 1
            self.result.found("TRANSFORMATION", str(group.words), "replace")
            self.become("night", {}, None, word)
            self.leftover(self.tail(), allow_environment=True)
            return
        found = noun_phrase(self.words, self.at)
        assert found is not None
        self.at = found[1]
        self.result.found("TRANSFORMATION", str(group.words), "replace")
        self.environment(found[0])
        self.leftover(self.tail(), allow_environment=True)

    def _named(self) -> str:
        """Return the condition that is named next: the night of "is not night"; the weather where none is."""
        try:
            noun = noun_phrase(self.words, self.at)
        except RuleError:
            noun = None
        return noun[0].element if noun is not None and is_environment(noun[0].element) else "weather"

    def _environment_happens(self, thing: NounReading, group: VerbGroup, words: Words) -> None:
        """Read what the weather, the time of day or the season does."""
        lemma = group.lemma
        self.result.found("TRANSFORMATION", str(group.words), "replace")
        if lemma in WEATHER_VERBS and thing.element == "weather":
            # "The sky clouds over."
            self.become(*WEATHER_VERBS[lemma], None, words)
            self.leftover(self.tail())
            return
        if lemma in HEAVIER_VERBS | LIGHTER_VERBS:
            self.affirmed(group)
            kind: Comparative = "heavier" if lemma in HEAVIER_VERBS else "lighter"
            self.leftover(self.tail())
            self.heavier(thing, kind, words)
            return
        if (
            group.negated
            or group.no_longer
            or thing.negated
            or (lemma == "be" and self.lower() in ABSENT)
            or lemma in VANISH_VERBS | {"stop", "clear", "end"} | REMOVE_VERBS - {"get"}
        ):
            if lemma == "clear" and thing.element == "weather":
                self.become("sunny", {}, None, words)
                self.leftover(self.tail(), allow_environment=True)
                return
            raise self.ended(thing.element, group.words)
        self.skip()
        if lemma == "give" and self.lower() == "way":
            self.at += 1
        if lemma in _SUN_DOWN and thing.element == "sunny":
            self.become("night", {}, None, words)
            self.leftover(self.tail(), allow_environment=True)
            return
        if lemma in _SUN_UP and thing.element in ("sunny", "day"):
            self.become("day", {}, None, words)
            self.leftover(self.tail(), allow_environment=True)
            return
        while self.lower() in ("very", "quite", "more", "much", "even"):
            self.at += 1
        kind_of = COMPARATIVES.get(self.lower())
        if kind_of in ("heavier", "lighter"):
            self.at += 1
            self.leftover(self.tail())
            self.heavier(thing, kind_of, words)
            return
        if self.lower() in LEVELS and not self.noun_at(1) and not self.weather_at(1):
            level = LEVELS[self.lower()]
            self.at += 1
            self.leftover(self.tail(), allow_environment=True)
            if self.refers(thing) or thing.element not in ("weather", SCENE):
                self.become(thing.element, {**thing.properties, "level": level}, None, words)
                return
            raise words.refuse("which weather it is, is not said", ["the rain becomes heavy"])
        if self.lower() in ("dark", "darker"):
            self.at += 1
            self.become("night", {}, None, words)
            self.leftover(self.tail(), allow_environment=True)
            return
        if self.over() or prepositional(self.words, self.at) is not None:
            self._environment_changes(thing, group, words)
        else:
            self._environment_becomes(thing, group, words)

    def _environment_becomes(self, thing: NounReading, group: VerbGroup, words: Words) -> None:
        """Read the noun after the verb, which a condition becomes: "the season becomes winter"."""
        lemma = group.lemma
        noun = noun_phrase(self.words, self.at)
        if noun is None:
            self._environment_changes(thing, group, words)
            return
        if noun[0].element and not is_environment(noun[0].element):
            if lemma == "cover" or noun[0].element == SCENE:
                self.at = noun[1]
                self.environment(thing)
                self.leftover(self.tail(), allow_environment=True)
                return
            raise self._misspelt(self.at) or noun[0].words.refuse(
                f"the {thing.element} cannot become this", self._such_as(thing)
            )
        self.at = noun[1]
        if lemma == "cover":
            self.environment(thing)
        else:
            self.exchange_environment(thing, noun[0])
        self.leftover(self.tail(), allow_environment=True)

    def _environment_changes(self, thing: NounReading, group: VerbGroup, words: Words) -> None:
        """Read the phrases after the verb: "changes to winter", "comes at night"; or that it just comes."""
        after = self.at
        tail = self.tail()
        before: tuple[str, ...] = _INTO
        if group.lemma in REPLACE_VERBS | CHANGE_VERBS or thing.element == SCENE:
            before += _INSTEAD
        if thing.element == SCENE:
            before += _WHEN
        new = next(
            (
                one
                for one in tail.phrases
                if one.thing is not None and one.preposition in before and is_environment(one.thing.element)
            ),
            None,
        )
        if new is not None:
            assert new.thing is not None
            self.exchange_environment(thing, new.thing)
            others = [one for one in tail.phrases if one is not new and one.preposition != "from"]
            self.leftover(dataclasses.replace(tail, phrases=others), allow_environment=True)
            return
        if thing.element in (*CONDITIONS, SCENE):
            if wrong := self._misspelt(after):
                raise wrong
            if self.over() or self.lower() in AND:
                raise words.refuse(f"what the {thing.element} becomes is not said", self._such_as(thing))
            raise self.words[self.at : self.at + 1].refuse(
                f"the {thing.element} cannot become this", self._such_as(thing)
            )
        if group.lemma in _COMES | PRESENCE_VERBS | ADD_VERBS | SEE_VERBS:
            more = {"level": tail.level} if tail.level else {}
            self.environment(dataclasses.replace(thing, properties={**thing.properties, **more}))
            self.leftover(tail, allow_environment=True, allow_place=True)
            return
        raise group.words.refuse(f"{str(group.words)!r} is not understood of the {thing.element}", UNDERSTOOD)

    def _such_as(self, thing: NounReading) -> tuple[str, ...]:
        """Return what is suggested as what a condition becomes."""
        return SUCH_AS[ontology().condition_of(thing.element) or "weather"]

    def exchange_environment(self, old: NounReading, new: NounReading) -> None:
        """Let one weather, time of day or season give way to another."""
        before, after = (
            {ontology().condition_of(name) for name in (one.element, *one.also)} for one in (old, new)
        )
        # "The weather changes to night" says what it becomes, but of the wrong thing; a "sunny day" that
        # becomes a night is a time, and a scene becomes anything.
        fits = old.element in ("sunny", "day", SCENE) or before & after
        if None in after or not fits:
            raise new.words.refuse(f"{str(new.words)!r} cannot come in the place of {str(old.words)!r}")
        self.environment(new)
