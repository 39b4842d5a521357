"""Which element of the ontology a noun of WordNet means.

An element means what its senses mean and every kind of it: below car.n.01 lie hatchback and taxi. Some senses
of the ontology are wider than the element, which shows in its description: vehicle.n.01 is above boats and
bicycles, person.n.01 above kings and astronauts. Here stands, in WordNet 3.0's own senses, what is admitted
instead. Senses that users add to the ontology reach down to everything below them.

Wu-Palmer similarity above a floor, as in the RMT paper (0.75), lets too much through: a dog is 0.78 like a
person, a boat 0.86 like a vehicle. So a word means an element when both of these hold:

1. One of its senses is a kind of what the element means: it lies at or below an anchor, a sense that the
   ontology gives the element (`WIDE` narrows anchors that are wider than their element).
2. The word means this clearly more often than not: such senses have a share of its uses (see `Sense.share`)
   above `MAJORITY`, or above `MAJORITY_UNTAGGED` where none of its senses was ever counted: WordNet's first
   "server" is a waiter. Senses that come from the same thing, such as the wood of a tree, do not count.

At most one element can have the majority, so none is preferred by a hair. A category ("object") has no kinds
of its own: only a synonym of it means it. The paper's floor is not asked for besides: all words that are
matched with the built-in ontology reach it, and it would only cut off deep trees below the senses of users.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from roadworthy._files import naming
from roadworthy._frozen import FrozenDict
from roadworthy.ontology import Element, Ontology, ontology
from roadworthy.rules.language.lexicon import words_of
from roadworthy.rules.wordnet.lexicon import Lexicon, Sense, letter_of, lexicon, nearest, wup

WIDE = words_of(
    # "pedestrian": people of every trade and character, fascists and gods.
    "person.n.01 adult.n.01 traveler.n.01 worker.n.01 homo.n.02 priest.n.01 engineer.n.01 "
    "scientist.n.01 artist.n.01 actor.n.01 "
    # "vehicle": ships, aeroplanes, bicycles, prams.
    "vehicle.n.01 "
    # "tree": gardens, forests.
    "vegetation.n.01 "
    # "line": contours, the staff lines of music.
    "line.n.02 "
    # "lane": for ships, for bowling.
    "lane.n.02 "
    # "traffic sign": placards, flash cards, addresses.
    "sign.n.02 street_sign.n.01 "
    # "traffic light": a permission, "the go-ahead".
    "traffic_light.n.01 "
    # "pole": masts, ski poles, stilts; bollards, goalposts, stakes.
    "pole.n.01 post.n.04 "
    # "terrain": wheat and bamboo; islands and continents.
    "grass.n.01 ground.n.01"
)
"""Anchors that stand for themselves only, not for what lies below them."""

ALSO: Mapping[str, str] = {
    # People one may meet on foot on a street.
    "pedestrian": (
        # By age, sex and kinship.
        "adult.n.01 male.n.02 female.n.02 juvenile.n.01 baby.n.01 oldster.n.01 elder.n.01 relative.n.01 "
        "parent.n.01 grandparent.n.01 homo.n.02 "
        # By what brings them there.
        "traveler.n.01 runner.n.02 tourist.n.01 visitor.n.01 wanderer.n.01 wayfarer.n.02 trekker.n.01 "
        "transient.n.01 newcomer.n.02 exile.n.01 demonstrator.n.03 migrant.n.01 foreigner.n.01 "
        "stranger.n.01 stranger.n.02 commuter.n.02 hitchhiker.n.01 spectator.n.01 customer.n.01 "
        "vacationer.n.01 retiree.n.01 pensioner.n.01 beggar.n.01 resident.n.01 villager.n.01 "
        "townsman.n.01 neighbor.n.01 friend.n.01 colleague.n.01 schoolmate.n.01 student.n.01 "
        "handicapped_person.n.01 visually_impaired_person.n.01 deaf_person.n.01 cripple.n.01 amputee.n.01 "
        "invalid.n.01 homeless.n.01 drunkard.n.01 fiance.n.01 fiancee.n.01 "
        # By their trade.
        "worker.n.01 employee.n.01 assistant.n.01 servant.n.01 professional.n.01 craftsman.n.03 "
        "builder.n.03 repairman.n.01 electrician.n.01 technician.n.01 painter.n.02 cook.n.01 baker.n.02 "
        "butcher.n.03 cashier.n.02 custodian.n.01 babysitter.n.01 bodyguard.n.01 merchant.n.01 "
        "garmentmaker.n.01 shoemaker.n.01 engineer.n.01 scientist.n.01 artist.n.01 actor.n.01 "
        "messenger.n.01 farmer.n.01 hunter.n.01 fisherman.n.01 soldier.n.01 guard.n.01 lawman.n.01 "
        "fireman.n.04 priest.n.01 nun.n.01 monk.n.01 journalist.n.01 photographer.n.01 musician.n.01 "
        "dancer.n.01"
    ),
    "vehicle": "streetcar.n.01 motor_scooter.n.01 recreational_vehicle.n.01 tractor.n.01",
    "tree": "hedge.n.01",
    # WordNet puts these beside buildings, as establishments and facilities.
    "building": (
        "mercantile_establishment.n.01 grocery_store.n.01 factory.n.01 brewery.n.01 hangar.n.01 "
        "museum.n.01 library.n.03 storehouse.n.01 high-rise.n.01 stadium.n.01 university.n.02 "
        "college.n.03 prison.n.01 jail.n.01 police_station.n.01 fire_station.n.01 railway_station.n.01 "
        "bus_terminal.n.01 hovel.n.01 hut.n.01"
    ),
    "lane": "traffic_lane.n.01",
    "pole": "telephone_pole.n.01 flagpole.n.02",
    "rainy": "thunderstorm.n.01",
    "sunny": "sunlight.n.01",
    "day": "noon.n.01 morning.n.01",
    "night": "midnight.n.01 small_hours.n.01",
}
"""Anchors of an element besides those of the ontology, with a space between."""

NEVER: Mapping[str, str] = {
    "pedestrian": (
        # On or in something that moves.
        "driver.n.02 passenger.n.01 rider.n.01 sailor.n.01 steward.n.03 trainman.n.01 tank_driver.n.01 "
        "dispatch_rider.n.01 "
        # Not there any more, or not in the flesh.
        "ancestor.n.01 descendant.n.01 mannequin.n.01"
    ),
    "vehicle": "bulldozer.n.01 skidder.n.03",
    "building": (
        "dollhouse.n.01 ruin.n.02 kennel.n.01 architecture.n.01 apiary.n.01 beer_garden.n.01 feedlot.n.01 "
        "resort.n.01 rink.n.01 marketplace.n.02"
    ),
    "tree": "bonsai.n.01",
    "road": "line.n.14 trail.n.02 piste.n.02 portage.n.02 detour.n.01 shortcut.n.01",
    "crosswalk": "grade_separation.n.01",
    "cloudy": "contrail.n.01",
    "sunny": "sunburst.n.01",
    # The light is not that of the day any more.
    "day": "evening.n.01",
}
"""What lies below an anchor and is not meant by the element, with all below it; a space between them."""

SIDE_MEANINGS: Mapping[str, str] = {
    # Whoever else it may be, it is someone: "runner" is a messenger and a smuggler too.
    "pedestrian": "person.n.01",
    # The wood of the tree, "made of oak".
    "tree": "wood.n.01",
    # Who meets in the building, "the church has decided".
    "building": "social_group.n.01",
}
"""Senses of a word that are no reason to doubt that it means the element in another sense."""

USUAL: Mapping[str, str | None] = {
    # Behind each what WordNet puts first or weighs too much.
    "adult": "adult.n.01",  # a grown animal
    "avenue": "avenue.n.02",  # a line of thought
    "birch": "birch.n.02",  # a rod
    "builder": "builder.n.03",  # a substance in soap
    "cab": "cab.n.03",  # the driver's compartment
    "camper": "camper.n.02",  # someone in a tent
    "christmas_tree": "christmas_tree.n.03",  # a shrub of Australia
    "cinema": "cinema.n.02",  # the art
    "cirrus": "cirrus.n.02",  # a tendril
    "cleaner": "cleaner.n.03",  # a liquid
    "coach": "coach.n.05",  # a trainer
    "commuter": "commuter.n.02",  # a train
    "cul_de_sac": "cul_de_sac.n.02",  # a passage
    "deluge": "deluge.n.02",  # too much of anything
    "fireman": "fireman.n.04",  # a game
    "flurry": "flurry.n.02",  # a commotion
    "hatchback": "hatchback.n.01",  # the door of the same car
    "hostel": "hostel.n.01",  # the lodging, not the house
    "library": "library.n.05",  # a room
    "lumberjack": "lumberjack.n.01",  # a jacket
    "mall": "mall.n.02",  # a promenade
    "mansion": "mansion.n.02",  # a sign of the zodiac
    "mum": "mum.n.02",  # a chrysanthemum
    "nanny": "nanny.n.01",  # a goat
    "neighbour": "neighbour.n.01",  # a thing nearby
    "nimbus": "nimbus.n.01",  # a halo
    "omnibus": "omnibus.n.02",  # a book
    "one-way_street": "one-way_street.n.02",  # a way of dealing with others
    "painter": "painter.n.02",  # a rope, a puma
    "pharmacy": "pharmacy.n.02",  # the science
    "pickup": "pickup.n.01",  # a warrant, a pick-me-up
    "roadster": "roadster.n.01",  # a carriage
    "shower": "shower.n.03",  # a fixture in a bathroom
    "tramcar": "tramcar.n.02",  # a wagon in a mine
    "turnpike": "turnpike.n.02",  # a gate
    # Not surely anything: someone or something in WordNet, today as well a device, a program or another.
    **dict.fromkeys(
        words_of(
            "alien baster bike blaster broad checker coaster dispatcher electric filer fitter fry grill "
            "hauler loader logger mapper outlet picker pike planter ranker reader rover scorer screener "
            "shaver splitter stacker stamper stiff subscriber super taker tapper tease technical "
            "tracker trolley viewer wrecker"
        )
    ),
}
"""The sense that is usual on a road where WordNet's order says otherwise; None where there is none."""


MAJORITY = 0.6
"""The share of a word's uses that must be exceeded."""
MAJORITY_UNTAGGED = 0.75
"""The same where no sense of the word was counted, so that shares come from WordNet's order alone."""


@dataclass(frozen=True)
class ElementMatch:
    """What a word means in the ontology.

    Attributes:
        element: The name of the element.
        properties: What the word says besides: a hatchback is a vehicle with type car.
        sense: The sense of the word that is meant; None where the ontology itself has the word.
        anchor: The sense of the element that it is a kind of; None likewise.
        similarity: Wu-Palmer similarity of these two.
        share: The part of the word's uses in which it means this.
    """

    element: str
    properties: Mapping[str, str] = field(default_factory=FrozenDict)
    sense: str | None = None
    anchor: str | None = None
    similarity: float = 1.0
    share: float = 1.0


@dataclass(frozen=True)
class _Reach:
    """The synsets that an element reaches down from, and those where this ends."""

    name: str
    alone: frozenset[int]
    down: frozenset[int]
    never: frozenset[int]
    side: frozenset[int]

    def anchor(self, synset: int, words: Lexicon) -> int | None:
        """Return the nearest anchor that a synset is a kind of, if any."""
        above = words.ancestors(synset)
        anchors = [one for one in self.down if one in above]
        if synset in self.alone:
            anchors.append(synset)
        nearest_anchor = min(anchors, key=lambda one: above[one], default=None)
        # An anchor below an exception wins over it: passengers are not met on foot, but commuters are.
        barred = min((above[one] for one in self.never if one in above), default=None)
        if nearest_anchor is None or (barred is not None and barred <= above[nearest_anchor]):
            return None
        return nearest_anchor

    def doubts(self, synset: int, words: Lexicon) -> bool:
        """Return whether a sense that is no kind of the element speaks against the word meaning it."""
        above = words.ancestors(synset)
        return any(one in above for one in self.never) or not any(one in above for one in self.side)


@dataclass(frozen=True)
class _ElementAnchor:
    """Where a sense hangs: the element that reaches it and the anchor above it."""

    reach: _Reach
    anchor: int


class _Matcher:
    """The elements of one ontology with their anchors."""

    def __init__(self, elements: Ontology) -> None:
        self.ontology = elements
        self.words = lexicon("n")
        self.anchors = {
            element.name: tuple(sense for sense in element.senses if letter_of(sense) == "n")
            for element in elements.elements.values()
        }
        self.reaches = [self._reach(element) for element in elements.elements.values()]

    def _synsets(self, senses: Iterable[str]) -> frozenset[int]:
        return frozenset(map(self.words.synset, senses))

    def _reach(self, element: Element) -> _Reach:
        with naming(f"senses of the ontology element {element.name!r}"):
            return self._checked_reach(element)

    def _checked_reach(self, element: Element) -> _Reach:
        senses = {*self.anchors[element.name], *ALSO.get(element.name, "").split()}
        alone = senses if self.ontology.children(element.name) else senses & WIDE
        return _Reach(
            element.name,
            self._synsets(alone),
            self._synsets(senses - alone),
            self._synsets(NEVER.get(element.name, "").split()),
            self._synsets(SIDE_MEANINGS.get(element.name, "").split()),
        )

    @cached_property
    def kinds(self) -> Mapping[str, Mapping[int, Mapping[str, str]]]:
        """The synsets of the ontology's kinds: truck.n.01 has type truck, and so has what lies below it."""
        found: dict[str, dict[int, Mapping[str, str]]] = {}
        for reach in self.reaches:
            of_element = found[reach.name] = {}
            listed = self._synsets(self.anchors[reach.name])
            for word, properties in self.ontology.elements[reach.name].kinds.items():
                owned = {
                    sense.synset: place.anchor
                    for sense in self.words.senses(word)
                    if (place := self._place(sense.synset)) and place.reach is reach
                }
                # A van is what lies below the ontology's own truck.n.01 rather than a caravan.
                first = [synset for synset, anchor in owned.items() if anchor in listed]
                for synset in (first or [*owned])[:1]:
                    of_element.setdefault(synset, properties)
        return found

    def _place(self, synset: int) -> _ElementAnchor | None:
        """Return the nearest anchor of all elements: a cyclist is a person, but first of all a bicyclist."""
        above = self.words.ancestors(synset)
        places = [
            _ElementAnchor(reach, anchor)
            for reach in self.reaches
            if (anchor := reach.anchor(synset, self.words)) is not None
        ]
        return min(places, key=lambda place: above[place.anchor], default=None)

    def match(self, word: str) -> ElementMatch | None:
        if word in self.ontology:
            element, properties = self.ontology.resolve_with_properties(word)
            return ElementMatch(element.name, properties)
        senses = self._senses(word)
        needed = MAJORITY if any(sense.count for sense in senses) else MAJORITY_UNTAGGED
        places = {sense: self._place(sense.synset) for sense in senses if not sense.is_name}
        for reach in {place.reach.name: place.reach for place in places.values() if place}.values():
            meant = {sense: place for sense, place in places.items() if place and place.reach is reach}
            against = [
                sense
                for sense in senses
                if sense not in meant and (places.get(sense) or reach.doubts(sense.synset, self.words))
            ]
            weight = sum(sense.share for sense in meant)
            share = weight / (weight + sum(sense.share for sense in against))
            if share > needed:
                sense, place = next(iter(meant.items()))
                return self._match(sense, place, share)
        return None

    def _senses(self, word: str) -> list[Sense]:
        senses = self.words.senses(word)
        lemma = self.words.lemma(word) or ""
        if lemma in USUAL:
            return [sense for sense in senses if sense.name == USUAL[lemma]]
        # Berlin may be meant by "berlin", which is also a carriage; Pancho Villa is not by "villa".
        return [sense for sense in senses if sense.count or not sense.is_name]

    def _match(self, sense: Sense, place: _ElementAnchor, share: float) -> ElementMatch:
        anchor = self.words.name(place.anchor)
        above = self.words.ancestors(sense.synset)
        kinds = self.kinds[place.reach.name]
        kind = min((one for one in kinds if one in above), key=lambda one: above[one], default=None)
        properties = FrozenDict(kinds[kind]) if kind is not None else FrozenDict()
        return ElementMatch(place.reach.name, properties, sense.name, anchor, wup(sense.name, anchor), share)


@lru_cache(maxsize=4)
def _matcher(elements: Ontology) -> _Matcher:
    return _Matcher(elements)


@lru_cache(maxsize=4096)
def _matched(elements: Ontology, word: str) -> ElementMatch | None:
    return _matcher(elements).match(word)


def match_element(word: str) -> ElementMatch | None:
    """Return the element of the ontology in use that a noun means, or None where that is not sure.

    Args:
        word: One noun, or several words that are one ("fire engine"), singular or plural.

    Example:
        >>> match_element("hatchback").element, dict(match_element("hatchback").properties)
        ('vehicle', {'type': 'car'})
        >>> match_element("jogger").element, match_element("dog"), match_element("bank")
        ('pedestrian', None, None)
    """
    return _matched(ontology(), word)


def nearest_elements(word: str, n: int = 3) -> list[tuple[str, float]]:
    """Return the elements that are most like a noun with their similarity, the nearest first.

    They are good for a hint, not for a decision: something is always nearest. Categories are left out.

    Example:
        >>> [(name, round(similarity, 2)) for name, similarity in nearest_elements("dog", 2)]
        [('pedestrian', 0.78), ('tree', 0.67)]
    """
    matcher = _matcher(ontology())
    leaves = {name: senses for name, senses in matcher.anchors.items() if not matcher.ontology.children(name)}
    return nearest(word, leaves)[:n]
