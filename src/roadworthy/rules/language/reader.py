"""The reader of conditions: where things are, what comes, goes or gives way, and how it is seen to move."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from roadworthy.rules.language import conditions, nouns
from roadworthy.rules.language import phrases as speech
from roadworthy.rules.language.conditions import AWAY, PlacePhrase, Tail, nearer
from roadworthy.rules.language.lexicon import LINES, POSES, SETS
from roadworthy.rules.language.things import ThingReader
from roadworthy.rules.language.words import Words
from roadworthy.rules.reading import Op, thing_in_words

# Of each pair of these only one can be seen; who walks across crosses, and who steps onto the road walks.
_APART = {"waiting", "crossing", "braking", "overtaking"}


class Reader(ThingReader):
    """Reads words from left to right; what it cannot use is refused."""

    def environments(self, phrases: Sequence[speech.Phrase]) -> None:
        """Keep the conditions that phrases name, "at night", until the clause is over."""
        for one in phrases:
            if one.thing is not None and nouns.is_environment(one.thing.element):
                self.check_within(one)
                self.result.bind(one.words, one.thing.element)
                self.waiting.append(one.thing)

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
                if phrase.preposition in (*speech.SIDES, "at") or "position" in thing.properties:
                    raise phrase.words.refuse("where this is from us is not shown", ["in the right lane"])
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
            if phrase.preposition == "by" and not thing.determiner and thing.words[-1].tag == "NN":
                raise phrase.words.refuse("in it, or beside it?", [f"beside a {thing.words}"])
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
            reason = "where in the picture this is, is not understood"
            raise phrase.words.refuse(reason, ["ahead", "on the left"])
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
                place = where if where.position else across or old
                more = {"group": before.group, "pose": pose}
                self.result.infer(place.changed(op, before.target, before.properties, **more))
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
        for number, word in enumerate(
            self.words[: self.at] if op == "add" and conditions.stands(thing.element) else ()
        ):
            after = word.index > thing.words[-1].index and thing.element != "traffic cone"
            if after and word.lemma in ("lie", "sit"):
                reason = "who comes stands or walks, and what comes stands upright"
                raise self.words[number : number + 1].refuse(reason, ["is", "stands"])
            near = range(thing.words[0].index, thing.words[-1].index + 3)
            if (
                word.index in near
                and word.lower == "parked"
                and thing.element in ("pedestrian", "bicyclist", "dog")
            ):
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
                there = dataclasses.replace(where, properties={**where.properties, "position": side})
                self.result.infer(there.changed(op, thing.element, thing.properties, pose=pose))
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
            reason = "this cannot be seen at once: say one of them"
            raise thing.words.refuse(reason, ["crosses", "overtakes you"])
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
