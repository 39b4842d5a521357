"""What the verb of a clause says: things come, go, cross, get closer, or someone changes the scene."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from roadworthy.rules.language import lexicon, phrases
from roadworthy.rules.language.conditions import AND, UNDERSTOOD, PlacePhrase, Tail, joined, stands
from roadworthy.rules.language.lexicon import SETS
from roadworthy.rules.language.nouns import SCENE, NounReading, is_environment
from roadworthy.rules.language.weather import ExchangeReader
from roadworthy.rules.language.words import Words
from roadworthy.rules.reading import Op, Position, thing_in_words

# Verbs that only say that a thing is there: where they are negated, it is not.
_FELLED = ("cut", "down")
_TOWARD = ("to", "from", "toward", "towards")
_TO_CROSS = re.compile(r"to cross(?: the (?:road|street))?\b")
_LIT = re.compile(lexicon.FILE["braking"])


class EventReader(ExchangeReader):
    """Reads what happens to the things that a clause names."""

    def modified(self, things: Sequence[NounReading] = (), *, past: bool = False) -> Tail | None:
        """Read what describes a noun after it: "standing on the roadside", "that is parked there".

        `past` says that a verb stood before, so that "a tram stopped at the kerb" is a thing.
        """
        at = phrases.after_fillers(self.words, self.at)
        own = self.words[at : at + 2]
        if len(things) > 1 and re.match(r"with |(?:who|which|that) \w+s$", str(own).lower()):
            raise own.refuse("of which of them is this said?", ["a car that brakes and a truck"])
        if (lamps := self._lit(at)) and all(one.element == "vehicle" for one in things):
            self.at = at
            self.result.bind(self.step(lamps[0].count(" ") + 1), "braking")
            return joined(Tail(), self.modified() or self.tail())
        if at < len(self.words) and self.words[at].lower in ("who", "which", "that"):
            at += 1
            found = phrases.verb_group(self.words, at)
            behind = self.words[found[1] : found[1] + 1] if found else ()
            turns = any(word.lower in lexicon.VALUES for word in behind)  # "a light that turns red"
            if found is not None and found[0].lemma in SETS["presence"] and not turns:
                self.affirmed(found[0])
                self.certain(found[0])
                self.result.bind(self.words[at - 1 : found[1]], "add")
                self.at = found[1]
                return self._where(things, found[0])
            return None
        if at >= len(self.words):
            return None
        word = self.words[at]
        crossing = word.lower == "crossing"
        participle = word.tag in ("VBG", "VBN") or word.lower.endswith("ing") or (past and word.tag == "VBD")
        verbs = SETS["presence"] | (SETS["add"] - {"set"} if word.tag == "VBN" else frozenset())
        if not crossing and not (participle and phrases.base_of(word) in verbs):
            found_phrase = phrases.prepositional(self.words, at)
            if found_phrase is None:
                return None
            after = phrases.after_fillers(self.words, found_phrase[1])
            if self._lit(after):
                self.at = after
                return joined(Tail([found_phrase[0]]), self.modified(things) or Tail())
            if phrases.verb_group(self.words, after) is None:
                return None
            return self.tail()
        if len(things) > 1 and word.lower != phrases.base_of(word):  # "a man and a woman run"
            raise own[:1].refuse("of which of them is this said?", ["a truck and a crossing pedestrian"])
        self.at = at
        verb = self.step()
        self.result.bind(verb, "add")
        group = phrases.VerbGroup(
            "cross" if crossing else phrases.base_of(word), verb, passive=word.tag == "VBN"
        )
        return self._where(things, group)

    def _lit(self, at: int) -> re.Match[str] | None:
        """Return the words from a place on that say that brake lights are on."""
        return _LIT.match(" ".join(word.lower for word in self.words[at:]))

    # --- what happens

    def done_by_someone(self, group: phrases.VerbGroup, *, ego: bool = True) -> None:
        """Read "you see a pedestrian", "we remove the lane lines", "the ego-vehicle drives at night"."""
        self.by_us = True
        lemma = group.lemma
        if lemma in ("come", "get") and self.lower() in ("to", "upon"):
            lemma = "approach"  # "you come to a yield sign"
            self.result.bind(self.step(), "add")
        if lemma in ("get", "come", "move", "go", "draw", "be") and self.comparison(group):
            return
        if lemma not in SETS["see"] | {"have"}:
            self.affirmed(group)
        if group.passive and lemma == "overtake" and self.over() and group.words[0].lemma != "have":
            self.put("add", NounReading("vehicle", group.words, {}, "a"), Tail())  # by whomever
            return
        if group.passive and lemma in ("overtake", "pass") and self.lower() == "by":
            self._overtaken(group)
            return
        if lemma in SETS["motion"] and not self._object_follows():
            tail = self.tail()
            if not tail.phrases:
                said = group.words if self.over() else self.rest()
                raise said.refuse("this does not say what changes in the scene", UNDERSTOOD)
            for phrase in tail.phrases:
                thing = phrase.thing
                if thing is not None and is_environment(thing.element):
                    self.check_within(phrase, "into")
                    self.result.bind(group.words, thing.element)
                    self.result.bind(phrase.words, thing.element)
                    self.environment(thing)
                elif thing is not None and phrase.position == "behind":
                    self.some(thing)
                    self.result.bind(phrase.words, "in front of the ego-vehicle")
                    self.put("add", thing, Tail(), group.words, PlacePhrase("front", "ego-vehicle"))
                else:
                    raise phrase.words.refuse("where the ego-vehicle drives cannot be changed", UNDERSTOOD)
            return
        if lemma in SETS["replace"] | SETS["changes"]:
            things = self.things()
            if things:
                self._gives_way(things, group)
                return
        if lemma == "have" or lemma in SETS["add"] | SETS["see"] | SETS["remove"]:
            things = self.named("what is meant is not said", f"{group.lemma} a pedestrian")
            op: Op = "remove" if lemma in SETS["remove"] and lemma not in SETS["add"] else "add"
            if group.negated or group.no_longer:
                op = "remove"
            inner = self.modified(things, past=True)
            tail = self.tail()
            for thing in things:
                if op == "remove":
                    self.some(thing)
                if ego and lemma == "approach" and self.refers(thing):
                    self.affirmed(group, "closer")
                    self.compare(thing, "closer")
                    continue
                if lemma == "follow" and not self.moves(thing):
                    raise thing.words.refuse("only what goes is followed", ["follow a truck"])
                self.result.found("DOBJ", str(thing.words), str(group.words))
                place = PlacePhrase("front", "ego-vehicle") if lemma == "follow" else None
                self.put("remove" if thing.negated else op, thing, joined(inner, tail), group.words, place)
            return
        raise group.words.refuse(f"{str(group.words)!r} is no change of a scene", UNDERSTOOD)

    def _overtaken(self, group: phrases.VerbGroup) -> None:
        """Read "you are overtaken by a lorry", and "passed" by it."""
        self.affirmed(group)
        verb = group.words.items + self.step().items
        self.result.bind(Words(self.words.text, verb), "overtaking")
        for thing in self.things():
            if self.resolved(thing).element != "vehicle" or group.words[0].lemma == "have":
                raise group.words.refuse(
                    "only vehicles are seen overtaking, while they do", ["a car overtakes"]
                )
            self.some(thing)
            said = Words(self.words.text, verb + thing.words.items)
            self.put("add", dataclasses.replace(thing, words=said), self.tail())

    def does(self, group: phrases.VerbGroup) -> bool:
        """Return whether someone changes the scene rather than being seen in it."""
        return group.lemma in SETS["add"] | SETS["remove"] | SETS["replace"] and self._object_follows()

    def _object_follows(self) -> bool:
        self.skip()
        return (
            self.at < len(self.words)
            and phrases.prepositional(self.words, self.at) is None
            and self.words[self.at].pos in ("DET", "NOUN", "ADJ", "PROPN")
        )

    def happens(
        self, things: list[NounReading], group: phrases.VerbGroup, inner: Tail | None, words: Words
    ) -> None:
        """Read what the things of a subject do, or what is done to them."""
        if group.lemma == "get" and (self.lower(), self.lower(1)) == ("in", "front"):
            group = dataclasses.replace(group, lemma="come")
        lemma = group.lemma
        first = things[0]
        named = [one.element for one in things if one.element]
        environment = bool(first.element) and all(map(is_environment, named))
        if first.element == SCENE and first.words[-1].lower in ("camera", "screen"):
            raise first.words.refuse("what becomes of it is no weather", ["the weather", "the scene"])
        if first.element == SCENE and lemma in SETS["change"] | SETS["replace"] | {"be"}:
            self._environment_happens(first, group, words)
            return
        if environment:
            after = self.at
            for one in things:
                self.at = after
                self._environment_happens(one, group, words)
            if inner is not None:
                self.leftover(inner, allow_environment=True, allow_place=True)
            return
        if self.comparison(group, things):
            return
        if group.passive:
            self.check_particle(things, group)
        active = lemma == "replace" and not group.passive
        if active and not self.over() and phrases.prepositional(self.words, self.at) is None:
            # "Trees replace the buildings": the subject comes, the object goes.
            self.affirmed(group, "replace")
            olds = self.things()
            place = self.place(self.tail().phrases)
            for old in olds:
                self.exchange(old, first, place)
            if olds and len(things) == 1:
                return
        if lemma == "take" and tuple(self.lower(k) for k in range(3)) == ("the", "place", "of"):
            self.affirmed(group, "replace")
            self.result.bind(self.step(3), "replace")
            for old in self.things():
                self.exchange(old, first)
            return
        if lemma in SETS["replace"] or (lemma == "give" and self.lower() == "way"):
            if lemma == "give" and any(map(self.moves, things)):
                raise group.words.refuse("who gives way cannot be shown", ["is replaced by"])
            if lemma == "give":
                self.result.bind(self.step(), "replace")
            self._gives_way(things, group, inner)
            return
        self.skip()
        if lemma == "have":
            self._has(things, group)
            return
        if lemma == "be" and self.lower() in SETS["absent"] | {"away"}:
            self.result.bind(self.step(), "remove")
            self._remove(things, group, inner)
            return
        vanishes = lemma in SETS["vanish"] and not group.passive and (lemma != "fade" or group.particle)
        leaves = lemma in SETS["leaves"] and group.particle == "away"
        if vanishes or leaves or self._is_removed(group):
            self._remove(things, group, inner)
            return
        if lemma in SETS["change"] | {"be"} and self._becomes(things, group, inner):
            return
        if lemma in SETS["change"] - SETS["presence"] - SETS["add"]:
            raise self.words[group.words[0].index - self.words[0].index : self.at].refuse(
                "into what it changes is not understood", ["changes into", "becomes"]
            )
        if lemma == "approach":
            self._approaches(things, group, inner)
            return
        moving = [self.moves(one) for one in things]
        if lemma in SETS["go"] | SETS["only moves"] | {"follow"} and not all(moving):
            raise group.words.refuse(f"{str(group.words)!r} is not understood of this", ["appears"])
        if lemma in ("brake", "overtake") and any(self.resolved(one).element != "vehicle" for one in things):
            raise group.words.refuse(f"{str(group.words)!r} is seen of vehicles only", ["appears"])
        if lemma == "pass" and not group.passive and self.over() and things[0].element == "vehicle":
            raise group.words.refuse("which way it passes is not said", ["overtakes you"])
        if lemma == "turn" and group.particle != "up" and self.lower() not in ("onto", "into"):
            where = group.words if self.over() else self.rest()
            raise where.refuse("into what it turns is not understood", ["turns red"])
        if lemma == "cover" and group.passive:
            self._covered(things, group)
            return
        if lemma in SETS["presence"] | SETS["add"] or (lemma in SETS["see"] and group.passive):
            self._check_there(group)
            gone = group.negated or group.no_longer
            if lemma in ("stay", "remain") and not (gone or all(moving)):
                raise group.words.refuse("what stays as it is changes nothing", UNDERSTOOD)
            while (self.lower() in SETS["there"] and (gone or self.lower() != "longer")) or (
                self.lower() == "any" and self.lower(1) in ("more", "longer")
            ):
                if self.lower() in SETS["halted"]:
                    self.affirmed(group)
                    self.some(first)
                gone = gone or self.lower() in ("any", "anymore", "longer")
                self.result.bind(self.step(2 if self.lower() == "any" else 1), "remove" if gone else "add")
            if lemma == "wait" or (group.negated and lemma not in SETS["is there"] | SETS["see"]):
                self.affirmed(group)
            tail = self._where(things, group)
            for thing in things:
                if lemma in SETS["add"]:
                    self.some(thing)
                if not gone and thing.determiner in ("all", "every", "each"):
                    raise thing.words.refuse("what comes is not all that is there", ["a", "several"])
            if lemma == "be" and not self.over() and self.lower() not in (*AND, "or", "either"):
                raise self.rest().refuse("these words are not understood here", UNDERSTOOD)
            inner = self._origin(group, inner, tail)
            for thing in things:
                self.put(self.presence(gone, thing), thing, joined(inner, tail), group.words)
            return
        raise group.words.refuse(f"{str(group.words)!r} is no change of a scene", UNDERSTOOD)

    def _origin(self, group: phrases.VerbGroup, inner: Tail | None, tail: Tail) -> Tail | None:
        """Return the places of a subject that are not over: "a car in the left lane moves into your lane"."""
        stays = SETS["stays"] - {"pull"}
        goes = group.lemma in (SETS["go"] | SETS["only moves"] | SETS["moves"] | {"cut"}) - stays
        if inner is None or not goes or not any(one.position for one in tail.phrases):
            return inner
        left = [one for one in inner.phrases if one.position and one.thing and not self.is_ego(one.thing)]
        on_it = [
            one for one in left if one.position in ("on", "in") and one.thing and stands(one.thing.element)
        ]
        left = [one for one in left if one not in on_it]
        for one in left:
            self.result.bind(one.words, "from there")
        return dataclasses.replace(inner, phrases=[one for one in inner.phrases if one not in left])

    def _check_there(self, group: phrases.VerbGroup) -> None:
        """Refuse a verb that does not say that a thing is there: "is run over", "drives off"."""
        onto = group.particle in ("off", "past") and not self.over()  # "steps off the kerb"
        done = group.passive and group.lemma not in SETS["add"] | SETS["see"] | SETS["put"]
        over = group.words[-1].lower == "crossed"
        # "The vehicle is | expected to slow down" divides before its verb.
        bare = group.lemma == "be" and re.match(r" \w+ed to\b", self.words.text[group.words[-1].stop :])
        if done or over or bare or (group.particle in SETS["leaving"] and not onto):
            raise group.words.refuse(f"{str(group.words)!r} does not say that it is there", UNDERSTOOD)

    def check_particle(self, things: Sequence[NounReading], group: phrases.VerbGroup) -> None:
        """Refuse what means something else where it is done to people: "is taken down", "is set up"."""
        another = group.particle in ("up", "out", "down") and group.lemma != "queue"
        if another and any(map(self.moves, things)):
            reason = f"{str(group.words)!r} is not understood of this"
            raise group.words.refuse(reason, ["is removed", "appears"])

    def _check_agent(self, group: phrases.VerbGroup, tail: Tail) -> None:
        """Refuse who does it, where "by" may say so: "is followed by a truck", "is parked by a woman"."""
        for one in tail.phrases:
            if not group.passive or one.preposition != "by" or one.thing is None:
                continue
            who = one.thing
            seen = group.lemma in SETS["see"] - SETS["meets"] and (self.is_ego(who) or who.element == SCENE)
            done = group.lemma not in SETS["add"] | {"park", "locate"} or who.element in SETS["people"]
            if done and not seen:
                raise one.words.refuse("by whom it is done cannot be shown: say where it is", ["beside"])

    def _check_manner(self, things: Sequence[NounReading], group: phrases.VerbGroup, tail: Tail) -> None:
        """Refuse what nobody is seen doing: "a child cycles", "a car drives on the left side"."""
        elements = {self.resolved(one).element for one in things}
        if (group.lemma in SETS["rides"] and elements & {"pedestrian", "dog"}) or (
            group.lemma in SETS["walks"] and elements & {"bicyclist", "vehicle"}
        ):
            raise group.words.refuse(f"{str(group.words)!r} is not seen of this", ["appears", "a cyclist is"])
        for one in tail.phrases if "vehicle" in elements and group.lemma in SETS["goes on"] else ():
            if one.thing and one.thing.properties and one.thing.words[-1].lower in ("side", "road", "street"):
                raise one.words.refuse("is this the lane, or the side of the road?", ["in the oncoming lane"])

    def _covered(self, things: list[NounReading], group: phrases.VerbGroup) -> None:
        """Read "the road is covered with snow": snow lies where it has snowed."""
        self.affirmed(group)
        for thing in things:
            if thing.element in ("road", "sidewalk", "lane", "terrain") and not thing.properties:
                self.check_everywhere(thing)
        for phrase in self.tail().phrases:
            if phrase.thing is None or not is_environment(phrase.thing.element):
                raise phrase.words.refuse("what covers a thing cannot be changed", ["it snows"])
            self.result.bind(group.words, phrase.thing.element)
            self.result.bind(phrase.words, phrase.thing.element)
            self.environment(phrase.thing)

    def _has(self, things: list[NounReading], group: phrases.VerbGroup) -> None:
        """Read "the road has no lane lines": the subject is where the object is."""
        subject = things[0]
        if len(things) > 1 or subject.element not in (SCENE, "road", "sidewalk", "lane", "crosswalk"):
            reason = f"what the {subject.element or subject.words} has cannot be changed"
            raise group.words.refuse(reason, ["there is a pedestrian"])
        if subject.determiner in SETS["not one"]:
            raise subject.words.refuse("which one is meant is not said", ["the road"])
        objects = self.named("what there is, is not said", "a pedestrian")
        gone = group.negated or group.no_longer
        tail = self.tail()
        if not subject.properties:
            self.result.bind(subject.words, f"on the {subject.element}")
        for thing in objects:
            op = self.presence(gone, thing)
            placed = [one for one in tail.phrases if one.thing and not is_environment(one.thing.element)]
            here = (op == "add" or subject.element != "road") and subject.element != SCENE and not placed
            if here:
                where = thing_in_words(subject.element, subject.properties)
                self.result.bind(subject.words, f"on the {where}")
            position: Position = "in" if subject.element == "lane" else "on"
            place = PlacePhrase(position, subject.element, subject.properties) if here else None
            self.put(op, thing, tail, group.words, place)

    def _is_removed(self, group: phrases.VerbGroup) -> bool:
        """Return whether a thing is taken away, and not only hidden: "is hidden behind a car"."""
        done = group.passive or any(word.tag in ("VBN", "VBD") for word in group.words)
        removes = group.lemma in SETS["remove"] - SETS["presence"] - {"cut", "clear", "get"}
        if not done or not (removes or (group.lemma, group.particle) == _FELLED):
            return False
        return group.lemma not in ("hide", "mask") or phrases.prepositional(self.words, self.at) is None

    def _where(self, things: Sequence[NounReading], group: phrases.VerbGroup) -> Tail:
        """Read the end of a clause of presence; who waits to cross is not on the road yet."""
        if group.lemma in ("wait", "stand", "stop") and self.lower() == "to" and self.lower(1) == "cross":
            self.result.bind(self.step(2), "waiting")
            group = dataclasses.replace(group, lemma="cross", about=True)
            if any(self.resolved(one).element == "vehicle" for one in things):
                raise group.words.refuse("who waits to cross is on foot", ["a pedestrian is waiting"])
        tail = self._crossed(group) or self.tail()
        placed = [one for one in tail.phrases if one.position and one.thing and not self.is_ego(one.thing)]
        if group.about and not placed:
            kerb = NounReading("sidewalk", group.words, {}, "the")
            tail.phrases.append(phrases.Phrase("on", "on", group.words, kerb))
        waits = group.lemma in ("wait", "stand", "stop")
        if waits and tail.phrases and (cross := _TO_CROSS.match(str(self.words[self.at :]).lower())):
            self.result.bind(self.step(cross[0].count(" ") + 1), "waiting")
        goes = group.lemma in SETS["go"] | SETS["only moves"] | {"come", "cut"}
        for number, phrase in enumerate(tail.phrases):
            element = None if phrase.thing is None else phrase.thing.element
            if group.about and element in ("road", "lane"):
                kerb = NounReading("sidewalk", phrase.words, {}, "the")
                tail.phrases[number] = dataclasses.replace(phrase, position="on", thing=kerb)
            elif goes and phrase.preposition == "to" and element == "sidewalk":
                raise phrase.words.refuse("where it goes is not shown: say where it is", ["on the left"])
            elif (phrase.preposition, element) == ("along", "road") and group.lemma in SETS["rides"] | {
                "move"
            }:
                tail.phrases[number] = dataclasses.replace(phrase, preposition="on")
            elif element == "crosswalk" and (group.about or (waits and phrase.preposition == "at")):
                tail.phrases[number] = dataclasses.replace(phrase, position="beside")
        self._check_agent(group, tail)
        self._check_manner(things, group, tail)
        return tail

    def _crossed(self, group: phrases.VerbGroup) -> Tail | None:
        """Read the object of verbs that say where: "crosses the road", "enters the lane"."""
        takes_object = ("cross", "enter", "cover", "pass", "follow", "use", "overtake")
        if group.lemma not in takes_object and group.particle != "off":
            return None
        if phrases.prepositional(self.words, self.at) is not None or self.over():
            if group.lemma == "overtake":
                raise group.words.refuse("whom it overtakes must be us", ["overtakes you"])
            if group.lemma == "follow" and self.lower() not in ("behind", "by"):
                raise group.words.refuse("whom it follows is not said", ["follows you"])
            return None
        begin = self.at
        us = group.lemma in ("follow", "overtake") and self.lower() in ("us", "you")
        thing = NounReading("ego-vehicle", self.step(), {}, "the") if us else self.thing()
        if group.lemma == "overtake":
            if thing is None or not self.is_ego(thing):
                raise self.words[begin:].refuse("whom it overtakes must be us", ["overtakes you"])
            self.result.bind(thing.words, "ego-vehicle")
            return self.tail()
        if thing is None:
            return None
        position: Position = "in" if group.lemma == "enter" and thing.element == "lane" else "on"
        if self.is_ego(thing):
            position = "front"
        goes = self.is_ego(thing) or self.moves(thing)
        if group.lemma == "pass" or (group.lemma == "follow" and not goes):
            raise thing.words.refuse("where it is then is not said", ["is on the road", "follows a truck"])
        if group.lemma == "follow":
            position = "behind"
        if group.particle == "off":
            if thing.element != "sidewalk" or thing.properties:
                raise thing.words.refuse("these words are not understood here", ["off the kerb"])
            thing = NounReading("road", thing.words, {}, "the")
        tail = self.tail()
        tail.phrases.insert(0, phrases.Phrase(group.lemma, position, self.words[begin : self.at], thing))
        return tail

    def _approaches(self, things: list[NounReading], group: phrases.VerbGroup, inner: Tail | None) -> None:
        self.affirmed(group)
        target: NounReading | None = None
        if self.lower() in ("us", "you"):
            target = NounReading("ego-vehicle", self.step(), {}, "the")
        elif not self.over() and phrases.prepositional(self.words, self.at) is None:
            target = self.thing()
        drives = any(self.resolved(one).element == "vehicle" for one in things)
        if group.passive or (drives and target is not None and not self.is_ego(target)):
            raise group.words.refuse("where it is then is not said", ["appears ahead", "gets closer"])
        place = None
        if target is not None and self.is_ego(target):
            self.result.bind(target.words, "ego-vehicle")
        known = [thing for thing in things if self.refers(thing)]
        if known and (target is None or self.is_ego(target)):
            self.result.bind(group.words, "closer")
            for thing in known:
                self.compare(thing, "closer")
            return
        tail = self.tail()
        self._check_manner(things, group, tail)
        if target is not None and not self.is_ego(target):
            if not target.element:
                self.antecedent(target)
            place = self.place([phrases.Phrase("beside", "beside", target.words, target)])
        for thing in things:
            self.put("add", thing, joined(inner, tail), group.words, place)

    def _remove(self, things: list[NounReading], group: phrases.VerbGroup, inner: Tail | None) -> None:
        self.affirmed(group)
        if group.lemma == "leave" and not self.over() and phrases.prepositional(self.words, self.at) is None:
            left = self.thing()
            if left is None or left.element not in (SCENE, "road") or left.properties:
                raise self.rest().refuse("where it is then is not said", ["leaves the road"])
            self.result.bind(left.words, "everywhere")
        tail = self.without_origin(self.tail())
        hidden = [one for one in tail.phrases if one.position == "behind"]
        if hidden and group.lemma in SETS["vanish"]:
            raise hidden[0].words.refuse("what is hidden is there, and is not seen", UNDERSTOOD)
        for thing in things:
            self.some(thing)
            self.put("remove", thing, joined(inner, tail), group.words)

    def comparison(self, group: phrases.VerbGroup, things: Sequence[NounReading] = ()) -> bool:
        """Read "gets closer to the ego-vehicle", "moves away", "is farther ahead"."""
        begin = self.at
        self.skip()
        word = self.lower()
        away = group.lemma in SETS["moves"] and (group.particle == "away" or word == "away")
        kind = lexicon.COMPARATIVES.get(word)
        if kind is None and word in ("more", "even", "much", "far") and self.lower(1) in lexicon.COMPARATIVES:
            self.result.bind(self.step(), "more")
            kind = lexicon.COMPARATIVES[self.lower()]
        if kind in ("heavier", "lighter") and things and not things[0].element:
            self.affirmed(group, kind)
            self.result.bind(self.step(), kind)
            self.leftover(self.tail())
            self.heavier(dataclasses.replace(things[0], element="weather"), kind, things[0].words)
            return True
        if kind in (None, "heavier", "lighter") and not away:
            self.at = begin
            return False
        after = self.lower() if group.particle == "away" else self.lower(1)
        leaves = group.lemma == "go" or (group.lemma in SETS["leaves"] and not any(map(self.refers, things)))
        if away and kind is None and leaves and after != "from":
            self.at = begin
            return False
        self.affirmed(group, kind or "farther")
        if kind is not None:
            self.result.bind(self.step(), kind)
        if self.lower() == "away":
            self.result.bind(self.step(), kind or "farther")
        tail = self.tail()
        for one in tail.phrases:
            self.result.bind(one.words, "ego-vehicle")
        toward = [one.thing for one in tail.phrases if one.thing and one.preposition in _TOWARD]
        for phrase in tail.phrases:
            ours = phrase.thing is not None and self.is_ego(phrase.thing)
            if not ours and phrase.preposition not in _TOWARD:
                raise phrase.words.refuse("these words are not understood here")
        for thing in toward:
            if any(not self.is_ego(one) for one in things) and not self.is_ego(thing):
                raise thing.words.refuse("only how far it is from the ego-vehicle can be changed")
        named = [one for one in (*things, *toward) if not self.is_ego(one) and one.element != SCENE]
        if not named and not things:
            # "If it gets closer": the ego-vehicle to the thing, or the thing to the ego-vehicle.
            named = [NounReading("", group.words, {}, "it")]
        for thing in named:
            self.compare(thing, kind or "farther")
        return True
