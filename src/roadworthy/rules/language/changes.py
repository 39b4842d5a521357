"""Conditions: which changes of a scene the words of an if-clause ask for (Table 4 of the RMT paper)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from roadworthy.rules.language import lexicon, phrases
from roadworthy.rules.language.conditions import AND, UNDERSTOOD, ConditionReading, PlacePhrase, Tail, joined
from roadworthy.rules.language.events import EventReader
from roadworthy.rules.language.lexicon import SETS
from roadworthy.rules.language.nouns import NounReading, is_environment, noun_phrase
from roadworthy.rules.language.words import Words
from roadworthy.rules.reading import Op, SceneChange

_SHOWS = ("with", "for", "near", "close to", "by", "at", "next to", "beside")
_NO_LONGER = lexicon.phrases_of("no longer, no any, no more, not longer, not any, not more, not")
_IMPERATIVES = SETS["add"] | SETS["remove"] | SETS["replace"] | SETS["see"] | SETS["changes"] | {"drive"}


def read_condition(words: Words, earlier: Sequence[Sequence[SceneChange]] = ()) -> ConditionReading:
    """Read the words of a condition, without the word that opens it.

    Args:
        words: The words.
        earlier: The changes of each block before, which pronouns and comparatives refer to.

    Raises:
        RuleError: Something in it is not understood.
    """
    words.check(lexicon.REFUSED)
    reader = _ConditionReader(words, earlier)
    lower = [word.lower for word in words]
    # "Too" at the end, but not "too heavily".
    besides = [one in SETS["besides"] for one in lower]
    besides[-1:] = [lower[-1:] == ["too"] or besides[-1]] if besides else []
    if any(besides) and len(earlier) > 1:
        raise words[besides.index(True) :][:1].refuse("besides what is not said", ["two pedestrians"])
    for change in reader.latest if any(besides) else ():  # what was said before is still there
        reader.result.infer(change)
    reader.condition()
    reader.result.check_bound(words)
    reader.result.refers = bool(reader.again) or any(besides)
    if any(one in reader.latest for one in reader.again) and not any(besides):
        for change in reader.latest:  # so is what stood beside what gets closer
            if change not in reader.again:
                reader.result.infer(change)
    return reader.result


class _ConditionReader(EventReader):
    """Reads a condition, clause by clause."""

    # --- clauses

    def condition(self) -> None:
        while self.lower() == "," or (self.lower() == "in" and self.lower(1) == "addition"):
            self.result.bind(self.step(1 if self.lower() == "," else 2), "and")
        if self.over():
            raise self.words.refuse("the condition says nothing", [f"a pedestrian {UNDERSTOOD[0]}"])
        while not self.over():
            while (
                self.lower() in ("that", "if", "when")
                and self.at + 1 < len(self.words)
                and not (self.lower() == "that" and phrases.noun_follows(self.words, self.at))
            ):
                self.at += 1
            before = self.at
            self.clause()
            self.end_clause()
            if self.over():
                break
            linked = self.conjunction()
            if self.over():
                raise self.words[-1:].refuse("something is missing after this")
            if self.at == before or (not linked and not self._clause_begins()):
                raise self.rest().refuse("these words are not understood here", UNDERSTOOD)

    def _clause_begins(self) -> bool:
        return self.lower() in ("there", "it")

    def clause(self) -> None:
        self.skip()
        if self._nominal() or (not (led := self._led()) and self._environment_first()):
            return
        if led:
            self.result.bind(self.step(), "if")
        if self.lower() in ("there", "appears", "appear"):  # "when appears a pedestrian"
            self._existential()
        elif self.lower() == "it" and self._about_weather():
            self._it()
        elif self._imperative():
            self.done_by_someone(self.group())
        else:
            nobody = self.lower() == "it" and not (self.earlier or self._it_sees())
            if nobody and (wrong := self._misspelt(self.at + 1)):
                # "If it is fogy": nothing was said that "it" could stand for, so the weather is meant.
                raise wrong
            self._with_subject()

    def _environment_first(self) -> bool:
        """Read "at night" and the like at the beginning of a clause."""
        if self.lower() == "without" and not self.at:
            self.result.bind(self.step(), "remove")
            things, tail = self.things(), self.tail()
            if not things:
                raise self.words.refuse("without what is not said", ["without lane lines"])
            for thing in things:
                self.some(thing)
                self.put("remove", thing, tail)
            return True
        found = phrases.prepositional(self.words, self.at)
        if found is None or found[0].thing is None:
            return False
        phrase, stop = found
        assert phrase.thing is not None
        if is_environment(phrase.thing.element):
            self.at = stop
            self.check_within(phrase, "for", "into")
            self.result.bind(phrase.words, phrase.thing.element)
            self.environment(phrase.thing)
            joined_by = 1 if self.lower() in ("and", ",") else 0
            following = phrases.prepositional(self.words, self.at + joined_by)
            if following is not None and following[0].thing and is_environment(following[0].thing.element):
                self.at += joined_by
                return self._environment_first()
            if self.lower() == ",":
                self.at += 2 if self.lower(1) in ("if", "when") else 1
            return self.over() or (self.lower() == "with" and self._environment_first())
        while (more := phrases.prepositional(self.words, stop)) is not None:
            stop = more[1]
        after = stop + (stop < len(self.words) and self.words[stop].lower == ",")
        if after < len(self.words) and phrase.preposition not in ("with", "for", "by"):
            self._fronted(stop, after)
            return True
        stop = found[1]
        if phrase.preposition in _SHOWS:
            # "With a pedestrian on the roadside", "near pedestrians": there is one.
            self.at = stop
            tail = joined(self.modified([phrase.thing]), self.tail())
            if phrase.preposition == "with" and self._participle(phrase.thing, phrase.words[:1], tail):
                return True
            if phrase.preposition != "with":
                self.some(phrase.thing)
            op: Op = "remove" if phrase.thing.negated else "add"  # "with no pedestrian ahead"
            self.result.bind(phrase.words, op)
            aside = phrase.preposition in ("next to", "beside")
            self.put(op, phrase.thing, tail, None, PlacePhrase("beside", "ego-vehicle") if aside else None)
            return True
        if phrase.preposition == "behind" and self.moves(phrase.thing):
            self.at = stop
            self.some(phrase.thing)
            self.result.bind(phrase.words[:1], "in front of the ego-vehicle")
            self.put("add", phrase.thing, self.tail(), None, PlacePhrase("front", "ego-vehicle"))
            return True
        return False

    def _fronted(self, stop: int, after: int) -> None:
        """Read a clause whose place stands first: "on the left there is a pedestrian"."""
        end = next((n for n in range(after, len(self.words)) if self.words[n].lower == ","), len(self.words))
        moved = (*self.words[after:end], *self.words[self.at : stop], *self.words[end:])
        self.words = Words(self.words.text, self.words[: self.at].items + moved)
        inverted = phrases.is_verb(self.words[self.at]) and self.words[self.at].tag in ("VBZ", "VBP")
        if inverted or self.lower() == "there":
            self._existential()
        else:
            self._with_subject()

    def _participle(self, thing: NounReading, opened: Words, inner: Tail) -> bool:
        """Read "with the trees removed" and "with the trees replaced by houses"."""
        found = phrases.verb_group(self.words, self.at)
        if found is None and self.lower() not in SETS["absent"]:
            return False
        group = phrases.VerbGroup("be", self.words[self.at : self.at + 1]) if found is None else found[0]
        gone = found is None or group.lemma in SETS["remove"]
        plain = len(group.words) == (2 if group.particle else 1)
        if not plain or not (gone or group.lemma in SETS["replace"]):
            return False
        self.step(len(group.words))
        self.result.bind(opened, "remove" if gone else "replace")
        if not gone:
            self._gives_way([thing], group, inner)
            return True
        self.check_particle([thing], group)
        self.some(thing)
        self.put("remove", thing, joined(inner, self.without_origin(self.tail())), group.words)
        return True

    def _nominal(self) -> bool:
        """Read a noun that stands for a change: "the removal of the lane lines"."""
        at = self.at + (self.lower() in SETS["before a change"])
        while at < len(self.words) and self.words[at].lower in ("to", "the", "a", "an"):
            at += 1
        if at + 1 >= len(self.words) or self.words[at + 1].lower != "of":
            return False
        op = lexicon.NOMINALS.get(self.words[at].lower)
        if op is None:
            return False
        noun = self.words[at : at + 1]
        self.result.bind(self.words[self.at : at + 2], op)
        self.at = at + 2
        things = self.named("of what is not said", "the removal of the lane lines")
        if op == "replace":
            self._gives_way(things, phrases.VerbGroup("replace", noun))
            return True
        tail = self.tail() if op == "add" else self.without_origin(self.tail())
        for thing in things:
            self.put("remove" if op == "remove" else "add", thing, tail, noun)
        return True

    def _existential(self) -> None:
        if self.lower() == "there":
            self.result.bind(self.step(), "there")
        begin = self.at
        group = self.group("there is nothing after 'there'")
        if group.lemma in lexicon.WEATHER_VERBS:
            # "There is drizzle": a noun after all.
            self.at = begin + len(group.words) - 1
            group = dataclasses.replace(group, lemma="be", words=group.words[:-1])
        if group.lemma not in SETS["presence"]:
            raise group.words.refuse("'there' needs a verb of presence", ["there is", "there appears"])
        self.skip()
        gone = group.negated or group.no_longer
        while said := self.saying(_NO_LONGER):
            gone = True
            self.result.bind(said, "remove")
        things = self.named("what is there is not said", "a pedestrian")
        tail = joined(self.modified(things), self.tail())
        for thing in things:
            self.noted(thing, group)
            self.put(self.presence(gone, thing), thing, tail, group.words)

    def _led(self) -> bool:
        """Return whether a word leads on to what is done: "by removing the trees"."""
        done = phrases.base_of(self.words[self.at + 1]) if self.at + 1 < len(self.words) else ""
        changed = done in SETS["add"] | SETS["remove"] | SETS["replace"]
        return changed and self.lower() in ("by", "having") and self.lower(1).endswith(("ing", "ed"))

    def _imperative(self) -> bool:
        """Return whether a verb without a subject stands first: "remove the lane lines"."""
        word = self.words[self.at]
        if self.result.changes and not self.by_us and word.lemma in SETS["see"]:
            return False  # "a car appears and passes a pedestrian": it does
        if self.lower() == "being" and self.lower(1) in ("overtaken", "passed"):
            return True
        if word.lemma not in _IMPERATIVES:
            return False
        if word.tag in ("NN", "NNS") and word.dep in ("nsubj", "nsubjpass", "compound"):
            return False
        following = phrases.after_fillers(self.words, self.at + 1)
        return following < len(self.words) and not self.words[following].tag.startswith("VB")

    def _with_subject(self) -> None:
        some = self.lower(1) in ("of", "half") or phrases.noun_begins(self.words, self.at + 1)
        some &= self.lower() == "one"  # "one of the trees" is nobody
        if (self.lower(self.lower() == "the") in SETS["actors"] and not some) or self._it_sees():
            self.result.bind(self.step(2 if self.lower() == "the" else 1), "someone")
            self.done_by_someone(self.group("what happens is not said"))
            return
        begin = self.at
        ends = begin + 1 == len(self.words) and self.words[begin].lower.endswith("s")
        again = phrases.is_verb(self.words[begin]) and (ends or self.words[begin].tag in ("VBZ", "VBP"))
        things = (
            [dataclasses.replace(self.subject, element="", determiner="it")] if again and self.subject else []
        )
        things = things or self.named("these words are not understood here", *UNDERSTOOD)
        self.subject = things[0] if len(things) == 1 and things[0].element else None
        inner = self.modified(things)
        if len(things) == 1 and self.is_ego(things[0]) and inner is None:
            self.result.bind(things[0].words, "ego-vehicle")
            self.done_by_someone(self.group("what happens is not said"))
            return
        if inner is not None:
            things = [dataclasses.replace(one, determiner="a") if self.is_ego(one) else one for one in things]
        if inner is None and self.lower() in ("that", "which"):
            self.result.bind(self.step(), "if")  # "a light that turns red"
        found = phrases.verb_group(
            self.words, phrases.after_fillers(self.words, self.at, (",",) if inner else ())
        )
        if found is None:
            tail = inner or self.tail()
            if (self.over() or self.lower() in AND) and not self.result.changes:
                self._check_joined(things, tail)
                # Headlines leave the verb out: "pedestrian on roadside".
                for thing in things:
                    self.put("remove" if thing.negated else "add", thing, tail)
                return
            raise self.rest().refuse("what happens is not understood here", UNDERSTOOD)
        group, self.at = found
        self.certain(group)
        group = self.contrasted(group)
        if things[0].words[0].lower in ("someone", "somebody") and not group.passive and self.does(group):
            self.result.bind(things[0].words, "someone")
            self.done_by_someone(group, ego=False)
            return
        for thing in things:
            self.noted(thing, group)
        self.happens(things, group, inner, self.words[begin : self.at])

    def _it_sees(self) -> bool:
        """Return whether "it" is the ego-vehicle, as it sees what comes and nothing was named before."""
        first = self.lower() == "it" and not (self.earlier or self.result.changes)
        return first and phrases.base_of(self.words[self.at : self.at + 2][-1]) in SETS["see"]

    def _check_joined(self, things: Sequence[NounReading], tail: Tail) -> None:
        """Refuse a verb that may be said of both things: "the trees on the left and right are removed"."""
        begin = phrases.after_fillers(self.words, self.at + 1)
        if self.over() or not tail.phrases or begin >= len(self.words) or self.words[begin].lower == "there":
            return
        following = noun_phrase(self.words, begin)
        if following is None:
            return
        at = following[1]
        while (phrase := phrases.prepositional(self.words, at)) is not None:
            at = phrase[1]
        found = phrases.verb_group(self.words, at)
        if found is None:
            return
        gone = found[0].lemma in SETS["remove"] | SETS["replace"] | SETS["vanish"]
        if found[0].lemma in SETS["lasting"] and not found[0].words[0].lower.endswith("s"):
            raise found[0].words.refuse("is this said of both?", ["a car brakes and a truck brakes"])
        both = found[0].words[0].lower in ("are", "were") and following[0].words[-1].tag == "NN"
        if gone and (both or things[0].definite or following[0].element in ("road", "lane", "sidewalk")):
            reason = "what happens here is not said: a thing can be at one place only"
            raise self.words[self.at : following[1]].refuse(reason, ["on both sides"])
