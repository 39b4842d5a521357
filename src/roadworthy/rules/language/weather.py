"""Weather, time and season that become another, and things that give way to others."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import chain

from roadworthy.errors import RuleError
from roadworthy.ontology import CONDITIONS, ontology
from roadworthy.rules.language import lexicon
from roadworthy.rules.language.conditions import AND, INSTEAD, UNDERSTOOD, PlacePhrase, Tail
from roadworthy.rules.language.distances import AWAY
from roadworthy.rules.language.lexicon import SETS
from roadworthy.rules.language.nouns import SCENE, NounReading, is_environment, noun_phrase
from roadworthy.rules.language.phrases import Phrase, VerbGroup, after_fillers, prepositional, verb_group
from roadworthy.rules.language.reader import Reader
from roadworthy.rules.language.words import Words
from roadworthy.rules.reading import Comparative, SceneChange, thing_in_words

Value = tuple[str, str]
"""A property and what it is: ("color", "red")."""
# What has passed is over, and what approaches has not come.
_COMES = (SETS["weather comes"] | SETS["add"] | SETS["see"]) - {"pass", "follow", "approach", "near"}
_INTO = ("to", "into")
_INSTEAD = ("with", "by", "for")  # what it is replaced by; but what comes with another comes beside it
_ALIKE = 0.75  # of two words, one of which is probably a slip: "fogy" and "foggy" have 0.89
_HOW_DARK = "how dark a picture is, is no time of day"


def _words_of_the_environment() -> list[str]:
    """Return every single word that stands for a weather, a time of day or a season."""
    known = ontology()
    elements = [known.elements[name] for kind in CONDITIONS for name in known.leaves(kind)]
    words = [word for one in elements for word in (one.name, *one.synonyms, *one.kinds)]
    return [*(word for word in words if " " not in word), *lexicon.WEATHER_VERBS, "dark"]


class WeatherReader(Reader):
    """Reads clauses about the weather, the time of day and the season."""

    def _about_weather(self) -> bool:
        """Return whether "it" is that of "it rains" and "it gets dark", and stands for nothing."""
        found = verb_group(self.words, self.at + 1)
        if found is None:
            return False
        group, stop = found
        if group.lemma in lexicon.WEATHER_VERBS or (group.lemma == "stop" and stop < len(self.words)):
            return True
        if group.lemma not in SETS["change"] | {"be"}:
            return False
        stop = after_fillers(self.words, stop, ("very", "more"))
        if stop < len(self.words) and self.words[stop].lower in ("dark", "darker"):
            return True
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
        it = self.step()
        group: VerbGroup | None = self.contrasted(self.group())
        while group is not None:
            self._it_happens(it, group)
            begin = self.at
            group = self._said_too(group) if not self.over() and self.conjunction() else None
            self.at = begin if group is None else self.at

    def _said_too(self, group: VerbGroup) -> VerbGroup | None:
        """Return the verb of what else "it" does: "it is dark and foggy", "it is night and raining"."""
        word, after = self.lower(), self.lower(1)
        found = verb_group(self.words, self.at)
        if found is not None and found[0].lemma in lexicon.WEATHER_VERBS and word.endswith(("ing", "s")):
            self.at = found[1]
            self.certain(found[0])
            return found[0]
        alone = after in ("", *AND) and (word == "dark" or self.weather_at(0))
        return group if alone and group.lemma in SETS["change"] | {"be"} else None

    def _it_happens(self, it: Words, group: VerbGroup) -> None:
        over = group.words[0].lemma == "have" and group.words[-1].lower.endswith("ed")  # "it has rained"
        if group.negated or group.no_longer or group.lemma == "stop" or over:
            raise self.ended(self._named(), self.words[self.at - len(group.words) :])
        if group.lemma in lexicon.WEATHER_VERBS:
            element, properties = lexicon.WEATHER_VERBS[group.lemma]
            tail = self.tail()
            self.result.found("TRANSFORMATION", group.lemma, "replace")
            level = {"level": tail.level} if tail.level else {}
            self.become(element, {**properties, **level}, tail.comparative, group.words)
            self.result.bind(it, element)
            self.leftover(tail, allow_environment=True)
            return
        if self.lower() == "darker":
            raise self.step().refuse(_HOW_DARK, ["dark"])
        if self.lower() == "dark":
            self.result.found("TRANSFORMATION", str(group.words), "replace")
            self._turns("night", Words(it.text, (*it.items, *group.words.items, *self.step().items)))
            return
        self.result.bind(Words(it.text, it.items + group.words.items), "becomes")
        found = noun_phrase(self.words, self.at)
        if found is None:
            raise group.words.refuse("what it becomes is not said", ["it becomes foggy"])
        self.at = found[1]
        self.result.found("TRANSFORMATION", str(group.words), "replace")
        self.environment(found[0])
        self.leftover(self.tail(), allow_environment=True)

    def _turns(self, element: str, words: Words) -> None:
        """Take it that a condition becomes another, with what else is said of it."""
        self.become(element, {}, None, words)
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
        self.result.bind(words, "becomes")
        if lemma in lexicon.WEATHER_VERBS and thing.element == "weather":
            # "The sky clouds over."
            self.affirmed(group)
            self.some(thing)
            self.become(*lexicon.WEATHER_VERBS[lemma], None, words)
            self.leftover(self.tail())
            return
        if lemma in SETS["heavier"] | SETS["lighter"]:
            self.affirmed(group)
            kind: Comparative = "heavier" if lemma in SETS["heavier"] else "lighter"
            self.leftover(self.tail())
            self.heavier(thing, kind, words)
            return
        if (
            group.negated
            or group.no_longer
            or thing.negated
            or (lemma == "fall" and group.words[0].lemma == "have" and thing.element != "night")
            or (lemma == "be" and self.lower() in SETS["absent"])
            or lemma in SETS["vanish"] | {"stop", "clear", "end"} | SETS["remove"] - {"get"}
        ):
            if lemma == "clear" and thing.element == "weather":
                self.affirmed(group)
                self.some(thing)
                self._turns("sunny", words)
                return
            raise self.ended(thing.element, group.words)
        if lemma in ("stay", "remain"):
            raise group.words.refuse("what stays as it is changes nothing", UNDERSTOOD)
        self.skip()
        if lemma == "give" and self.lower() == "way":
            self.result.bind(self.step(), "becomes")
        sun = (thing.element == "sunny", lemma)
        if sun == (True, "set") or (thing.element, lemma) == ("day", "break"):
            self._turns("dusk" if sun[0] else "day", words)
            return
        if sun == (True, "rise") or (sun == (True, "go") and group.particle == "down"):
            raise words.refuse("which time it is then is not said", lexicon.SUCH_AS["time"])
        if self.lower() in ("more", "much", "even") and self.lower(1) in lexicon.COMPARATIVES:
            self.result.bind(self.step(), "more")
        kind_of = lexicon.COMPARATIVES.get(self.lower())
        if kind_of in ("heavier", "lighter"):
            self.result.bind(self.step(), kind_of)
            self.leftover(self.tail())
            self.heavier(thing, kind_of, words)
            return
        if self.lower() in lexicon.LEVELS and not self.noun_at(1) and not self.weather_at(1):
            level = lexicon.LEVELS[self.lower()]
            self.result.bind(self.step(), level)
            self.leftover(self.tail(), allow_environment=True)
            if self.refers(thing) or thing.element not in ("weather", SCENE):
                self.become(thing.element, {**thing.properties, "level": level}, None, words)
                return
            raise words.refuse("which weather it is, is not said", ["the rain becomes heavy"])
        if self.lower() == "darker":
            raise self.step().refuse(_HOW_DARK, ["dark"])
        if self.lower() == "dark":
            self._turns("night", self.step())
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
            ground = noun[0].element in ("road", "sidewalk", "lane", "terrain") and not noun[0].properties
            if (lemma == "cover" and ground) or noun[0].element == SCENE:
                self.at = noun[1]
                self.check_everywhere(noun[0])
                self.environment(thing)
                self.leftover(self.tail(), allow_environment=True)
                return
            reason = f"the {thing.element} cannot become this"
            raise self._misspelt(self.at) or noun[0].words.refuse(reason, self._such_as(thing))
        self.at = noun[1]
        if lemma == "cover":
            self.result.bind(noun[0].words, "everywhere")
            self.environment(thing)
        else:
            # "Winter replaces autumn", or follows it.
            pair = (noun[0], thing) if lemma in ("replace", "follow") else (thing, noun[0])
            self.exchange_environment(*pair)
        self.leftover(self.tail(), allow_environment=True)

    def _environment_changes(self, thing: NounReading, group: VerbGroup, words: Words) -> None:
        """Read the phrases after the verb: "changes to winter", "comes at night"; or that it just comes."""
        after = self.at
        tail = self.tail()
        before: tuple[str, ...] = () if group.lemma in SETS["add"] else _INTO
        if group.lemma in SETS["replace"] | SETS["change"] or thing.element == SCENE:
            before += _INSTEAD
        if thing.element == SCENE:
            before += (*SETS["when"],)
        named = [one for one in tail.phrases if one.thing is not None and one.preposition in before]
        placed = [one for one in tail.phrases if one.position in ("front", "behind", "beside", "above")]
        if thing.words[-1].lower == "sun" and placed:
            raise placed[0].words.refuse("where the sun stands cannot be shown", ["it is sunny"])
        new = next((one for one in named if one.thing and is_environment(one.thing.element)), None)
        if new is not None and new.thing is not None:
            comes = group.lemma == "substitute" and new.preposition == "for"  # "rain is substituted for snow"
            self.exchange_environment(*((new.thing, thing) if comes else (thing, new.thing)))
            self.result.bind(new.words, new.thing.element)
            for one in tail.phrases:
                if one.preposition == "from" and one.thing is not None and is_environment(one.thing.element):
                    self.result.bind(one.words, f"from {one.thing.element}")
            others = [one for one in tail.phrases if one is not new and one.preposition != "from"]
            self.leftover(dataclasses.replace(tail, phrases=others), allow_environment=True)
            return
        if tail.comparative is not None:
            self.heavier(thing, tail.comparative, tail.degree or words)
            self.leftover(tail, allow_environment=True)
            return
        if thing.element in (*CONDITIONS, SCENE):
            if wrong := self._misspelt(after):
                raise wrong
            if self.over() or self.lower() in AND:
                raise words.refuse(f"what the {thing.element} becomes is not said", self._such_as(thing))
            reason = f"the {thing.element} cannot become this"
            raise self.words[self.at : self.at + 1].refuse(reason, self._such_as(thing))
        over = group.lemma == "break" and not group.particle and thing.element in ontology().leaves("weather")
        over |= group.lemma == "cover" and group.passive
        if group.lemma in _COMES and not over:
            more = {"level": tail.level} if tail.level else {}
            self.environment(dataclasses.replace(thing, properties={**thing.properties, **more}))
            self.leftover(tail, allow_environment=True, allow_place=True)
            return
        raise group.words.refuse(f"{str(group.words)!r} is not understood of the {thing.element}", UNDERSTOOD)

    def _such_as(self, thing: NounReading) -> tuple[str, ...]:
        """Return what is suggested as what a condition becomes."""
        return lexicon.SUCH_AS[ontology().condition_of(thing.element) or "weather"]

    def exchange_environment(self, old: NounReading, new: NounReading) -> None:
        """Let one weather, time of day or season give way to another."""
        kind = ontology().condition_of
        before, after = ({kind(name) for name in (one.element, *one.also)} for one in (old, new))
        # "The weather changes to night" says what it becomes, but of the wrong thing; a "sunny day" that
        # becomes a night is a time, and a scene becomes anything.
        fits = old.element in ("sunny", "day", SCENE) or before & after
        if None in after or not fits:
            raise new.words.refuse(f"{str(new.words)!r} cannot replace {str(old.words)!r}")
        self.result.bind(old.words, f"from {old.element}")
        self.environment(new)


class ExchangeReader(WeatherReader):
    """Reads clauses in which things give way to others."""

    def _gives_way(self, things: list[NounReading], group: VerbGroup, inner: Tail | None = None) -> None:
        """Read "are replaced with trees", "is changed into night", "is swapped for a truck"."""
        self.affirmed(group)
        tail = self.tail()
        leads_on = (*_INTO, *_INSTEAD, "in to")
        new = next((one for one in tail.phrases if one.preposition in leads_on), None)
        if new is None:
            value = self._bare_value()
            if value is None:
                where = self.words[-1:] if self.over() else self.words[self.at : self.at + 1]
                raise where.refuse("what comes in its place is not said", ["with trees", "with a black car"])
            key, words = value
            self.result.bind(group.words, "replace")
            place = None if inner is None else self.place(inner.phrases)
            for thing in things:
                self._other_value(thing, key, None, words, place)
            return
        things = [self._as_it_was(thing, tail) for thing in things]
        for phrase in tail.phrases:
            if phrase is new:
                continue
            if phrase.preposition == "from" or phrase.position is not None:
                continue
            raise phrase.words.refuse("these words are not understood here")
        self.result.found("TRANSFORMATION", str(group.words), "replace")
        self.result.bind(group.words, "replace")
        old = _value_before(tail.phrases)
        for one in tail.phrases:
            if one.preposition == "from" and one.value is not None:
                self.result.bind(one.words, f"from {one.value[1]}")
        there = [one for one in tail.phrases if one is not new and one.position and one.preposition != "from"]
        places = there + ([] if inner is None else inner.phrases)
        self.environments(places)
        two = inner is not None and [one for one in places if one not in inner.phrases]
        if two and inner and self.place(inner.phrases) != PlacePhrase() != self.place(two):
            raise two[0].words.refuse("what comes stands where the other stood", ["with trees"])
        # "Trees are substituted for the buildings": what is named first comes.
        comes = group.lemma == "substitute" and new.preposition == "for" and len(things) == 1
        if new.value is not None:
            for thing in things:
                later, before = new.value, old
                if comes and later[0] in thing.properties:
                    later, before = (later[0], thing.properties[later[0]]), later
                elif comes:
                    raise new.words.refuse(f"as what the {thing.element} comes instead is not said")
                self._other_value(thing, later, before, new.words, self.place(places))
            return
        assert new.thing is not None
        self.result.bind(new.words[: -len(new.thing.words)], "replace")
        given = new.thing
        if comes:
            given, things = things[0], [given]
        for thing in things:
            self.exchange(thing, given, self.place(places))

    def _as_it_was(self, thing: NounReading, tail: Tail) -> NounReading:
        """Return a thing as "from" describes it: "a vehicle changes from a car into a truck"."""
        for phrase in tail.phrases:
            if phrase.preposition != "from" or phrase.thing is None:
                continue
            if is_environment(phrase.thing.element):
                self.result.bind(phrase.words, f"from {phrase.thing.element}")
                continue
            if phrase.thing.element != thing.element:
                raise phrase.words.refuse("these words are not understood here")
            self.result.bind(phrase.words, thing_in_words(thing.element, phrase.thing.properties))
            thing = dataclasses.replace(thing, properties={**thing.properties, **phrase.thing.properties})
        return thing

    def _bare_value(self) -> tuple[Value, Words] | None:
        """Read a value of a property that stands by itself: "turns red", "becomes dashed"."""
        self.skip()
        if self.lower() in lexicon.VALUES:
            begin = self.at
            self.at += 1
            if self.lower() in SETS["ones"]:
                self.at += 1
            return lexicon.VALUES[self.words[begin].lower], self.words[begin : self.at]
        return None

    def exchange(self, old: NounReading, new: NounReading, place: PlacePhrase | None = None) -> None:
        """Replace a thing by another one."""
        if is_environment(old.element) or is_environment(new.element):
            self.exchange_environment(old, new)
            return
        self.some(old)
        self.some(new)
        self.check_earlier(old)
        self.check_amount(old)
        self.check_alone(new)
        said, old = old, self.resolved(old)
        new = self.resolved(new)
        self.check_element(new)
        self.check_element(old)
        self.result.found("ONTOLOGY", str(old.words), old.element)
        self.result.found("PREP", str(new.words), new.element)
        for one in (old, new):
            self.result.bind(one.words, thing_in_words(one.element, one.properties))
        if old.element == new.element and new.properties.items() <= old.properties.items():
            raise new.words.refuse(f"a {new.element} in the place of a {old.element} changes nothing")
        replaced = {"replacement": new.element, "target_properties": old.properties, "part": old.part_changed}
        where = place or PlacePhrase()
        self.check_painted(old, where)
        self._instead(said, where.changed("replace", old.element, new.properties, **replaced))

    def _instead(self, said: NounReading, change: SceneChange) -> None:
        """Make a thing another one: what an earlier block brought comes as that one, to its place."""
        brought = [one for one in self.meant(said) if one.op == "add"] if self.refers(said) else []
        if brought and (change.position or AWAY.search(self.words.text[: said.words[0].start])):
            raise said.words.refuse("where it is then is not clear: write a rule for each", ["appears ahead"])
        for before in brought:
            new = change.replacement or before.target
            self.result.infer(dataclasses.replace(before, target=new, properties=change.properties, pose=""))
        if not brought:
            self.result.infer(change)

    def _other_value(
        self, thing: NounReading, value: Value, old: Value | None, words: Words, place: PlacePhrase | None
    ) -> None:
        """Give a thing another value of a property: "the light turns red", "is replaced with a red one"."""
        self.some(thing)
        self.check_earlier(thing)
        self.check_amount(thing)
        said, thing = thing, self.resolved(thing)
        key, name = value
        known = ontology().resolve(thing.element).properties
        if key not in known or name not in known[key]:
            raise words.refuse(f"a {thing.element} cannot be {name}", chain.from_iterable(known.values()))
        self.result.found("AMOD", name, thing.element)
        self.result.bind(thing.words, thing_in_words(thing.element, thing.properties))
        self.result.bind(words, name)
        target = dict(thing.properties)
        if old is not None:
            target[old[0]] = old[1]
        if target.get(key) == name:
            raise words.refuse(f"it is {name} before and after: nothing changes")
        given = {"replacement": thing.element, "target_properties": target, "part": thing.part_changed}
        where = place or PlacePhrase()
        self.check_painted(thing, where)
        new = {**thing.properties, key: name}
        self._instead(said, where.changed("replace", thing.element, new, **given))

    def _skip_aspect(self) -> None:
        """Step over "its colour" in "changes its colour from green to red"."""
        owned = 1 if self.lower() in SETS["determiners"] else 0
        if self.lower(owned) in SETS["aspects"] and self.lower(owned + 1) in ("from", "to", "into"):
            self.result.bind(self.step(owned + 1), "replace")

    def _whereabouts(self, inner: Tail | None) -> tuple[Value | None, PlacePhrase]:
        """Read the end of a clause: the value of a property before, and where the thing is."""
        after = self.tail().phrases
        for one in after:
            if one.value is not None:
                self.result.bind(one.words, f"from {one.value[1]}")
        where = [one for one in after if one.value is None] + ([] if inner is None else inner.phrases)
        self.environments(where)
        return _value_before(after), self.place(where)

    def _becomes(self, things: list[NounReading], group: VerbGroup, inner: Tail | None) -> bool:
        """Read what the subject becomes: "turns red", "changes into a truck", "becomes dashed"."""
        begin = self.at
        self._skip_aspect()
        value = self._bare_value()
        if value is not None and not self.noun_at(0):
            self.affirmed(group, "replace")
            said = self.saying((*INSTEAD, ("and", "not"), (",", "not"), ("not",)))
            instead = self._bare_value() if said else None
            if said and instead:  # "is red instead of green"
                self.result.bind(Words(said.text, (*said.items, *instead[1].items)), f"from {instead[0][1]}")
            old, place = self._whereabouts(inner)
            for thing in things:
                self._other_value(thing, value[0], instead[0] if instead else old, value[1], place)
            return True
        self.at = begin
        if group.lemma == "be":
            return False
        if group.lemma in ("become", "turn"):
            plain = not self.over() and prepositional(self.words, self.at) is None
            if plain and (noun := noun_phrase(self.words, self.at)) is not None:
                self.affirmed(group, "replace")
                self.at = noun[1]
                _, place = self._whereabouts(inner)
                for thing in things:
                    self.exchange(thing, noun[0], place)
                return True
        self._skip_aspect()
        tail_begin = self.at
        tail = self.tail()
        if any(one.preposition in self._leads_to(things, group, tail) for one in tail.phrases):
            self.at = tail_begin
            self._gives_way(things, group, inner)
            return True
        self.at = begin
        return False

    def _leads_to(self, things: Sequence[NounReading], group: VerbGroup, tail: Tail) -> tuple[str, ...]:
        """Return the prepositions before what a thing becomes: one gets into a car, and turns to someone."""
        if group.lemma == "go" and _value_before(tail.phrases):
            return _INTO
        if group.lemma in ("get", "go", "become"):
            return ()
        if group.lemma in ("turn", "shift", "switch") and any(map(self.moves, things)):
            return ("into",)
        return (*_INTO, *_INSTEAD)


def _value_before(phrases: Sequence[Phrase]) -> Value | None:
    """Return the property and value of "from green", where phrases have it."""
    return next((one.value for one in phrases if one.preposition == "from" and one.value), None)
