"""How far the senses of an ontology element reach down WordNet's tree.

An element means what its senses mean and every kind of it: below car.n.01 lie hatchback and taxi. Some senses
of the ontology are wider than the element, which shows in its description: vehicle.n.01 is above boats and
bicycles, person.n.01 above kings and astronauts. Here stands, in WordNet 3.0's own senses, what is admitted
instead. Senses that users add to the ontology reach down to everything below them.
"""

from __future__ import annotations

from collections.abc import Mapping

WIDE = frozenset(
    {
        # "pedestrian": people of every trade and character, fascists and gods.
        "person.n.01",
        "adult.n.01",
        "traveler.n.01",
        "worker.n.01",
        "homo.n.02",
        "priest.n.01",
        "engineer.n.01",
        "scientist.n.01",
        "artist.n.01",
        "actor.n.01",
        # "vehicle": ships, aeroplanes, bicycles, prams.
        "vehicle.n.01",
        # "tree": gardens, forests.
        "vegetation.n.01",
        # "line": contours, the staff lines of music.
        "line.n.02",
        # "lane": for ships, for bowling.
        "lane.n.02",
        # "traffic sign": placards, flash cards, addresses.
        "sign.n.02",
        "street_sign.n.01",
        # "traffic light": a permission, "the go-ahead".
        "traffic_light.n.01",
        # "pole": masts, ski poles, stilts; bollards, goalposts, stakes.
        "pole.n.01",
        "post.n.04",
        # "terrain": wheat and bamboo; islands and continents.
        "grass.n.01",
        "ground.n.01",
    }
)
"""Anchors that stand for themselves only, not for what lies below them."""

ALSO: Mapping[str, tuple[str, ...]] = {
    # People one may meet on foot on a street.
    "pedestrian": (
        # By age, sex and kinship.
        "adult.n.01",
        "male.n.02",
        "female.n.02",
        "juvenile.n.01",
        "baby.n.01",
        "oldster.n.01",
        "elder.n.01",
        "relative.n.01",
        "parent.n.01",
        "grandparent.n.01",
        "homo.n.02",
        # By what brings them there.
        "traveler.n.01",
        "runner.n.02",
        "tourist.n.01",
        "visitor.n.01",
        "wanderer.n.01",
        "wayfarer.n.02",
        "trekker.n.01",
        "transient.n.01",
        "newcomer.n.02",
        "exile.n.01",
        "demonstrator.n.03",
        "migrant.n.01",
        "foreigner.n.01",
        "stranger.n.01",
        "stranger.n.02",
        "commuter.n.02",
        "hitchhiker.n.01",
        "spectator.n.01",
        "customer.n.01",
        "vacationer.n.01",
        "retiree.n.01",
        "pensioner.n.01",
        "beggar.n.01",
        "resident.n.01",
        "villager.n.01",
        "townsman.n.01",
        "neighbor.n.01",
        "friend.n.01",
        "colleague.n.01",
        "schoolmate.n.01",
        "student.n.01",
        "handicapped_person.n.01",
        "visually_impaired_person.n.01",
        "deaf_person.n.01",
        "cripple.n.01",
        "amputee.n.01",
        "invalid.n.01",
        "homeless.n.01",
        "drunkard.n.01",
        "fiance.n.01",
        "fiancee.n.01",
        # By their trade.
        "worker.n.01",
        "employee.n.01",
        "assistant.n.01",
        "servant.n.01",
        "professional.n.01",
        "craftsman.n.03",
        "builder.n.03",
        "repairman.n.01",
        "electrician.n.01",
        "technician.n.01",
        "painter.n.02",
        "cook.n.01",
        "baker.n.02",
        "butcher.n.03",
        "cashier.n.02",
        "custodian.n.01",
        "babysitter.n.01",
        "bodyguard.n.01",
        "merchant.n.01",
        "garmentmaker.n.01",
        "shoemaker.n.01",
        "engineer.n.01",
        "scientist.n.01",
        "artist.n.01",
        "actor.n.01",
        "messenger.n.01",
        "farmer.n.01",
        "hunter.n.01",
        "fisherman.n.01",
        "soldier.n.01",
        "guard.n.01",
        "lawman.n.01",
        "fireman.n.04",
        "priest.n.01",
        "nun.n.01",
        "monk.n.01",
        "journalist.n.01",
        "photographer.n.01",
        "musician.n.01",
        "dancer.n.01",
    ),
    "vehicle": ("streetcar.n.01", "motor_scooter.n.01", "recreational_vehicle.n.01", "tractor.n.01"),
    "tree": ("hedge.n.01",),
    # WordNet puts these beside buildings, as establishments and facilities.
    "building": (
        "mercantile_establishment.n.01",
        "grocery_store.n.01",
        "factory.n.01",
        "brewery.n.01",
        "hangar.n.01",
        "museum.n.01",
        "library.n.03",
        "storehouse.n.01",
        "high-rise.n.01",
        "stadium.n.01",
        "university.n.02",
        "college.n.03",
        "prison.n.01",
        "jail.n.01",
        "police_station.n.01",
        "fire_station.n.01",
        "railway_station.n.01",
        "bus_terminal.n.01",
        "hovel.n.01",
        "hut.n.01",
    ),
    "lane": ("traffic_lane.n.01",),
    "pole": ("telephone_pole.n.01", "flagpole.n.02"),
    "rainy": ("thunderstorm.n.01",),
    "sunny": ("sunlight.n.01",),
    "day": ("noon.n.01", "morning.n.01"),
    "night": ("midnight.n.01", "small_hours.n.01"),
}
"""Anchors of an element besides those of the ontology."""

NEVER: Mapping[str, tuple[str, ...]] = {
    "pedestrian": (
        # On or in something that moves.
        "driver.n.02",
        "passenger.n.01",
        "rider.n.01",
        "sailor.n.01",
        "steward.n.03",
        "trainman.n.01",
        "tank_driver.n.01",
        "dispatch_rider.n.01",
        # Not there any more, or not in the flesh.
        "ancestor.n.01",
        "descendant.n.01",
        "mannequin.n.01",
    ),
    "vehicle": ("bulldozer.n.01", "skidder.n.03"),
    "building": (
        "dollhouse.n.01",
        "ruin.n.02",
        "kennel.n.01",
        "architecture.n.01",
        "apiary.n.01",
        "beer_garden.n.01",
        "feedlot.n.01",
        "resort.n.01",
        "rink.n.01",
        "marketplace.n.02",
    ),
    "tree": ("bonsai.n.01",),
    "road": ("line.n.14", "trail.n.02", "piste.n.02", "portage.n.02", "detour.n.01", "shortcut.n.01"),
    "crosswalk": ("grade_separation.n.01",),
    "cloudy": ("contrail.n.01",),
    "sunny": ("sunburst.n.01",),
    # The light is not that of the day any more.
    "day": ("evening.n.01",),
}
"""What lies below an anchor and is not meant by the element, with all below it."""

SIDE_MEANINGS: Mapping[str, tuple[str, ...]] = {
    # Whoever else it may be, it is someone: "runner" is a messenger and a smuggler too.
    "pedestrian": ("person.n.01",),
    # The wood of the tree, "made of oak".
    "tree": ("wood.n.01",),
    # Who meets in the building, "the church has decided".
    "building": ("social_group.n.01",),
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
    "alien": None,
    "baster": None,
    "bike": None,
    "blaster": None,
    "broad": None,
    "checker": None,
    "coaster": None,
    "dispatcher": None,
    "electric": None,
    "filer": None,
    "fitter": None,
    "fry": None,
    "grill": None,
    "hauler": None,
    "loader": None,
    "logger": None,
    "mapper": None,
    "outlet": None,
    "picker": None,
    "pike": None,
    "planter": None,
    "ranker": None,
    "reader": None,
    "rover": None,
    "scorer": None,
    "screener": None,
    "shaver": None,
    "splitter": None,
    "stacker": None,
    "stamper": None,
    "stiff": None,
    "subscriber": None,
    "super": None,
    "taker": None,
    "tapper": None,
    "tease": None,
    "technical": None,
    "tracker": None,
    "trolley": None,
    "viewer": None,
    "wrecker": None,
}
"""The sense that is usual on a road where WordNet's order says otherwise; None where there is none."""
