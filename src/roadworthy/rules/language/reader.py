"""The reader of conditions: the things and places that words name, and what they refer to."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from roadworthy.errors import RuleError
from roadworthy.ontology import CONDITIONS, ontology
from roadworthy.rules.language import lexicon, nouns
from roadworthy.rules.language.conditions import AWAY, PlacePhrase, Tail, WordStream
from roadworthy.rules.language.lexicon import ANIMATE_PRONOUNS, COMPARATIVES, LEVELS, LINES, POSES
from roadworthy.rules.language.phrases import (
    SIDES,
    Phrase,
    VerbGroup,
    after_fillers,
    is_verb,
    noun_follows,
    prepositional,
    verb_group,
)
from roadworthy.rules.language.words import Words
from roadworthy.rules.reading import GROUND, Comparative, Op, SceneChange, thing_in_words

_MASS = ("vegetation", "greenery", "foliage")
_GROUPS = ("group", "crowd", "pair")
_NOT_ONE = frozenset({"no", "other", "another", "any", "each", "every", "all"})


class Reader(WordStream):
    """Reads words from left to right; what it cannot use is refused."""

    def __init__(self, words: Words, blocks: Sequence[Sequence[SceneChange]]) -> None:
        super().__init__(words)
        self.latest = blocks[-1] if blocks else ()
        self.earlier = [change for block in blocks for change in block]
        self.waiting: list[nouns.NounReading] = []

    def compare(self, thing: nouns.NounReading, kind: Comparative) -> None:
        """Change what an earlier block changed, by more or less."""
        self.some(thing)
        self.check_alone(thing)
        plural = not thing.element and thing.words[-1].lower in ("they", "them", "these", "those")
        added = [change for change in self.latest if change.op == "add"]
        for before in added if plural and added else [self.antecedent(thing)]:
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
        for change in reversed([*self.earlier, *self.result.changes]):
            if not thing.element:
                word = thing.words[-1].lower if len(thing.words) else ""
                if word in ANIMATE_PRONOUNS and change.target not in ("pedestrian", "bicyclist"):
                    continue
                if change.op == "remove":
                    continue
                return change
            if change.target == thing.element and thing.properties.items() <= change.properties.items():
                return change
            if change.target == "weather" and change.replacement == thing.element:
                return change
        what = str(thing.words)
        raise thing.words.refuse(
            f"{what!r} refers to nothing mentioned earlier in the rule",
            ["a pedestrian appears on the roadside"],
        )

    def heavier(self, thing: nouns.NounReading, kind: Comparative, words: Words) -> None:
        """Make the weather of an earlier block heavier or lighter."""
        if kind not in ("heavier", "lighter"):
            raise words.refuse(f"weather cannot be {kind}", ["the rain gets heavier"])
        if (condition := ontology().condition_of(thing.element)) not in ("weather", None):
            raise words.refuse(
                f"a {condition} cannot be {kind}: only weather has levels", ["the rain gets heavier"]
            )
        for change in reversed(self.earlier):
            if change.target == "weather" and thing.element in ("weather", change.replacement):
                self.result.found("COMPARATIVE", kind, str(change.replacement))
                self.result.bind(thing.words, str(change.replacement))
                self.result.bind(words, kind)
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
        if any(
            one.replacement == element and properties.items() <= one.properties.items()
            for one in self.result.changes
        ):
            return
        for one in self.result.changes:
            if one.target == kind and one.replacement != element:
                raise words.refuse(f"the {kind} cannot be {one.replacement} and {element} at once")
        self.result.infer(change)

    def leftover(self, tail: Tail, *, allow_environment: bool = False, allow_place: bool = False) -> None:
        """Use the phrases at the end of a clause about the weather, or refuse them."""
        for phrase in tail.phrases:
            thing = phrase.thing
            plain = thing is not None and (self.is_ego(thing) or not thing.properties)
            if thing is None or not (plain or nouns.is_environment(thing.element)):
                raise phrase.words.refuse("these words are not understood here")
            if allow_environment and nouns.is_environment(thing.element):
                if thing.element not in CONDITIONS:
                    self.environment(thing)
                self.result.bind(phrase.words, thing.element)
                continue
            everywhere = allow_place and thing.element in ("road", "sidewalk", "lane", "line")
            everywhere |= thing.element == "road" and phrase.position is not None
            ahead = self.is_ego(thing) and phrase.position not in ("behind", "beside", "above")
            if not (everywhere or thing.element == nouns.SCENE or ahead):
                raise phrase.words.refuse("these words are not understood here")
            self.result.bind(phrase.words, "everywhere")
        self.result.bind(tail.degree, tail.level or tail.comparative or "")

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
                following = (
                    self.thing()
                    if self.at < len(self.words) and self.lower() not in ("it", "there")
                    else None
                )
            except RuleError:
                if self._verb_before(begin):
                    self.at = begin
                    break
                raise
            if following is None or self._own_clause(begin):
                self.at = begin
                break
            found.append(following)
        return found

    def _own_clause(self, begin: int) -> bool:
        """Return whether what was joined has a verb of its own while a verb stood before it already."""
        after = verb_group(self.words, after_fillers(self.words, self.at))
        return self._verb_before(begin) and after is not None

    def _verb_before(self, begin: int) -> bool:
        return any(is_verb(word) and word.pos in ("VERB", "AUX") for word in self.words[:begin])

    def thing(self) -> nouns.NounReading | None:
        """Read a noun phrase or a pronoun."""
        self.skip()
        if self.at >= len(self.words):
            return None
        word = self.words[self.at]
        if nouns.is_pronoun(word) and not noun_follows(self.words, self.at):
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
        if thing.words[-1].tag in ("NNS", "NNPS"):
            return False
        if any(one.target == "vehicle" for one in (*self.earlier, *self.result.changes)):
            return False
        return not set(thing.properties) - {"type"} and thing.properties.get("type", "car") == "car"

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

    def noted(self, thing: nouns.NounReading, group: VerbGroup) -> None:
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
            if self.lower() in ("more", "less") and (
                self.lower(1) in LEVELS or self.at + 1 >= len(self.words)
            ):
                more = (self.lower() == "more") == (LEVELS.get(self.lower(1)) != "light")
                tail.comparative = "heavier" if more else "lighter"
                tail.degree = self.step(2 if self.lower(1) in LEVELS else 1)
                continue
            if self.lower() in LEVELS and not self.noun_at(1) and not self.weather_at(1):
                tail.level = LEVELS[self.lower()]
                tail.degree = self.step()
                continue
            if self.lower() == "together" and self.lower(1) != "with":
                tail.together = self.step()
                continue
            found = prepositional(self.words, self.at)
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
            plain = thing is not None and not thing.properties
            if (
                one.preposition in AWAY
                and plain
                and thing
                and thing.element in (nouns.SCENE, "road", "sidewalk")
            ):
                self.result.bind(one.words, "everywhere")
            else:
                kept.append(one)
        return dataclasses.replace(tail, phrases=kept)

    def environments(self, phrases: Sequence[Phrase]) -> None:
        """Keep the conditions that phrases name, "at night", until the clause is over."""
        for one in phrases:
            if one.thing is not None and nouns.is_environment(one.thing.element):
                self.result.bind(one.words, one.thing.element)
                self.waiting.append(one.thing)

    def end_clause(self) -> None:
        """Make the changes of conditions that the phrases of a clause named."""
        for thing in self.waiting:
            self.environment(thing)
        self.waiting.clear()

    def place(self, phrases: Sequence[Phrase], place: PlacePhrase | None = None) -> PlacePhrase:
        """Return the one place that phrases name, apart from times and weathers.

        `place` is one that was named before.
        """
        for phrase in phrases:
            thing = phrase.thing
            if thing is None:
                raise phrase.words.refuse("these words are not understood here")
            if nouns.is_environment(thing.element):
                continue
            if thing.determiner in _NOT_ONE and thing.element != "sidewalk":
                raise phrase.words.refuse(
                    "which one is meant is not said", ["in the left lane", "on the road"]
                )
            if thing.element == nouns.SCENE and not thing.properties and phrase.preposition not in AWAY:
                self.result.bind(phrase.words, "in the picture")
                continue
            if not thing.element and not self.earlier and not self.result.changes:
                # "The car must slow down if a pedestrian stands behind it."
                here = PlacePhrase(phrase.position, "ego-vehicle")
            elif not thing.element:
                change = self.antecedent(thing)
                here = PlacePhrase(phrase.position, change.target, change.properties)
            elif self.is_ego(thing):
                if phrase.preposition in SIDES:
                    raise phrase.words.refuse("which side of us is not shown", ["in the right lane"])
                here = PlacePhrase(phrase.position, "ego-vehicle")
            else:
                here = PlacePhrase(phrase.position, thing.element, thing.properties)
                self.result.tell_narrower(thing)
                if thing.amount is not None:
                    raise thing.words.refuse("a place is at one thing only", ["on the roadside"])
            if phrase.position in ("on", "in") and _stands(here.reference):
                if phrase.preposition != "at" or "color" in here.properties:
                    raise phrase.words.refuse("nothing can be put there", ["beside", "in front of"])
                here = dataclasses.replace(here, position="beside")
            if here.properties.get("position") == "both" and here.reference != "sidewalk":
                raise phrase.words.refuse("both sides are those of the road", ["on both sides of the road"])
            if phrase.position is None:
                if phrase.preposition in ("toward", "towards", "to", "from", "for", "off", "out of"):
                    raise phrase.words.refuse("these words are not understood here", ["on the roadside"])
                raise phrase.words.refuse("where this is, is not understood", ["on", "in front of", "behind"])
            if phrase.preposition == "along" and here.reference == "road":
                here = dataclasses.replace(here, position="beside")
            place = here if place is None else _nearer(place, here, phrase)
            where = thing_in_words(place.reference or "", place.properties)
            where = "both sidewalks" if place.properties.get("position") == "both" else f"the {where}"
            self.result.bind(phrase.words, f"{place.position} {where}")
        return place or PlacePhrase()

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
        if op == "add" and "add" in verb:
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
        if not thing.element and op == "add" and tail.comparative is None and self.earlier:
            before = self.antecedent(thing)
            where = place or self.place(tail.phrases)
            if where.position is None:
                raise thing.words.refuse("what changes about it is not said", ["gets closer"])
            self.result.bind(said, op)
            self.result.bind(thing.words, before.target)
            self.result.infer(dataclasses.replace(before, position=where.position, reference=where.reference))
            return
        if not thing.element and op == "remove" and self.result.changes:
            raise thing.words.refuse("it cannot come and go at once", ["the trees are removed"])
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
        beside = [one for one in tail.phrases if one.words[-1].lower in ("left", "right")]
        if beside and thing.element == "vehicle" and op == "add" and where.reference != "lane":
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
        if where.position is not None and where.reference is not None:
            self.result.found(where.position.upper(), where.reference, verb)
        if tail.comparative is not None:
            if tail.comparative not in ("closer", "farther") or not self.refers(thing):
                raise thing.words.refuse(
                    f"{tail.comparative} than what is not said: an earlier part of the rule must say it"
                )
            self.result.bind(tail.degree, tail.comparative)
            self.compare(thing, tail.comparative)
            return
        self.check_amount(thing, adds=op == "add")
        group, pose = self._is_group(op, thing, tail.together), self._pose(thing, where.reference)
        # Who crosses from one side comes from there, in a clip.
        off_road = where.reference in ("sidewalk", "terrain") and "position" not in where.properties
        if pose == "crossing" and off_road:
            raise thing.words.refuse("who crosses is on the road, and not beside it", ["crosses the road"])
        if op != "add":
            self.result.tell_state(thing)
            self.result.infer(where.changed(op, thing.element, thing.properties, part=thing.part_changed))
        elif where.properties.get("position") == "both":
            if thing.count > 2 or group:
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
        group = together is not None or any(one.lemma in _GROUPS for one in thing.amount or ())
        if group:
            self.result.notes.append(f"{str(thing.amount)!r} are {thing.count}, close to each other.")
        return group

    def _pose(self, thing: nouns.NounReading, place: str | None) -> str:
        """Return what the words from a thing on say that somebody does: "crossing"."""
        said = self.words.text[thing.words[0].start : self.words[self.at - 1].stop]
        poses = POSES.get(thing.element, {})
        pose = next((pose for pose, verb in poses.items() if verb.search(said)), "")
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

    def check_amount(self, thing: nouns.NounReading, *, adds: bool = False) -> None:
        """Refuse how many, or which things, where that cannot be shown: of what goes, only parts can."""
        fits = thing.part in ("", "some") if adds else thing.count == 1 and thing.part != "one"
        # "Half of the pedestrian" is none of several.
        fits &= thing.properties.get("direction") is None or thing.element == "lane"
        fits &= adds or thing.element != "vehicle" or not self._pose(thing, None)
        fits &= thing.part != "half" or thing.words[-1].tag != "NN" or thing.words[-1].lower in _MASS
        if not fits:
            raise (thing.amount or thing.words).refuse(
                "how many, or which of them, cannot be said here", ["all", "half of", "the nearest"]
            )

    def check_alone(self, thing: nouns.NounReading) -> None:
        """Refuse how many, or which, of a thing of which neither can be said."""
        if thing.amount is not None and (thing.count > 1 or thing.part not in ("", "some")):
            raise thing.amount.refuse("how many, or which of them, cannot be said here", ["the", "a"])


def _stands(element: str | None) -> bool:
    """Return whether an element is a thing, which nothing can be on."""
    above = ("object", "traffic infrastructure")
    return element is not None and any(ontology().is_a(element, one) for one in above)


def _nearer(place: PlacePhrase, here: PlacePhrase, phrase: Phrase) -> PlacePhrase:
    """Return two places as one: all that a camera sees is ahead, so that the other one tells more than that.

    The road, or a lane that nothing is said of, tells less: a truck on the road ahead is in front of us.
    """
    if place == here:
        return place
    plain = [one for one in (place, here) if one.reference in ("road", "lane") and not one.properties]
    us = [one for one in (place, here) if one.reference == "ego-vehicle"]
    if us and plain:
        return us[0]
    if us and us[0].position == "front":
        return here if us[0] is place else place
    if plain and (named := [one for one in (place, here) if one.reference == "lane" and one.properties]):
        return named[0]
    # "On the left" alone is no roadside, and may be said of a lane.
    sided = phrase.words[-1].lower in ("left", "right") or place.reference == "sidewalk"
    if (
        sided
        and here.reference == "sidewalk"
        and here.properties
        and place.reference in ("sidewalk", "lane")
        and not place.properties
    ):
        return dataclasses.replace(place, properties=here.properties)  # "on the footway on the right"
    raise phrase.words.refuse("a thing can be at one place only", ["on the roadside"])
