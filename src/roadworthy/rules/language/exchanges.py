"""Clauses in which one thing gives way to another, or gets another property."""

from __future__ import annotations

from roadworthy.ontology import ontology
from roadworthy.rules.language.lexicon import VALUES
from roadworthy.rules.language.nouns import SCENE, Thing, is_environment, noun_phrase
from roadworthy.rules.language.phrases import VerbGroup, prepositional
from roadworthy.rules.language.reader import UNDERSTOOD, Place, Tail
from roadworthy.rules.language.weather import WeatherReader
from roadworthy.rules.language.words import Words
from roadworthy.rules.reading import Change

__all__ = ["ExchangeReader"]


class ExchangeReader(WeatherReader):
    """Reads clauses in which things give way to others."""

    def _gives_way(self, things: list[Thing], group: VerbGroup, inner: Tail | None = None) -> None:
        """Read "are replaced with trees", "is changed into night", "is swapped for a truck"."""
        if group.negated:
            raise group.words.refuse("something that does not happen is no change", UNDERSTOOD)
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
            for thing in things:
                self._other_value(thing, key, None, words)
            return
        for phrase in tail.phrases:
            if phrase is new or (phrase.thing is not None and phrase.thing.element in (SCENE, "road")):
                continue
            if (
                phrase.preposition == "from"
                and phrase.thing is not None
                and is_environment(phrase.thing.element)
            ):
                continue
            if phrase.preposition == "from" and phrase.value is not None:
                continue
            if phrase.position is not None:
                continue
            raise phrase.words.refuse("these words are not understood here")
        self.result.found("TRANSFORMATION", str(group.words), "replace")
        old = next((one.value for one in tail.phrases if one.preposition == "from" and one.value), None)
        places = [
            one
            for one in tail.phrases
            if one is not new and one.position is not None and one.preposition != "from"
        ] + ([] if inner is None else inner.phrases)
        if new.value is not None:
            for thing in things:
                self._other_value(thing, new.value, old, new.words)
            return
        assert new.thing is not None
        given = new.thing
        # "Trees are substituted for the buildings": what is named first comes.
        if group.lemma == "substitute" and new.preposition == "for" and len(things) == 1:
            given, things = things[0], [given]
        for thing in things:
            self.exchange(thing, given, self.place(places) if places else None)
        self.environments(places)

    def _bare_value(self) -> tuple[tuple[str, str], Words] | None:
        """Read a value of a property that stands by itself: "turns red", "becomes dashed"."""
        self.skip()
        if self.lower() in VALUES:
            begin = self.at
            self.at += 1
            if self.lower() in ("one", "ones"):
                self.at += 1
            return VALUES[self.words[begin].lower], self.words[begin : self.at]
        return None

    def exchange(self, old: Thing, new: Thing, place: Place | None = None) -> None:
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
        self.result.infer(
            Change(
                "replace",
                old.element,
                new.properties,
                replacement=new.element,
                target_properties=old.properties,
                position=None if place is None else place.position,
                reference=None if place is None else place.reference,
            )
        )

    def _other_value(
        self, thing: Thing, value: tuple[str, str], old: tuple[str, str] | None, words: Words
    ) -> None:
        """Give a thing another value of a property: "the light turns red"."""
        thing = self.resolved(thing)
        key, name = value
        known = ontology().resolve(thing.element).properties
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
        self.result.infer(
            Change("replace", thing.element, {key: name}, replacement=thing.element, target_properties=target)
        )

    def _becomes(self, things: list[Thing], group: VerbGroup) -> bool:
        """Read what the subject becomes: "turns red", "changes into a truck", "becomes dashed"."""
        begin = self.at
        value = self._bare_value()
        if value is not None and not (group.lemma == "be" and self.noun_at(0)):
            after = self.tail()
            old = next((one.value for one in after.phrases if one.preposition == "from" and one.value), None)
            for thing in things:
                self._other_value(thing, value[0], old, value[1])
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
                self.at = noun[1]
                for thing in things:
                    self.exchange(thing, noun[0])
                return True
        tail_begin = self.at
        tail = self.tail()
        if any(one.preposition in ("to", "into", "with", "by", "for") for one in tail.phrases):
            self.at = tail_begin
            self._gives_way(things, group)
            return True
        self.at = begin
        return False
