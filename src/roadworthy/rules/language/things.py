"""The things that words name: new ones, those named before, and what else is said of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from roadworthy.errors import RuleError
from roadworthy.ontology import CONDITIONS, ontology
from roadworthy.rules.language import conditions, lexicon, nouns
from roadworthy.rules.language import phrases as speech
from roadworthy.rules.language.conditions import AWAY, Tail, WordStream
from roadworthy.rules.language.lexicon import COMPARATIVES, LEVELS, SETS
from roadworthy.rules.language.words import Words
from roadworthy.rules.reading import GROUND, Comparative, SceneChange

_EVERYWHERE = (nouns.SCENE, "road", "sidewalk")


class ThingReader(WordStream):
    """Reads which things a rule speaks of, and what its other words say of them."""

    def __init__(self, words: Words, blocks: Sequence[Sequence[SceneChange]]) -> None:
        super().__init__(words)
        self.latest = blocks[-1] if blocks else ()
        self.earlier = [change for block in blocks for change in block]
        self.waiting: list[nouns.NounReading] = []
        self.again: list[SceneChange] = []
        self.subject: nouns.NounReading | None = None
        self.by_us = False

    def compare(self, thing: nouns.NounReading, kind: Comparative) -> None:
        """Change what an earlier block changed, by more or less."""
        self.some(thing)
        self.check_alone(thing)
        self.check_earlier(thing)
        for before in self.meant(thing):
            if before.target in CONDITIONS:
                raise thing.words.refuse(f"{before.target} cannot be {kind}", ["the rain gets heavier"])
            self.result.found("COMPARATIVE", kind, before.target)
            self.result.bind(thing.words, before.target)
            self.result.infer(dataclasses.replace(before, comparative=kind))

    def refers(self, thing: nouns.NounReading) -> bool:
        """Return whether a thing was spoken of in an earlier block."""
        if not thing.element:
            return bool(self.earlier)
        return thing.definite and any(one.target == thing.element for one in self.earlier)

    def antecedent(self, thing: nouns.NounReading) -> SceneChange:
        """Return the change of an earlier block that brought a thing in."""
        changes = reversed([*self.earlier, *self.result.changes])
        # "It" is rather a thing than the weather.
        for change in sorted(changes, key=lambda one: not thing.element and one.target in CONDITIONS):
            if conditions.fits(thing, change):
                return change
        what = str(thing.words)
        raise thing.words.refuse(
            f"{what!r} refers to nothing mentioned earlier in the rule",
            ["a pedestrian appears on the roadside"],
        )

    def meant(self, thing: nouns.NounReading) -> list[SceneChange]:
        """Return the changes of earlier blocks that brought things in, and note that they are made again."""
        found = [self.antecedent(thing)]
        last = thing.words[-1]
        pool = next((one for one in (self.latest, self.result.changes) if found[0] in one), ())
        if pool:
            plural = last.tag in ("NNS", "NNPS") or last.lower in ("they", "them", "these", "those")
            fitting = [one for one in pool if one.op == "add" and conditions.fits(thing, one)]
            many = found[0].target in SETS["people"] or last.tag in SETS["nouns"]
            many |= conditions.is_plural(self.words.text[: last.start], found[0].target)
            if plural and len(fitting) == 1 and not many:
                raise thing.words.refuse("only one was spoken of", ["it"])
            if len(fitting) > 1 and not plural:
                raise thing.words.refuse("which of them is meant is not said", ["they", "the pedestrian"])
            found = fitting if fitting and plural else found
        self.again += found
        return found

    def _check_one(self, thing: nouns.NounReading) -> None:
        """Refuse a pronoun for a place where several things were named that it may stand for."""
        named = [one for one in (*self.latest, *self.result.changes) if conditions.fits(thing, one)]
        things = [one.target for one in named if one.target not in CONDITIONS]
        he = thing.words[-1].lower in SETS["he"]
        things += [
            one.reference for one in named if one.reference and conditions.stands(one.reference) and not he
        ]
        if len(things) > 1 or thing.words[-1].lower in SETS["they"]:
            raise thing.words.refuse("which of them is meant is not said", ["behind the car"])

    def heavier(self, thing: nouns.NounReading, kind: Comparative, words: Words) -> None:
        """Make the weather of an earlier block heavier or lighter."""
        if kind not in ("heavier", "lighter"):
            raise words.refuse(f"weather cannot be {kind}", ["the rain gets heavier"])
        if (condition := ontology().condition_of(thing.element)) not in ("weather", None):
            reason = f"a {condition} cannot be {kind}: only weather has levels"
            raise words.refuse(reason, ["the rain gets heavier"])
        for change in reversed(self.earlier):
            if change.target == "weather" and thing.element in ("weather", change.replacement):
                self.result.found("COMPARATIVE", kind, str(change.replacement))
                self.result.bind(thing.words, str(change.replacement))
                self.result.bind(words, kind)
                self.again.append(change)
                self.result.infer(dataclasses.replace(change, comparative=kind))
                return
        raise words.refuse(
            f"{kind} than before needs an earlier part of the rule that says how the weather is",
            ["heavy rain"],
        )

    def environment(self, thing: nouns.NounReading) -> None:
        """Change the weather, the time of day or the season into what a phrase names."""
        if thing.negated:
            raise self.ended(thing.element, thing.words)
        self.check_alone(thing)
        if thing.comparative is not None:
            self.heavier(thing, thing.comparative, thing.words)
            return
        self.become(thing.element, thing.properties, None, thing.words)
        for one in thing.also:
            self.become(one, {}, None, thing.words)

    def ended(self, element: str, words: Words) -> RuleError:
        """Return the refusal of a condition that there is no longer: what comes instead must be said."""
        what, instead = lexicon.ENDINGS[ontology().condition_of(element) or "weather"]
        return words.refuse(f"{what} is not understood: say what it becomes", [instead])

    def become(
        self, element: str, properties: Mapping[str, str], comparative: Comparative | None, words: Words
    ) -> None:
        """Change the weather, the time of day or the season."""
        kind = ontology().condition_of(element)
        if kind is None or element == kind:
            raise words.refuse(f"what the {element} becomes is not said", lexicon.SUCH_AS[kind or "weather"])
        if "level" in properties and kind != "weather":
            raise nouns.no_level(element, properties["level"], words)
        if comparative in ("heavier", "lighter"):
            self.heavier(nouns.NounReading(element, words, properties, "the"), comparative, words)
            return
        self.result.found(kind.upper(), element)
        self.result.bind(words, element)
        change = SceneChange("replace", kind, properties, replacement=element)
        # "It pours with rain" says it twice, the second time less exactly.
        for one in self.result.changes:
            if one.replacement == element and properties.items() <= one.properties.items():
                return
            if one.replacement == element and one.properties.items() <= properties.items():
                self.result.changes.remove(one)  # "it rains and the rain is heavy"
                break
            if one.target == kind and one.replacement != element:
                raise words.refuse(f"the {kind} cannot be {one.replacement} and {element} at once")
        self.result.infer(change)

    def leftover(self, tail: Tail, *, allow_environment: bool = False, allow_place: bool = False) -> None:
        """Use the phrases at the end of a clause about the weather, or refuse them."""
        if (old := tail.instead) and self.result.changes:
            kind, new = ontology().condition_of(old.element), self.result.changes[-1]
            if kind != new.target or old.element == new.replacement:
                raise old.words.refuse(f"{str(old.words)!r} cannot be {new.replacement} then")
            self.result.bind(old.words, f"from {old.element}")
        for phrase in tail.phrases:
            thing = phrase.thing
            plain = thing is not None and (self.is_ego(thing) or not (thing.properties or thing.amount))
            plain &= thing is not None and thing.determiner not in ("no", "another", "other")
            if thing is None or not (plain or nouns.is_environment(thing.element)):
                raise phrase.words.refuse("these words are not understood here")
            if allow_environment and nouns.is_environment(thing.element):
                self.check_within(phrase)
                if thing.element not in CONDITIONS:
                    self.environment(thing)
                self.result.bind(phrase.words, thing.element)
                continue
            everywhere = thing.element == "road" or (allow_place and thing.element == "lane")
            everywhere &= phrase.position in ("on", "in", "above")
            ahead = self.is_ego(thing) and phrase.position in ("front", None)
            if not (everywhere or thing.element == nouns.SCENE or ahead):
                raise phrase.words.refuse("these words are not understood here")
            self.result.bind(phrase.words, "everywhere")
        self.result.bind(tail.degree, tail.level or tail.comparative or "")

    def named(self, missing: str, *such_as: str) -> list[nouns.NounReading]:
        """Read one noun phrase or several, which must be there."""
        found = self.things()
        if not found:
            raise self.rest().refuse(missing, such_as)
        return found

    def things(self) -> list[nouns.NounReading]:
        """Read one noun phrase or several that are joined."""
        first = self.thing()
        if first is None:
            return []
        found = [first]
        while True:
            begin = self.at
            if not self.conjunction():
                break
            try:
                following = self.thing() if self.lower() not in ("", "it", "there") else None
            except RuleError:
                if self._verb_before(begin):
                    self.at = begin
                    break
                raise
            if first.negated and self.words[begin].lower == "but":
                raise self.words[begin : self.at].refuse("'no … but' leaves out what it names", ["no"])
            if following is None or self._own_clause(begin):
                self.at = begin
                break
            if self.words[begin].lower == "but" and not following.negated:
                raise self.words[begin : self.at].refuse("'all … but' leaves out what it names", ["and"])
            found.append(self._alike(found[-1], following))
        return found

    def _alike(self, first: nouns.NounReading, second: nouns.NounReading) -> nouns.NounReading:
        """Return the second of two joined things, of which the first's determiner may be said too."""
        shared = not second.determiner or (first.part in ("some", "half") and second.determiner == "the")
        known = ontology().resolve(second.element).properties if second.element in ontology() else {}
        told = [one for one in first.properties.items() if one[0] not in ("type", *second.properties)]
        both = any(value in known.get(key, ()) for key, value in told)
        if shared and (first.amount or both) and second.element and not nouns.is_environment(second.element):
            raise second.words.refuse(f"is {str(first.words)!r} said of both?", [f"and the {second.words}"])
        return dataclasses.replace(second, determiner="no") if shared and first.negated else second

    def _own_clause(self, begin: int) -> bool:
        """Return whether what was joined has a verb of its own while a verb stood before it already."""
        at = self.at
        while at < len(self.words) and self.words[at].lower in conditions.AND:
            following = nouns.noun_phrase(self.words, at + 1)
            at = following[1] if following else len(self.words)
        after = speech.verb_group(self.words, speech.after_fillers(self.words, at))
        return self._verb_before(begin) and after is not None

    def _verb_before(self, begin: int) -> bool:
        return any(speech.is_verb(word) and word.pos in ("VERB", "AUX") for word in self.words[:begin])

    def thing(self) -> nouns.NounReading | None:
        """Read a noun phrase or a pronoun."""
        self.skip()
        if self.at >= len(self.words):
            return None
        word = self.words[self.at]
        if nouns.is_pronoun(word) and not speech.noun_follows(self.words, self.at):
            self.at += 1
            return nouns.NounReading("", self.words[self.at - 1 : self.at], {}, word.lower)
        found = nouns.noun_phrase(self.words, self.at)
        if found is None:
            return None
        self.at = found[1]
        return found[0]

    def is_ego(self, thing: nouns.NounReading) -> bool:
        """Return whether a thing is the ego-vehicle: "the car", where no other car was spoken of."""
        if thing.element == "ego-vehicle":
            return True
        if thing.element != "vehicle" or thing.determiner not in ("the", "your", "our", "my") or thing.part:
            return False
        if thing.determiner != "the":
            return True
        if thing.words[-1].tag in ("NNS", "NNPS") or any(one.lower in SETS["states"] for one in thing.words):
            return False
        if any(one.target == "vehicle" for one in (*self.earlier, *self.result.changes)):
            return False
        return (
            not set(thing.properties) - {"type", "position"} and thing.properties.get("type", "car") == "car"
        )

    def moves(self, thing: nouns.NounReading) -> bool:
        """Return whether a thing moves by itself."""
        element = self.resolved(thing).element
        return element in ontology() and (element == "dog" or ontology().is_a(element, "dynamic object"))

    def resolved(self, thing: nouns.NounReading) -> nouns.NounReading:
        """Return the thing that a pronoun stands for, or the thing itself."""
        if thing.element:
            return thing
        change = self.antecedent(thing)
        if change.op == "replace":
            # It is changed in the original image, in which it still was what it was.
            return dataclasses.replace(thing, element=change.replacement or "")
        return dataclasses.replace(thing, element=change.target, properties=change.properties)

    def known(self, thing: nouns.NounReading) -> nouns.NounReading:
        """Return a thing with the properties that an earlier block gave it: "this sign"."""
        if not self.refers(thing) or thing.determiner not in ("the", "this", "that", "these", "those"):
            return thing
        for change in reversed(self.earlier):
            if change.target == thing.element and thing.properties.items() <= change.properties.items():
                return dataclasses.replace(thing, properties=change.properties)
        return thing

    def noted(self, thing: nouns.NounReading, group: speech.VerbGroup) -> None:
        """Note the subject of a verb."""
        self.result.found("NSUBJ", str(thing.words), str(group.words))

    def check_element(self, thing: nouns.NounReading) -> None:
        """Refuse what cannot be a thing in a scene."""
        self.result.tell_narrower(thing)
        if thing.element in (nouns.SCENE, "ego-vehicle", "", "environment", "object"):
            what = "the ego-vehicle itself" if self.is_ego(thing) else f"{str(thing.words)!r}"
            reason = f"{what} cannot be added, removed or replaced"
            raise thing.words.refuse(reason, ["a pedestrian", "a car"])
        if thing.element in GROUND:
            reason = "bare ground cannot be added, removed or replaced"
            raise thing.words.refuse(reason, ["the trees on the left side", "the lane lines"])

    def tail(self) -> Tail:
        """Read the phrases after a verb or a noun."""
        tail = Tail()
        while not self.over():
            if self.lower() == ",":
                break
            if self.lower() in COMPARATIVES and tail.comparative is None:
                tail.comparative = COMPARATIVES[self.lower()]
                tail.degree = self.step()
                continue
            if self.lower() in ("more", "less") and (not self.lower(1) or self.lower(1) in LEVELS):
                more = (self.lower() == "more") == (LEVELS.get(self.lower(1)) != "light")
                tail.comparative = "heavier" if more else "lighter"
                tail.degree = self.step(2 if self.lower(1) in LEVELS else 1)
                continue
            if self.lower() in LEVELS and not self.noun_at(1) and not self.weather_at(1):
                tail.level = LEVELS[self.lower()]
                tail.degree = self.step()
                continue
            if ended := self.saying(conditions.ANY_MORE):
                tail.ended = ended
                continue
            if said := self.saying(conditions.INSTEAD):
                self.result.bind(said, "replace")
                tail.instead = self.named("instead of what is not said", "instead of a car")[0]
                continue
            if self.lower() == "together" and self.lower(1) != "with":
                tail.together = self.step()
                continue
            found = speech.prepositional(self.words, self.at)
            if found is None:
                break
            tail.phrases.append(found[0])
            self.at = found[1]
        return tail

    def without_origin(self, tail: Tail) -> Tail:
        """Return a tail without "from the road": all of a thing goes, wherever it is."""
        kept = []
        for one in tail.phrases:
            thing = one.thing
            plain = thing is not None and not thing.properties and thing.element in _EVERYWHERE
            if plain and one.preposition in AWAY:
                self.result.bind(one.words, "everywhere")
            else:
                kept.append(one)
        return dataclasses.replace(tail, phrases=kept)

    def check_within(self, phrase: speech.Phrase, *more: str) -> None:
        """Refuse a condition of which a phrase does not say that it is so here: "toward winter"."""
        kind = ontology().condition_of(phrase.thing.element) if phrase.thing is not None else None
        wrong = {"season": ("by", "for", "into"), "time": ("for", "into")}.get(kind or "", ())
        if phrase.preposition not in SETS["around"] | set(more) or phrase.preposition in wrong:
            raise phrase.words.refuse("whether it is so here is not said", ["in the rain", "at night"])

    def check_earlier(self, thing: nouns.NounReading) -> None:
        """Refuse what changes about a thing that only comes now: "a car appears and it is red"."""
        if not thing.element and self.antecedent(thing) in self.result.changes:
            raise thing.words.refuse("it comes only now: say at once what it is like", ["a red car appears"])

    def check_alone(self, thing: nouns.NounReading) -> None:
        """Refuse how many, or which, of a thing of which neither can be said."""
        if thing.amount is not None and (thing.count > 1 or thing.part not in ("", "some")):
            raise thing.amount.refuse("how many, or which of them, cannot be said here", ["the", "a"])
