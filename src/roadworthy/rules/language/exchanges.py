"""Clauses in which one thing gives way to another, or gets another property."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from roadworthy.ontology import ontology
from roadworthy.rules.language.conditions import PlacePhrase, Tail
from roadworthy.rules.language.lexicon import DETERMINERS, ONES, VALUES
from roadworthy.rules.language.nouns import ASPECTS, SCENE, NounReading, is_environment, noun_phrase
from roadworthy.rules.language.phrases import Phrase, VerbGroup, prepositional
from roadworthy.rules.language.weather import WeatherReader
from roadworthy.rules.language.words import Words
from roadworthy.rules.reading import SceneChange


class ExchangeReader(WeatherReader):
    """Reads clauses in which things give way to others."""

    def _gives_way(self, things: list[NounReading], group: VerbGroup, inner: Tail | None = None) -> None:
        """Read "are replaced with trees", "is changed into night", "is swapped for a truck"."""
        self.affirmed(group)
        tail = self.tail()
        new = next(
            (one for one in tail.phrases if one.preposition in ("with", "by", "to", "into", "for", "in to")),
            None,
        )
        if new is None:
            value = self._bare_value()
            if value is None:
                where = self.words[-1:] if self.over() else self.words[self.at : self.at + 1]
                raise where.refuse("what comes in its place is not said", ["with trees", "with a black car"])
            key, words = value
            place = None if inner is None else self.place(inner.phrases)
            for thing in things:
                self._other_value(thing, key, None, words, place)
            return
        things = [self._as_it_was(thing, tail) for thing in things]
        for phrase in tail.phrases:
            if phrase is new or (phrase.thing is not None and phrase.thing.element in (SCENE, "road")):
                continue
            if phrase.preposition == "from" or phrase.position is not None:
                continue
            raise phrase.words.refuse("these words are not understood here")
        self.result.found("TRANSFORMATION", str(group.words), "replace")
        old = _value_before(tail.phrases)
        places = [
            one
            for one in tail.phrases
            if one is not new and one.position is not None and one.preposition != "from"
        ] + ([] if inner is None else inner.phrases)
        self.environments(places)
        if new.value is not None:
            for thing in things:
                self._other_value(thing, new.value, old, new.words, self.place(places))
            return
        assert new.thing is not None
        given = new.thing
        # "Trees are substituted for the buildings": what is named first comes.
        if group.lemma == "substitute" and new.preposition == "for" and len(things) == 1:
            given, things = things[0], [given]
        for thing in things:
            self.exchange(thing, given, self.place(places))

    def _as_it_was(self, thing: NounReading, tail: Tail) -> NounReading:
        """Return a thing as "from" describes it: "a vehicle changes from a car into a truck"."""
        for phrase in tail.phrases:
            if phrase.preposition != "from" or phrase.thing is None or is_environment(phrase.thing.element):
                continue
            if phrase.thing.element != thing.element:
                raise phrase.words.refuse("these words are not understood here")
            thing = dataclasses.replace(thing, properties={**thing.properties, **phrase.thing.properties})
        return thing

    def _bare_value(self) -> tuple[tuple[str, str], Words] | None:
        """Read a value of a property that stands by itself: "turns red", "becomes dashed"."""
        self.skip()
        if self.lower() in VALUES:
            begin = self.at
            self.at += 1
            if self.lower() in ONES:
                self.at += 1
            return VALUES[self.words[begin].lower], self.words[begin : self.at]
        return None

    def exchange(self, old: NounReading, new: NounReading, place: PlacePhrase | None = None) -> None:
        """Replace a thing by another one."""
        if is_environment(old.element) or is_environment(new.element):
            self.exchange_environment(old, new)
            return
        old = self.resolved(old)
        new = self.resolved(new)
        self.check_element(new)
        self.check_element(old)
        self.result.found("ONTOLOGY", str(old.words), old.element)
        self.result.found("PREP", str(new.words), new.element)
        if old.element == new.element and not new.properties:
            raise new.words.refuse(f"a {new.element} in the place of a {old.element} changes nothing")
        self._replace(old, new.element, new.properties, place)

    def _replace(
        self, old: NounReading, replacement: str, properties: Mapping[str, str], place: PlacePhrase | None
    ) -> None:
        where = place or PlacePhrase()
        self.result.infer(
            SceneChange(
                "replace",
                old.element,
                properties,
                where.position,
                where.reference,
                replacement,
                target_properties=old.properties,
                reference_properties=where.properties,
            )
        )

    def _other_value(
        self,
        thing: NounReading,
        value: tuple[str, str],
        old: tuple[str, str] | None,
        words: Words,
        place: PlacePhrase | None,
    ) -> None:
        """Give a thing another value of a property: "the light turns red", "is replaced with a red one"."""
        thing = self.resolved(thing)
        key, name = value
        known = ontology().resolve(thing.element).properties
        same_kind = thing.properties if words[-1].lower in ONES else {}
        if key not in known or name not in known[key]:
            raise words.refuse(
                f"a {thing.element} cannot be {name}",
                [one for values in known.values() for one in values],
            )
        self.result.found("AMOD", name, thing.element)
        target = dict(thing.properties)
        if old is not None:
            target[old[0]] = old[1]
        if target.get(key) == name:
            raise words.refuse(f"it is {name} before and after: nothing changes")
        self._replace(
            dataclasses.replace(thing, properties=target), thing.element, {**same_kind, key: name}, place
        )

    def _skip_aspect(self) -> None:
        """Step over "its colour" in "changes its colour from green to red"."""
        owned = 1 if self.lower() in DETERMINERS else 0
        if self.lower(owned) in ASPECTS and self.lower(owned + 1) in ("from", "to", "into"):
            self.at += owned + 1

    def _whereabouts(self, inner: Tail | None) -> tuple[tuple[str, str] | None, PlacePhrase]:
        """Read the end of a clause: the value of a property before, and where the thing is."""
        after = self.tail().phrases
        where = [one for one in after if one.value is None] + ([] if inner is None else inner.phrases)
        self.environments(where)
        return _value_before(after), self.place(where)

    def _becomes(self, things: list[NounReading], group: VerbGroup, inner: Tail | None) -> bool:
        """Read what the subject becomes: "turns red", "changes into a truck", "becomes dashed"."""
        begin = self.at
        self._skip_aspect()
        value = self._bare_value()
        if value is not None and not (group.lemma == "be" and self.noun_at(0)):
            self.affirmed(group)
            old, place = self._whereabouts(inner)
            for thing in things:
                self._other_value(thing, value[0], old, value[1], place)
            return True
        self.at = begin
        if group.lemma == "be":
            return False
        if group.lemma in ("become", "turn", "get", "go"):
            noun = (
                noun_phrase(self.words, self.at)
                if not self.over() and prepositional(self.words, self.at) is None
                else None
            )
            if noun is not None:
                self.affirmed(group)
                self.at = noun[1]
                _, place = self._whereabouts(inner)
                for thing in things:
                    self.exchange(thing, noun[0], place)
                return True
        self._skip_aspect()
        tail_begin = self.at
        tail = self.tail()
        if any(one.preposition in ("to", "into", "with", "by", "for") for one in tail.phrases):
            self.at = tail_begin
            self._gives_way(things, group, inner)
            return True
        self.at = begin
        return False


def _value_before(phrases: Sequence[Phrase]) -> tuple[str, str] | None:
    """Return the property and value of "from green", where phrases have it."""
    return next((one.value for one in phrases if one.preposition == "from" and one.value), None)
