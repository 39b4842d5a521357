"""Conditions: which changes of a scene the words of an if-clause ask for (Table 4 of the RMT paper)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from roadworthy.ontology import ontology
from roadworthy.rules.language.exchanges import ExchangeReader
from roadworthy.rules.language.lexicon import (
    ABSENT,
    ACTORS,
    ADD_VERBS,
    CHANGE_VERBS,
    COMPARATIVES,
    MOTION_VERBS,
    NOMINALS,
    PRESENCE_VERBS,
    REMOVE_VERBS,
    REPLACE_VERBS,
    SEE_VERBS,
    VANISH_VERBS,
    WEATHER_VERBS,
    words_of,
)
from roadworthy.rules.language.nouns import SCENE, Thing, is_environment
from roadworthy.rules.language.phrases import (
    Phrase,
    VerbGroup,
    after_fillers,
    noun_follows,
    prepositional,
    verb_group,
)
from roadworthy.rules.language.reader import AND, UNDERSTOOD, Condition, Place, Tail, joined
from roadworthy.rules.language.words import Words
from roadworthy.rules.reading import Change, Op, Position

__all__ = ["Condition", "read_condition"]

_MOVES = words_of("get come move go draw drive walk run ride step be back")
_THERE = frozenset({"present", "visible", "there", "here", "seen", "located", "parked", "anymore", "longer"})


def read_condition(words: Words, earlier: Sequence[Sequence[Change]] = ()) -> Condition:
    """Read the words of a condition, without the word that opens it.

    Args:
        words: The words.
        earlier: The changes of each block before, which pronouns and comparatives refer to.

    Raises:
        RuleError: Something in it is not understood.
    """
    reader = _ConditionReader(words, earlier)
    reader.condition()
    return reader.result


class _ConditionReader(ExchangeReader):
    """Reads a condition, clause by clause."""

    # --- clauses

    def condition(self) -> None:
        while self.lower() == "," or (self.lower() == "in" and self.lower(1) == "addition"):
            self.at += 1 if self.lower() == "," else 2
        if self.over():
            raise self.words.refuse("the condition says nothing", [f"a pedestrian {UNDERSTOOD[0]}"])
        while not self.over():
            while (
                self.lower() in ("that", "if", "when")
                and self.at + 1 < len(self.words)
                and not noun_follows(self.words, self.at)
            ):
                self.at += 1
            before = self.at
            self.clause()
            self.end_clause()
            if self.over():
                break
            joined = self.conjunction()
            if self.over():
                raise self.words[-1:].refuse("something is missing after this")
            if self.at == before or (not joined and not self._clause_begins()):
                raise self.rest().refuse("these words are not understood here", UNDERSTOOD)

    def _clause_begins(self) -> bool:
        return self.lower() in ("there", "it")

    def clause(self) -> None:
        self.skip()
        if self._nominal() or self._environment_first():
            return
        if self.lower() == "there":
            self._existential()
        elif self.lower() == "it" and self._about_weather():
            self._it()
        elif self._imperative():
            self._done_by_someone(self.group())
        else:
            self._with_subject()

    def _environment_first(self) -> bool:
        """Read "at night" and the like at the beginning of a clause."""
        found = prepositional(self.words, self.at)
        if found is None or found[0].thing is None:
            return False
        phrase, stop = found
        assert phrase.thing is not None
        if is_environment(phrase.thing.element):
            self.at = stop
            self.environment(phrase.thing)
            joined_by = 1 if self.lower() in ("and", ",") else 0
            following = prepositional(self.words, self.at + joined_by)
            if following is not None and following[0].thing and is_environment(following[0].thing.element):
                self.at += joined_by
                return self._environment_first()
            if self.lower() == ",":
                self.at += 1
            return self.over()
        if phrase.preposition in (
            "with",
            "for",
            "near",
            "close to",
            "by",
            "at",
            "next to",
            "ahead of",
            "beside",
        ):
            # "With a pedestrian on the roadside", "near pedestrians": there is one.
            self.at = stop
            tail = self.tail()
            self.put("add", phrase.thing, tail, "be")
            return True
        if phrase.preposition == "behind":
            self.at = stop
            self.put("add", phrase.thing, self.tail(), "be", Place("front", "ego-vehicle"))
            return True
        return False

    def _nominal(self) -> bool:
        """Read a noun that stands for a change: "the removal of the lane lines"."""
        at = self.at + 1 if self.lower() in ("in", "with", "given", "due", "upon") else self.at
        while at < len(self.words) and self.words[at].lower in ("to", "the", "a", "an"):
            at += 1
        if at + 1 >= len(self.words) or self.words[at + 1].lower != "of":
            return False
        op = NOMINALS.get(self.words[at].lower)
        if op is None:
            return False
        noun = self.words[at : at + 1]
        self.at = at + 2
        things = self.things()
        if not things:
            raise self.rest().refuse("of what is not said", ["the removal of the lane lines"])
        if op == "replace":
            self._gives_way(things, VerbGroup("replace", noun))
            return True
        tail = self.tail()
        kept = [
            one for one in tail.phrases if op == "add" or one.preposition not in ("from", "off", "out of")
        ]
        for thing in things:
            self.put(
                "remove" if op == "remove" else "add",
                thing,
                dataclasses.replace(tail, phrases=kept),
                str(noun),
            )
        return True

    def _existential(self) -> None:
        self.at += 1
        begin = self.at
        group = self.group("there is nothing after 'there'")
        if group.lemma in WEATHER_VERBS:
            # "There is drizzle": a noun after all.
            self.at = begin + len(group.words) - 1
            group = dataclasses.replace(group, lemma="be", words=group.words[:-1])
        if group.lemma not in PRESENCE_VERBS:
            raise group.words.refuse("'there' needs a verb of presence", ["there is", "there appears"])
        self.skip()
        gone = group.negated or group.no_longer
        while self.lower() in ("no", "not") and self.lower(1) in ("longer", "any", "more"):
            gone = True
            self.at += 2
        if self.lower() == "not":
            gone = True
            self.at += 1
        things = self.things()
        if not things:
            raise self.rest().refuse("what is there is not said", ["a pedestrian"])
        if tuple(self.lower(k) for k in range(2)) in (("instead", "of"), ("rather", "than")):
            self.at += 2
            for old in self.things():
                self.exchange(old, things[0])
            return
        tail = joined(self.modified(), self.tail())
        for thing in things:
            self.noted(thing, group)
            self.put("remove" if gone or thing.negated else "add", thing, tail, str(group.words))

    def _imperative(self) -> bool:
        """Return whether a verb without a subject stands first: "remove the lane lines"."""
        word = self.words[self.at]
        if word.lemma not in ADD_VERBS | REMOVE_VERBS | REPLACE_VERBS | SEE_VERBS | {
            "change",
            "drive",
            "turn",
        }:
            return False
        if word.tag in ("NN", "NNS") and word.dep in ("nsubj", "nsubjpass", "compound"):
            return False
        following = after_fillers(self.words, self.at + 1)
        return following < len(self.words) and not self.words[following].tag.startswith("VB")

    def _with_subject(self) -> None:
        if self.lower() in ACTORS or (self.lower() == "the" and self.lower(1) in ACTORS):
            self.at += 2 if self.lower() == "the" else 1
            self._done_by_someone(self.group("what happens is not said"))
            return
        begin = self.at
        things = self.things()
        if not things:
            raise self.rest().refuse("these words are not understood here", UNDERSTOOD)
        inner = self.modified()
        if len(things) == 1 and self.is_ego(things[0]) and inner is None:
            self._done_by_someone(self.group("what happens is not said"), ego=True)
            return
        if inner is not None:
            things = [dataclasses.replace(one, determiner="a") if self.is_ego(one) else one for one in things]
        found = verb_group(self.words, after_fillers(self.words, self.at, (",",) if inner else ()))
        if found is None:
            tail = inner or self.tail()
            if (self.over() or self.lower() in AND) and not self.result.changes:
                # Headlines leave the verb out: "pedestrian on roadside".
                for thing in things:
                    self.put("remove" if thing.negated else "add", thing, tail, "be")
                return
            raise self.rest().refuse("what happens is not understood here", UNDERSTOOD)
        group, self.at = found
        if things[0].words[0].lower in ("someone", "somebody") and not group.passive and self._does(group):
            self._done_by_someone(group)
            return
        for thing in things:
            self.noted(thing, group)
        self._happens(things, group, inner, self.words[begin : self.at])

    def modified(self) -> Tail | None:
        """Read what describes a noun after it: "standing on the roadside", "that is parked there"."""
        at = after_fillers(self.words, self.at)
        if at < len(self.words) and self.words[at].lower in ("who", "which", "that"):
            at += 1
            found = verb_group(self.words, at)
            if found is not None and (found[0].lemma in PRESENCE_VERBS or found[0].passive):
                self.affirmed(found[0])
                self.at = found[1]
                return self.tail()
            return None
        if at >= len(self.words):
            return None
        word = self.words[at]
        if word.tag not in ("VBG", "VBN") or word.lemma not in PRESENCE_VERBS:
            found_phrase = prepositional(self.words, at)
            if found_phrase is None:
                return None
            after = after_fillers(self.words, found_phrase[1])
            if verb_group(self.words, after) is None:
                return None
            return self.tail()
        self.at = at + 1
        return self.tail()

    # --- what happens

    def _done_by_someone(self, group: VerbGroup, *, ego: bool = False) -> None:
        """Read "you see a pedestrian", "we remove the lane lines", "the ego-vehicle drives at night"."""
        lemma = group.lemma
        if lemma in ("get", "come", "move", "go", "draw", "be") and self._comparison(group):
            return
        if lemma not in SEE_VERBS | {"have"}:
            self.affirmed(group)
        if lemma in MOTION_VERBS and not self._object_follows():
            tail = self.tail()
            if not tail.phrases:
                raise group.words.refuse("this does not say what changes in the scene", UNDERSTOOD)
            for phrase in tail.phrases:
                thing = phrase.thing
                if thing is not None and is_environment(thing.element):
                    self.environment(thing)
                elif thing is not None and phrase.position == "behind":
                    self.put("add", thing, Tail(), str(group.words), Place("front", "ego-vehicle"))
                else:
                    raise phrase.words.refuse("where the ego-vehicle drives cannot be changed", UNDERSTOOD)
            return
        if lemma in REPLACE_VERBS or lemma in (
            "change",
            "turn",
            "convert",
            "transform",
            "switch",
            "make",
            "paint",
        ):
            things = self.things()
            if things:
                self._gives_way(things, group)
                return
        if lemma == "have" or lemma in ADD_VERBS | SEE_VERBS | REMOVE_VERBS:
            things = self.things()
            if not things:
                raise self.rest().refuse("what is meant is not said", [f"{group.lemma} a pedestrian"])
            op: Op = "remove" if lemma in REMOVE_VERBS and lemma not in ADD_VERBS else "add"
            if group.negated or group.no_longer:
                op = "remove"
            inner = self.modified()
            tail = self.tail()
            for thing in things:
                if ego and lemma == "approach" and self.refers(thing):
                    self.affirmed(group)
                    self.compare(thing, "closer")
                    continue
                self.result.found("DOBJ", str(thing.words), str(group.words))
                place = Place("front", "ego-vehicle") if lemma == "follow" else None
                self.put(
                    "remove" if thing.negated else op, thing, joined(inner, tail), str(group.words), place
                )
            return
        raise group.words.refuse(f"{str(group.words)!r} is no change of a scene", UNDERSTOOD)

    def _does(self, group: VerbGroup) -> bool:
        """Return whether someone changes the scene rather than being seen in it."""
        return group.lemma in ADD_VERBS | REMOVE_VERBS | REPLACE_VERBS and self._object_follows()

    def _object_follows(self) -> bool:
        self.skip()
        return (
            self.at < len(self.words)
            and prepositional(self.words, self.at) is None
            and self.words[self.at].pos in ("DET", "NOUN", "ADJ", "PROPN")
        )

    def _happens(self, things: list[Thing], group: VerbGroup, inner: Tail | None, words: Words) -> None:
        """Read what the things of a subject do, or what is done to them."""
        lemma = group.lemma
        first = things[0]
        environment = all(is_environment(one.element) for one in things if one.element) and bool(
            first.element
        )
        if first.element == SCENE and lemma in CHANGE_VERBS | REPLACE_VERBS | {"be"}:
            self._environment_happens(dataclasses.replace(first, element="time"), group, words)
            return
        if environment:
            self._environment_happens(first, group, words)
            return
        if self._comparison(group, things):
            return
        if (
            lemma == "replace"
            and not group.passive
            and not self.over()
            and prepositional(self.words, self.at) is None
        ):
            # "Trees replace the buildings": the subject comes, the object goes.
            self.affirmed(group)
            olds = self.things()
            for old in olds:
                self.exchange(old, first)
            if olds and len(things) == 1:
                return
        if lemma == "take" and tuple(self.lower(k) for k in range(3)) == ("the", "place", "of"):
            self.affirmed(group)
            self.at += 3
            for old in self.things():
                self.exchange(old, first)
            return
        if lemma in REPLACE_VERBS or (lemma == "give" and self.lower() == "way"):
            if lemma == "give":
                self.at += 1
            self._gives_way(things, group, inner)
            return
        self.skip()
        if lemma == "have":
            self._has(things, group)
            return
        if lemma == "be" and self.lower() in ABSENT | {"away"}:
            self.at += 1
            self._remove(things, group, inner)
            return
        removed = group.passive or any(word.tag in ("VBN", "VBD") for word in group.words)
        if (
            lemma in VANISH_VERBS
            or (removed and lemma in REMOVE_VERBS - {"cut", "clear", "get"})  # not "hides behind a car"
            or (lemma == "go" and group.particle == "away")
        ):
            self._remove(things, group, inner)
            return
        if lemma in CHANGE_VERBS | {"be"} and self._becomes(things, group, inner):
            return
        if lemma in CHANGE_VERBS - PRESENCE_VERBS - ADD_VERBS:
            raise self.words[group.words[0].index - self.words[0].index : self.at].refuse(
                "into what it changes is not understood", ["changes into", "becomes"]
            )
        if lemma == "approach":
            self._approaches(things, group, inner)
            return
        moving = [one for one in things if ontology().is_a(self.resolved(one).element, "dynamic object")]
        if lemma == "turn" and moving != things:
            where = group.words if self.over() else self.rest()
            raise where.refuse("into what it turns is not understood", ["turns red"])
        if lemma == "cover" and group.passive:
            self._covered(group)
            return
        if lemma in PRESENCE_VERBS | ADD_VERBS or (lemma in SEE_VERBS and group.passive):
            gone = group.negated or group.no_longer
            while self.lower() in _THERE or (self.lower() == "any" and self.lower(1) in ("more", "longer")):
                gone = gone or self.lower() in ("any", "anymore", "longer")
                self.at += 2 if self.lower() == "any" else 1
            tail = self._crossed(group) or self.tail()
            for thing in things:
                op: Op = "remove" if gone != thing.negated else "add"
                self.put(op, thing, joined(inner, tail), str(group.words))
            return
        raise group.words.refuse(f"{str(group.words)!r} is no change of a scene", UNDERSTOOD)

    def _covered(self, group: VerbGroup) -> None:
        """Read "the road is covered with snow": snow lies where it has snowed."""
        self.affirmed(group)
        for phrase in self.tail().phrases:
            if phrase.thing is None or not is_environment(phrase.thing.element):
                raise phrase.words.refuse("what covers a thing cannot be changed", ["it snows"])
            self.environment(phrase.thing)

    def _has(self, things: list[Thing], group: VerbGroup) -> None:
        """Read "the road has no lane lines": the subject is where the object is."""
        subject = things[0]
        if len(things) > 1 or subject.element not in (SCENE, "road", "sidewalk", "lane", "crosswalk"):
            raise group.words.refuse(
                f"what the {subject.element or subject.words} has cannot be changed",
                ["there is a pedestrian"],
            )
        objects = self.things()
        if not objects:
            raise self.rest().refuse("what there is, is not said", ["a pedestrian"])
        gone = group.negated or group.no_longer
        tail = self.tail()
        for thing in objects:
            op: Op = "remove" if gone != thing.negated else "add"
            here = op == "add" and subject.element != SCENE and not tail.phrases
            position: Position = "in" if subject.element == "lane" else "on"
            place = Place(position, subject.element, subject.properties) if here else None
            self.put(op, thing, tail, str(group.words), place)

    def _crossed(self, group: VerbGroup) -> Tail | None:
        """Read the object of verbs that say where: "crosses the road", "enters the lane"."""
        if group.lemma not in ("cross", "enter", "use", "block", "cover", "occupy", "join", "pass"):
            return None
        if prepositional(self.words, self.at) is not None or self.over():
            return None
        begin = self.at
        thing = self.thing()
        if thing is None:
            return None
        position: Position = "in" if group.lemma in ("enter", "join") and thing.element == "lane" else "on"
        if self.is_ego(thing):
            position = "front"
        tail = self.tail()
        tail.phrases.insert(0, Phrase(group.lemma, position, self.words[begin : self.at], thing))
        return tail

    def _approaches(self, things: list[Thing], group: VerbGroup, inner: Tail | None) -> None:
        self.affirmed(group)
        target: Thing | None = None
        if not self.over() and prepositional(self.words, self.at) is None:
            target = self.thing()
        known = [thing for thing in things if self.refers(thing)]
        if known and (target is None or self.is_ego(target)):
            for thing in known:
                self.compare(thing, "closer")
            return
        tail = self.tail()
        for thing in things:
            place = None
            if target is not None and not self.is_ego(target):
                place = Place("beside", target.element, target.properties)
            self.put("add", thing, joined(inner, tail), str(group.words), place)

    def _remove(self, things: list[Thing], group: VerbGroup, inner: Tail | None) -> None:
        self.affirmed(group)
        tail = self.tail()
        kept = [one for one in tail.phrases if one.preposition not in ("from", "off", "out of")]
        tail = dataclasses.replace(tail, phrases=kept)
        for thing in things:
            self.put("remove", thing, joined(inner, tail), str(group.words))

    def _comparison(self, group: VerbGroup, things: Sequence[Thing] = ()) -> bool:
        """Read "gets closer to the ego-vehicle", "moves away", "is farther ahead"."""
        begin = self.at
        self.skip()
        word = self.lower()
        away = group.lemma in _MOVES and (group.particle == "away" or word == "away")
        kind = COMPARATIVES.get(word)
        if kind is None and word in ("more", "even", "much", "far") and self.lower(1) in COMPARATIVES:
            self.at += 1
            kind = COMPARATIVES[self.lower()]
        if kind in ("heavier", "lighter") and things and not things[0].element:
            self.affirmed(group)
            self.at += 1
            self.leftover(self.tail())
            self.heavier(dataclasses.replace(things[0], element="weather"), kind, things[0].words)
            return True
        if kind in (None, "heavier", "lighter") and not away:
            self.at = begin
            return False
        if away and kind is None and (group.lemma == "go" and not self._has_reference()):
            self.at = begin
            return False
        self.affirmed(group)
        if kind is not None:
            self.at += 1
        if self.lower() == "away":
            self.at += 1
        tail = self.tail()
        toward = [
            one.thing
            for one in tail.phrases
            if one.thing is not None and one.preposition in ("to", "from", "toward", "towards")
        ]
        others = [one for one in tail.phrases if one.preposition not in ("to", "from", "toward", "towards")]
        for phrase in others:
            if phrase.thing is None or not self.is_ego(phrase.thing):
                raise phrase.words.refuse("these words are not understood here")
        for thing in toward:
            if any(not self.is_ego(one) for one in things) and not self.is_ego(thing):
                raise thing.words.refuse("only how far it is from the ego-vehicle can be changed")
        named = [one for one in (*things, *toward) if not self.is_ego(one) and one.element != SCENE]
        if not named and not things:
            # "If it gets closer": the ego-vehicle to the thing, or the thing to the ego-vehicle.
            named = [Thing("", group.words, {}, "it")]
        for thing in named:
            self.compare(thing, kind or "farther")
        return True

    def _has_reference(self) -> bool:
        return self.at + 1 < len(self.words) and self.lower(1) == "from"
