import pytest

from roadworthy.world import TRACK_NAMES, Picture, Scene, make_scene, render

PLACES = [(name, float(s)) for name in TRACK_NAMES for s in (0, 170, 415, 664, 913)]


@pytest.fixture(scope="session", params=PLACES, ids=lambda place: f"{place[0]}-{place[1]:.0f}")
def scene(request: pytest.FixtureRequest) -> Scene:
    """A busy scene, at several places of every track."""
    name, s = request.param
    return make_scene(name, s, seed=int(s) + 1, traffic=2.5)


@pytest.fixture(scope="session")
def picture(scene: Scene) -> Picture:
    return render(scene)
