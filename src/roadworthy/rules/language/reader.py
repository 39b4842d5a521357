"""The reader of conditions: the things and places that words name, and what they refer to."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence

from roadworthy.errors import RuleError
from roadworthy.ontology import CONDITIONS, ontology
from roadworthy.rules.language import conditions, lexicon, nouns
from roadworthy.rules.language import phrases as speech
from roadworthy.rules.language.conditions import AWAY, PlacePhrase, Tail, WordStream, nearer
from roadworthy.rules.language.lexicon import COMPARATIVES, LEVELS, LINES, POSES, SETS
from roadworthy.rules.language.words import Words
from roadworthy.rules.reading import GROUND, Comparative, Op, SceneChange, thing_in_words

# Of each pair of these only one can be seen; who walks across crosses, and who steps onto the road walks.
_APART = {"waiting", "crossing", "braking", "overtaking"}
_EVERYWHERE = (nouns.SCENE, "road", "sidewalk")


class Reader(WordStream):
    """Reads words from left to right; what it cannot use is refused."""

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

    def environments(self, phrases: Sequence[speech.Phrase]) -> None:
        """Keep the conditions that phrases name, "at night", until the clause is over."""
        for one in phrases:
            if one.thing is not None and nouns.is_environment(one.thing.element):
                self.check_within(one)
                self.result.bind(one.words, one.thing.element)
                self.waiting.append(one.thing)

    def check_within(self, phrase: speech.Phrase, *more: str) -> None:
        """Refuse a condition of which a phrase does not say that it is so here: "toward winter"."""
        kind = ontology().condition_of(phrase.thing.element) if phrase.thing is not None else None
        wrong = {"season": ("by", "for", "into"), "time": ("for", "into")}.get(kind or "", ())
        if phrase.preposition not in SETS["around"] | set(more) or phrase.preposition in wrong:
            raise phrase.words.refuse("whether it is so here is not said", ["in the rain", "at night"])

    def exchange(
        self, old: nouns.NounReading, new: nouns.NounReading, place: PlacePhrase | None = None
    ) -> None:
        """Replace a thing by another one."""
        raise NotImplementedError

    def end_clause(self) -> None:
        """Make the changes of conditions that the phrases of a clause named."""
        for thing in self.waiting:
            self.environment(thing)
        self.waiting.clear()

    def place(self, phrases: Sequence[speech.Phrase], place: PlacePhrase | None = None) -> PlacePhrase:
        """Return the one place that phrases name, apart from times and weathers.

        `place` is one that was named before.
        """
        for phrase in phrases:
            thing = phrase.thing
            if thing is None:
                raise phrase.words.refuse("these words are not understood here")
            if nouns.is_environment(thing.element):
                continue
            sides = ("other", "each", "any") if thing.element == "sidewalk" else ()
            if thing.determiner in SETS["not one"] and thing.determiner not in sides:
                reason = "which one is meant is not said"
                raise phrase.words.refuse(reason, ["in the left lane", "on the road"])
            if self._in_picture(phrase, thing):
                self.result.bind(phrase.words, "in the picture")
                continue
            if not thing.element and not self.earlier and not self.result.changes:
                # "The car must slow down if a pedestrian stands behind it."
                here = PlacePhrase(phrase.position, "ego-vehicle")
            elif not thing.element:
                change = self.antecedent(thing)
                self._check_one(thing)
                here = PlacePhrase(phrase.position, change.target, change.properties)
            elif self.is_ego(thing):
                if phrase.preposition in speech.SIDES or "position" in thing.properties:
                    raise phrase.words.refuse("which side of us is not shown", ["in the right lane"])
                here = PlacePhrase(phrase.position, "ego-vehicle")
            else:
                here = PlacePhrase(phrase.position, thing.element, thing.properties)
                self.result.tell_narrower(thing)
                if thing.amount is not None or thing.part:
                    raise thing.words.refuse("a place is at one thing only", ["on the roadside"])
                if {word.lower for word in thing.words} & SETS["vehicle adjectives"]:
                    raise thing.words.refuse("what it does at that place is not shown", ["beside the car"])
            for one in self.latest if self.refers(thing) else ():
                kept = one.op == "add" and conditions.fits(thing, one) and one not in self.result.changes
                if kept and not nouns.is_environment(one.target):
                    self.again.append(one)
                    self.result.infer(one)  # what it stands beside is still there
            if (phrase.position, here.reference) == ("in", "line"):
                raise phrase.words.refuse("what is in a line is not shown", ["on the line"])
            if phrase.position in ("on", "in") and conditions.stands(here.reference):
                if phrase.preposition != "at" or "color" in here.properties:
                    raise phrase.words.refuse("nothing can be put there", ["beside", "in front of"])
                here = dataclasses.replace(here, position="beside")
            if here.properties.get("position") == "both" and here.reference != "sidewalk":
                raise phrase.words.refuse("both sides are those of the road", ["on both sides of the road"])
            if phrase.position is None:
                if phrase.preposition in ("toward", "towards", "to", "from", "for", "off", "out of"):
                    raise phrase.words.refuse("these words are not understood here", ["on the roadside"])
                raise phrase.words.refuse("where this is, is not understood", ["on", "in front of", "behind"])
            middle = {word.lower for word in thing.words} & {"middle", "centre", "center"}
            if phrase.preposition == "along" and here.reference == "road" and not middle:
                here = dataclasses.replace(here, position="beside")
            place = here if place is None else nearer(place, here, phrase)
            where = thing_in_words(place.reference or "", place.properties)
            where = "both sidewalks" if place.properties.get("position") == "both" else f"the {where}"
            self.result.bind(phrase.words, f"{place.position} {where}")
        return place or PlacePhrase()

    def _in_picture(self, phrase: speech.Phrase, thing: nouns.NounReading) -> bool:
        """Return whether a phrase says no more than that something is in the picture.

        Raises:
            RuleError: It stands in it somewhere, or beside it: "in the background", "behind the camera".
        """
        if thing.element != nouns.SCENE or phrase.preposition in AWAY:
            return False
        somewhere = thing.words[-1].lower in SETS["other pictures"] and thing.determiner != "the"
        somewhere |= thing.words[-1].lower in ("background", "field", "camera")
        if thing.properties or somewhere or phrase.position in ("front", "behind", "beside", "above"):
            raise phrase.words.refuse(
                "where in the picture this is, is not understood", ["ahead", "on the left"]
            )
        return True

    def put(
        self,
        op: Op,
        thing: nouns.NounReading,
        tail: Tail,
        said: Words | None = None,
        place: PlacePhrase | None = None,
    ) -> None:
        """Add a thing to the scene or take it out; `said` are the words for that, where there are any."""
        verb = "be" if said is None else str(said)
        if op == "add" and "add" in verb.lower():
            # "Added to the roadside" is on it.
            phrases = [
                dataclasses.replace(one, position="on") if one.preposition == "to" else one
                for one in tail.phrases
            ]
            tail = dataclasses.replace(tail, phrases=phrases)
        if nouns.is_environment(thing.element):
            if op == "remove":
                raise self.ended(thing.element, thing.words)
            self.result.bind(said, thing.element)
            self.result.bind(tail.together, "and")
            if tail.comparative is not None:
                self.heavier(thing, tail.comparative, tail.degree or thing.words)
                return
            level = {"level": tail.level} if tail.level else {}
            self.environment(dataclasses.replace(thing, properties={**thing.properties, **level}))
            self.leftover(tail, allow_environment=True, allow_place=True)
            return
        if tail.instead is not None:
            if op != "add" or tail.instead.words[-1].index in self.result.bound:
                raise tail.instead.words.refuse("what comes instead of it is not said", ["is replaced by"])
            self.result.bind(said, "replace")
            self.exchange(tail.instead, thing, place or self.place(tail.phrases))
            self.environments(tail.phrases)
            return
        if op == "remove":
            self.result.bind(tail.ended, op)
        said_before = self.earlier or self.result.changes
        here = [one for one in self.result.changes if one.op == "add" and conditions.fits(thing, one)]
        known = here or [one for one in self.latest if one.op == "add" and conditions.fits(thing, one)]
        known = known if thing.definite and tail.comparative is None and not place else []
        if known and op == "add" and not (tail.phrases or self._pose(thing, None)):
            if here:  # "a car is ahead and the car stops"
                self.result.bind(said, op)
                self.result.bind(thing.words, here[0].target)
                return
            known = []
        if op == "add" and (known or (not thing.element and tail.comparative is None and said_before)):
            where = place or self.place(tail.phrases)
            meant = self.meant(thing)
            brought = [one for one in self.result.changes if one in meant]
            for before in meant:
                pose = self._pose(dataclasses.replace(thing, element=before.target), where.reference)
                if where.position is None and not pose:
                    raise thing.words.refuse("what changes about it is not said", ["gets closer"])
                if before in brought:  # of what comes with it, more is said
                    brought.remove(before)
                    self.result.changes.remove(before)
                self.result.bind(said, op)
                self.result.bind(thing.words, before.target)
                across = PlacePhrase("on", "road") if pose.startswith(("cross", "step")) else None
                old = PlacePhrase(before.position, before.reference, before.reference_properties)
                here = where if where.position else across or old
                more = {"group": before.group, "pose": pose}
                self.result.infer(here.changed(op, before.target, before.properties, **more))
            self.environments(tail.phrases)
            return
        if not thing.element and op == "remove" and self.result.changes:
            raise thing.words.refuse("it cannot come and go at once", ["the trees are removed"])
        self.again += [one for one in self.latest if self.refers(thing) and conditions.fits(thing, one)]
        thing = self.known(self.resolved(thing))
        if nouns.is_environment(thing.element):
            raise self.ended(thing.element, thing.words)
        if self.is_ego(thing):
            raise thing.words.refuse("the ego-vehicle itself cannot be added or removed", ["a car"])
        self.check_element(thing)
        self.result.found("ONTOLOGY", str(thing.words), thing.element)
        self.result.found("TRANSFORMATION", verb, op)
        self.result.bind(said, op)
        self.result.bind(thing.words, thing_in_words(thing.element, thing.properties))
        for value in thing.properties.values():
            self.result.found("AMOD", value, thing.element)
        if re.fullmatch(r"(?:the |a |some |two )?lights?", str(thing.words).lower()):
            reason = "is this a traffic light, or the day?"
            raise thing.words.refuse(reason, ["traffic light", "it gets dark"])
        if thing.element == "line" and op == "remove":
            thing, tail = self._painted(thing, tail)
        where = self.place(tail.phrases, place)
        if thing.properties.get("direction") == "reverse" and thing.element != "lane":
            # "An oncoming car" drives where those drive that come towards us.
            elsewhere = where.reference not in (None, "road", "ego-vehicle") or thing.element == "pedestrian"
            if elsewhere or where.position in ("behind", "beside"):
                raise thing.words.refuse("what is oncoming is in the oncoming lane", ["a car"])
            where = PlacePhrase("in", "lane", {"direction": "reverse"})
            plain = {key: value for key, value in thing.properties.items() if key != "direction"}
            thing = dataclasses.replace(thing, properties=plain)
        steps = self._pose(thing, "road").startswith("stepping") and where.reference == "ego-vehicle"
        if steps and any(one.thing is not None and one.thing.element == "road" for one in tail.phrases):
            where = PlacePhrase("on", "road")  # who steps onto the road ahead is at its edge
        beside = [
            one
            for one in tail.phrases
            if one.words[-1].lower in ("left", "right")
            or (one.thing and one.thing.element == "sidewalk" and one.thing.determiner in ("your", "our"))
        ]
        sides = [one for one in tail.phrases if one.thing and one.thing.element == "sidewalk"]
        vehicle = (op, thing.element) == ("add", "vehicle") and where.reference != "lane"
        if beside and len(sides) < 2 and vehicle:
            reason = "is this the lane, or the side of the road?"
            raise beside[0].words.refuse(reason, ["in the left lane", "on the left side of the road"])
        if tail.level:
            raise thing.words.refuse(f"a {thing.element} cannot be {tail.level}")
        if op == "add" and where.position == "above" and self.moves(thing):
            raise next((one.words for one in tail.phrases if one.position == "above"), thing.words).refuse(
                "nothing that moves can be put there", ["on the road"]
            )
        elsewhere = "direction" in where.properties or where.reference == "sidewalk"
        if elsewhere and thing.element == "vehicle" and self._pose(thing, None):
            raise thing.words.refuse("this is seen of one that drives as we do", ["a car brakes ahead"])
        for number, word in enumerate(self.words[: self.at] if op == "add" and self.moves(thing) else ()):
            if word.index > thing.words[-1].index and word.lemma in ("lie", "sit"):
                reason = "who comes stands or walks, and what comes stands on its wheels"
                raise self.words[number : number + 1].refuse(reason, ["is", "stands"])
            near = range(thing.words[0].index, thing.words[-1].index + 3)
            if word.index in near and word.lower == "parked" and thing.element != "vehicle":
                raise self.words[number : number + 1].refuse("who rides is seen with it", ["a cyclist is"])
        waits = self._pose(thing, where.reference) == "waiting" or not self.moves(thing)
        at = [one.thing.element for one in tail.phrases if one.preposition == "at" and one.thing]
        if waits and "crosswalk" in at and where.reference == "crosswalk":
            where = dataclasses.replace(where, position="beside")
        if where.position is not None and where.reference is not None:
            self.result.found(where.position.upper(), where.reference, verb)
        if tail.comparative is not None:
            if tail.comparative not in ("closer", "farther") or not self.refers(thing):
                reason = f"{tail.comparative} than what is not said: an earlier part of the rule must say it"
                raise thing.words.refuse(reason)
            self.result.bind(tail.degree, tail.comparative)
            self.compare(thing, tail.comparative)
            return
        self.check_amount(thing, adds=op == "add")
        group, pose = self._is_group(op, thing, tail.together), self._pose(thing, where.reference)
        # Who crosses from one side comes from there, in a clip.
        off_road = where.reference in ("sidewalk", "terrain") and "position" not in where.properties
        self.check_painted(thing, where)
        if pose == "crossing" and off_road:
            raise thing.words.refuse("who crosses is on the road, and not beside it", ["crosses the road"])
        if op != "add":
            self.result.tell_state(thing, self._pose(thing, None))
            self.result.infer(where.changed(op, thing.element, thing.properties, part=thing.part_changed))
        elif where.properties.get("position") == "both":
            each = thing.count > 1 and any(p.thing and p.thing.determiner == "each" for p in tail.phrases)
            if thing.count > 2 or group or each:
                raise thing.words.refuse("on both sides there can be one thing each", ["two pedestrians"])
            for side in ("left", "right"):
                here = dataclasses.replace(where, properties={**where.properties, "position": side})
                self.result.infer(here.changed(op, thing.element, thing.properties, pose=pose))
        else:
            for _ in range(thing.count):
                self.result.infer(where.changed(op, thing.element, thing.properties, group=group, pose=pose))
        self.environments(tail.phrases)

    def _is_group(self, op: Op, thing: nouns.NounReading, together: Words | None) -> bool:
        """Return whether things come close to each other: "a group of pedestrians", "two … together"."""
        if together is not None:
            if op != "add" or thing.count == 1:
                raise together.refuse("who is together here is not understood", ["a group of pedestrians"])
            self.result.bind(together, "in a group")
        group = together is not None or any(one.lemma in SETS["groups"] for one in thing.amount or ())
        if group:
            self.result.notes.append(f"{str(thing.amount)!r} are {thing.count}, close to each other.")
        return group

    def _pose(self, thing: nouns.NounReading, place: str | None) -> str:
        """Return what the words from a thing on say that somebody does: "crossing"."""
        said = self.words.text[thing.words[0].start : self.words[: self.at].span[1]]
        poses = POSES.get(thing.element, {})
        found = [pose for pose, verb in poses.items() if verb.search(said.replace("to cross", "to"))]
        pose = next((pose for pose, verb in poses.items() if verb.search(said)), "")
        still = {word.lower for word in thing.words} & {*SETS["halted"], "standing", "stopped"}
        if (still and set(found) - {"braking", "waiting"}) or len({*found} & _APART) > 1:
            raise thing.words.refuse(
                "this cannot be seen at once: say one of them", ["crosses", "overtakes you"]
            )
        if pose.startswith("stepping") and place not in (None, "road"):
            pose = "crossing"  # "steps into our lane", "in front of you": beyond the edge of the road
        # Who waits on the road stands there, and does not look at it.
        return "" if pose == "waiting" and place in ("road", "lane", "ego-vehicle") else pose

    def _painted(self, thing: nouns.NounReading, tail: Tail) -> tuple[nouns.NounReading, Tail]:
        """Return lines without their place where that tells which: "the marking at the edge of the road"."""
        for phrase in tail.phrases:
            said = {word.lower for word in phrase.words}
            part = next((LINES[word] for word in LINES if word in said), None)
            if part and phrase.thing and not phrase.thing.properties and not thing.part:
                self.result.bind(phrase.words, part)
                kept = [one for one in tail.phrases if one is not phrase]
                return dataclasses.replace(thing, part=part), dataclasses.replace(tail, phrases=kept)
        return thing, tail

    def check_painted(self, thing: nouns.NounReading, where: PlacePhrase) -> None:
        """Refuse a line beside the road: which of those on the road is on the left is not known."""
        if thing.element == "line" and where.reference == "sidewalk":
            raise thing.words.refuse("lines are painted on the road", ["on the road"])

    def check_earlier(self, thing: nouns.NounReading) -> None:
        """Refuse what changes about a thing that only comes now: "a car appears and it is red"."""
        if not thing.element and self.antecedent(thing) in self.result.changes:
            raise thing.words.refuse("it comes only now: say at once what it is like", ["a red car appears"])

    def check_amount(self, thing: nouns.NounReading, *, adds: bool = False) -> None:
        """Refuse how many, or which things, where that cannot be shown: of what goes, only parts can."""
        fits = thing.part in ("", "some") if adds else thing.count == 1 and thing.part != "one"
        # "Half of the pedestrian" is none of several.
        fits &= thing.properties.get("direction") is None or thing.element == "lane"
        fits &= adds or thing.element != "vehicle" or not self._pose(thing, None)
        fits &= adds or thing.determiner not in ("another", "one")
        fits &= adds or not {word.lower for word in thing.words} & SETS["not all"]
        fits &= adds or thing.determiner != "other" or self.moves(thing)
        fits &= thing.part != "half" or thing.words[-1].tag != "NN" or thing.words[-1].lower in SETS["mass"]
        if not fits:
            reason = "how many, or which of them, cannot be said here"
            raise (thing.amount or thing.words).refuse(reason, ["all", "half of", "the nearest"])

    def check_everywhere(self, thing: nouns.NounReading) -> None:
        """Refuse a part of the ground, or none of it, where a weather is said to be: it is everywhere."""
        self.some(thing)
        self.check_alone(dataclasses.replace(thing, part=thing.part.replace("some", "half")))
        self.result.bind(thing.words, "everywhere")

    def check_alone(self, thing: nouns.NounReading) -> None:
        """Refuse how many, or which, of a thing of which neither can be said."""
        if thing.amount is not None and (thing.count > 1 or thing.part not in ("", "some")):
            raise thing.amount.refuse("how many, or which of them, cannot be said here", ["the", "a"])
