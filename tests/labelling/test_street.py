"""What is made of the street network's scores, rule by rule, and what is decided by numbers alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.kept import as_kept, defaults_of

from roadworthy.class_lists import class_list
from roadworthy.frames import Frame, LabelMap
from roadworthy.labelling import cache, chain, fit, street
from roadworthy.labelling.chain import Labelling, Opinion, Street, estimated_by, is_estimated
from roadworthy.labelling.dataset import as_needed, labelled
from roadworthy.labelling.fit import Misfit, misfit_of
from roadworthy.labelling.geometry import _grow, _leaps, instances_of, metric_depth
from roadworthy.labelling.street import StreetNetwork, fitted
from roadworthy.ontology import ontology

WORDS = [str(word) for word in class_list("street").words.values()]
ROAD, SIDEWALK, TREE, BUILDING, SKY, VEHICLE, TERRAIN = (
    ontology().label_id(word)
    for word in ("road", "sidewalk", "tree", "building", "sky", "vehicle", "terrain")
)


def scores_of(rows: list[dict[str, float]], width: int = 40) -> NDArray[np.float32]:
    """Scores that are alike in each row; -9 where nothing is said."""
    scores = np.full((len(WORDS), len(rows), width), -9, np.float32)
    for number, row in enumerate(rows):
        for word, score in row.items():
            scores[WORDS.index(word), number] = score
    return scores


class Session:
    """A network whose scores and depth are known."""

    def __init__(self, scores: NDArray[np.float32]) -> None:
        self.scores = scores
        self.asked: list[tuple[int, ...]] = []

    def run(self, names: list[str], feeds: dict[str, NDArray[np.float32]]) -> list[NDArray[np.float32]]:
        (image,) = feeds.values()
        self.asked.append(image.shape)
        near = image.mean((1, 2, 3), keepdims=True) + np.zeros((1, 1, 4, 6), np.float32)
        said = {"scores": np.repeat(self.scores[None], len(image), axis=0), "depth": near.astype(np.float32)}
        return [said[name] for name in names]


def network(scores: NDArray[np.float32]) -> tuple[StreetNetwork, Session]:
    made, session = StreetNetwork(), Session(scores)
    vars(made)["_session"] = session
    return made, session


class TestScores:
    def test_the_largest_score_wins_and_where_nobody_should_stand_is_void(self) -> None:
        rows = [
            {"road": 5.0},
            {"sky": 5.0},
            {"building": 3.0, "tree": 3.0},
            {"sidewalk": 1.2, "building": 1.0},
        ]
        rows += [{"sidewalk": 1.3, "building": 1.0}, {"terrain": 5.0, "road": 2.39}]
        rows += [{"terrain": 5.0, "road": 2.41}, {"terrain": 5.0, "line": 2.41}]
        rows += [{"building": 5.0, "road": 4.9}, {"sidewalk": 5.0, "road": 2.13}]
        rows += [{"sidewalk": 5.0, "road": 2.15}, {"line": 5.0, "road": 4.0}]
        scores = scores_of(rows)
        labels = street._labels(scores, np.zeros((*scores.shape[1:], 3), np.uint8))
        words = [labels.classes[one] for one in labels.ids[:, 3].tolist()]
        assert words == [
            "road", "sky", "building", "building",  # of two equal scores the first; a sidewalk's is weighed
            "sidewalk", "terrain", "void", "void", "building", "sidewalk", "void", "line",
        ]  # fmt: skip
        assert (labels.ids == labels.ids[:, :1]).all()

    def test_images_are_looked_at_by_size_and_answers_keep_their_order(self) -> None:
        net, session = network(scores_of([{"road": 1.0}] * 4, 6))
        images = [
            np.full((*size, 3), level, np.uint8)
            for size, level in (((8, 12), 10), ((6, 9), 20), ((8, 12), 30))
        ]
        found = net.look(images)
        assert [one[0] for one in session.asked] == [2, 1]
        assert [one.shape for _, one in found] == [(8, 12), (6, 9), (8, 12)]
        assert [float(one[0, 0]) for _, one in found] == [10, 20, 30]
        assert [one.present() for one, _ in found] == [{"road": 96}, {"road": 54}, {"road": 96}]

    def test_likelihoods_add_up_and_leave_out_what_training_added(self) -> None:
        net, session = network(scores_of([{"sidewalk": 0.26, "road": 0.0}, {"sky": 900.0}], 3))
        seen = net.likelihoods(np.zeros((20, 30, 3), np.uint8))
        assert list(seen) == WORDS
        assert [seen[word][0].tolist() for word in ("sidewalk", "road")] == [
            [pytest.approx(0.4997, abs=1e-4)] * 3
        ] * 2
        assert seen["sky"][1] == pytest.approx(1)
        assert sum(seen.values()) == pytest.approx(np.ones((2, 3)))
        assert session.asked[0][:2] == (1, 3)

    def test_what_changes_an_answer_changes_who_it_is_from(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = StreetNetwork().identity
        assert Street("street", "told", True).identity == f"street {before}"
        for name in [
            "_PIXELS",
            "_SIDE",
            "_ISLAND",
            "_UNSURE",
            "_HORIZON",
            "_MARGIN",
            "_WEIGHED",
            "_THIN",
            "_BRIGHT",
        ]:
            with monkeypatch.context() as changed:
                changed.setattr(street, name, "other")
                assert StreetNetwork().identity != before, name


class TestFitting:
    @pytest.mark.parametrize(
        ("size", "shape"),
        [((352, 480), (352, 480)), ((704, 960), (352, 480)), ((16, 16), (416, 416)), ((9, 9000), (32, 12992)),
         ((375, 1242), (224, 736)), ((1208, 1920), (320, 512))],
    )  # fmt: skip
    def test_sides_are_multiples_and_pixels_about_as_many(
        self, size: tuple[int, int], shape: tuple[int, int]
    ) -> None:
        assert fitted(np.zeros((*size, 3), np.uint8)).shape == (3, *shape)

    def test_what_shrinks_is_averaged_and_what_grows_is_smooth(self) -> None:
        stripes = np.zeros((1408, 1920, 3), np.uint8)
        stripes[:, ::4] = (200, 100, 40)
        found = fitted(stripes)
        assert found.dtype == np.float32
        assert [np.unique(one).tolist() for one in found] == [[50], [25], [10]]
        same = np.random.default_rng(1).integers(0, 256, (352, 480, 3), np.uint8)
        assert (fitted(same) == same.transpose(2, 0, 1)).all()
        edge = np.zeros((88, 120, 3), np.uint8)
        edge[:, 60:] = 200
        assert 3 <= len(np.unique(fitted(edge)[0, 0])) <= 8


class TestRules:
    @pytest.mark.parametrize(
        ("width", "road_from", "pixels", "end"),
        [
            (80, 30, 3, 28),
            (80, 30, 2, 48),
            (400, 30, 5, 28),
            (400, 30, 4, 48),
            (80, 80, 80, 48),
            (80, 0, 80, 0),
        ],
    )
    def test_no_ground_lies_above_the_end_of_the_road(
        self, width: int, road_from: int, pixels: int, end: int
    ) -> None:
        ids = np.full((100, width), TERRAIN, np.uint8)
        ids[:, 10:20] = SIDEWALK
        ids[:, 20:22] = BUILDING
        ids[road_from:, 30 : 30 + pixels] = ROAD
        before = ids.copy()
        street._ground(ids)
        assert (ids[end:] == before[end:]).all()
        assert (ids[:end, :10] == TREE).all()
        assert (ids[:end, 10:20] == 0).all()
        assert (ids[:end, 20:22] == BUILDING).all()

    def test_small_islands_of_what_is_large_become_what_is_next_to_them(self) -> None:
        ids = np.full((100, 120), ROAD, np.uint8)  # 7.2 pixels are an island
        ids[:, 60:] = BUILDING
        ids[10, 10:17], ids[20, 10:18] = SKY, SKY
        ids[30, 10:12] = VEHICLE
        ids[40, 61:65] = TREE
        ids[50:54, 20:22], ids[54, 22] = TERRAIN, TERRAIN  # eight, and one that only touches a corner
        before = ids.copy()
        street._clean(ids)
        changed = np.argwhere(ids != before).tolist()
        gone = [[10, column] for column in range(10, 17)] + [[40, column] for column in range(61, 65)]
        assert changed == [*gone, [54, 22]]
        assert (ids[10, 10:17] == ROAD).all()
        assert set(ids[40, 61:65].tolist()) <= {ROAD, BUILDING}
        assert ids[40, 64] == BUILDING
        many = np.array([[ROAD, SKY], [SKY, ROAD]], np.uint8)
        whole = np.tile(many, (50, 60))
        street._clean(whole)
        assert (whole == np.tile(many, (50, 60))).all(), "where all is noise nothing is next to it"

    @pytest.mark.parametrize(("sky", "level", "seen"), [(7, 181, False), (8, 181, True), (8, 180, False)])
    def test_the_sky_is_seen_through_thin_crowns(self, sky: int, level: int, seen: bool) -> None:
        ids = np.full((100, 120), TREE, np.uint8)
        ids[0, :sky] = SKY
        ids[99] = BUILDING
        image = np.full((100, 120, 3), 20, np.uint8)
        image[0, :sky] = (200, 220, 250)
        image[50:] = (255, level, 255)
        thin = np.zeros(ids.shape, np.bool_)
        thin[:, :60] = True
        street._look_through(ids, thin, image)
        assert (ids[50:99, :60] == (SKY if seen else TREE)).all()
        assert (ids[50:99, 60:] == TREE).all()
        assert (ids[1:50] == TREE).all()
        assert (ids[99] == BUILDING).all()


class TestThings:
    def test_what_lies_between_goes_to_the_nearest_but_not_far(self) -> None:
        found = np.zeros((3, 12), np.uint16)
        found[:, :2] = 5
        mask = np.ones((3, 12), np.bool_)
        mask[2] = False
        _grow(found, mask)
        assert found[:2].tolist() == [[5] * 5 + [0] * 7] * 2
        assert found[2].tolist() == [5, 5] + [0] * 10

    @pytest.mark.parametrize(
        ("near", "far", "leap"), [(0.5, 0.4, False), (0.501, 0.4, True), (1e-4, 0, False), (2e-3, -1, True)]
    )
    def test_distances_leap_by_a_quarter(self, near: float, far: float, leap: bool) -> None:
        inverse = np.full((5, 8), far, np.float32)
        inverse[:, 4:] = near
        assert _leaps(inverse).any(axis=0).tolist() == [False] * 3 + [leap] * 2 + [False] * 3

    def test_things_given_with_an_estimate_are_kept(self) -> None:
        cars = LabelMap(np.full((10, 20), VEHICLE, np.uint8))
        things = np.full((10, 20), 8, np.uint16)
        (frame,) = Labelling(labels=(Says("net", "net", True, Opinion(cars, things)),)).applied([plain()])
        assert np.array_equal(frame.instances, things)  # type: ignore[arg-type]
        assert int(instances_of(cars).max()) == 1

    def test_with_little_sky_the_farthest_is_far(self) -> None:
        rows = np.repeat(np.arange(100, dtype=np.float32)[:, None], 60, axis=1)
        inverse = (np.maximum(rows + 0.5 - 40, 0) * 0.01).astype(np.float32)
        inverse[0] = 0.3  # what is taken for sky there is a lamp
        for pixels, shift in ((60, 0.0), (0, 0.0)):
            ids = np.where(rows < 40, BUILDING, ROAD).astype(np.uint8)
            ids[0, :pixels] = SKY
            depth = metric_depth(inverse, LabelMap(ids), focal=80.0, camera_height=1.5)
            assert depth is not None
            assert depth[79, 5] == pytest.approx(120 / (39.5 - shift), rel=1e-3)
            assert depth[20, 5] == 400
            assert np.isinf(depth[0, :pixels]).all()
        ids[0], ids[1, 0] = SKY, SKY  # more than a hundredth: the sky says what is infinitely far
        assert metric_depth(inverse, LabelMap(ids)) is None


class Says(chain.LabelSource):
    """Says the same of all frames."""

    def __init__(self, name: str, told: str, estimates: bool, opinion: Opinion) -> None:
        super().__init__(name, told, estimates)
        vars(self).update(opinion=opinion, asked=[])

    @property
    def identity(self) -> str:
        return self.name

    def opinions(self, frames: Any) -> list[Opinion]:
        vars(self)["asked"].append(len(frames))
        return [vars(self)["opinion"]] * len(frames)


def plain(id: str = "a", **known: Any) -> Frame:
    return Frame(id, np.zeros((10, 20, 3), np.uint8), **known)


class TestChains:
    def test_relative_depth_takes_its_road_from_whoever_knows_one(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rows = np.repeat(np.arange(100, dtype=np.float32)[:, None], 60, axis=1)
        inverse = (np.maximum(rows + 0.5 - 40, 0) * 0.01).astype(np.float32)
        labels = LabelMap(np.where(rows < 40, SKY, ROAD).astype(np.uint8))
        nothing = LabelMap(np.full((100, 60), SKY, np.uint8))
        bare = Frame("a", np.zeros((100, 60, 3), np.uint8))
        shipped = Says("street", "street", True, Opinion(labels))
        monkeypatch.setattr(chain, "STREET_SOURCE", shipped)
        for said, asked, known in ((None, [1], True), (labels, [], True), (nothing, [], False)):
            vars(shipped)["asked"].clear()
            source = Says("net", "net", True, Opinion(said, inverse=inverse))
            (frame,) = Labelling(depth=(source,)).applied([bare])
            assert (frame.depth is not None, vars(shipped)["asked"]) == (known, asked)
            assert frame.metadata == ({"depth_from": "net (estimated)"} if known else {})

    def test_a_change_without_what_it_wanted_says_so_after_what_is_estimated(self) -> None:
        known = {"realism": "drawn without depth", "depth_from": "net (estimated)", "boxes_from": ""}
        assert estimated_by(known) == "depth is estimated (net); drawn without depth"
        assert is_estimated(plain(metadata=known), "depth")
        assert not is_estimated(plain(metadata=known))

    def test_a_data_set_is_labelled_eight_frames_at_a_time(self) -> None:
        class Nine(list[Frame]):
            name = "nine"

        source = Says("net", "net", True, Opinion(LabelMap(np.full((10, 20), ROAD, np.uint8))))
        data: Any = labelled(Nine(plain(str(number)) for number in range(9)), labels="none")
        data.labelling = Labelling(labels=(source,))
        assert [one.id for one in data] == [str(number) for number in range(9)]
        assert vars(source)["asked"] == [8, 1]
        assert data.on_error == "raise"
        assert data.clusters == tuple(str(number) for number in range(9))
        assert data[4].label_map.present() == {"road": 200}

    def test_what_somebody_named_is_not_estimated_as_needed(self) -> None:
        frame = plain()
        assert as_needed(frame, ("labels", "depth"), frozenset({"labels", "depth"})) is frame
        labels = as_needed(frame, ("labels", "depth"), frozenset({"depth"}))
        assert (labels.labels is not None, labels.depth) == (True, None)


class TestMisfits:
    @pytest.mark.parametrize(
        ("here", "best", "agreement", "told"),
        [
            (0.4, 0.4, 0.0, None),
            (0.39, 0.39, 0.7, None),
            (0.39, 0.39, 0.69, "other"),
            (0.5, 0.588, 0.0, None),
            (0.5, 0.59, 0.9, "shifted"),
            (0.54, 0.64, 0.9, "shifted"),
            (0.55, 0.78, 0.0, None),
            (0.55, 0.79, 0.9, "shifted"),
            (-0.5, 0.0, 0.9, None),
            (-0.5, 0.0, 0.1, "other"),
            (-2.0, -0.1, 0.1, "other"),
        ],
    )
    def test_what_borders_lie_on_decides(
        self, here: float, best: float, agreement: float, told: str | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(fit, "_peak", lambda frame: (here, best, (3, -4)))
        monkeypatch.setattr(fit, "_agreement", lambda frame, labels: agreement)
        frame = plain(labels=LabelMap(np.zeros((10, 20), np.uint8)))
        expected = None if told is None else Misfit("a", (3, -4) if told == "shifted" else None, agreement)
        assert misfit_of(frame) == expected

    def test_borders_lie_at_the_right_and_below_of_two_classes(self) -> None:
        ids = np.array([[1, 1, 2], [1, 1, 2], [3, 3, 3]])
        assert fit._borders(ids).tolist() == [[0, 0, 1], [0, 0, 1], [1, 1, 1]]

    def test_classes_that_look_alike_agree(self, monkeypatch: pytest.MonkeyPatch) -> None:
        names = ("void", "road", "line", "sidewalk", "terrain", "pole", "sky")
        mine = LabelMap(np.array([[1, 3, 6, 0, 6, 5]], np.uint8), names)
        seen = LabelMap(np.array([[2, 4, 1, 1, 0, 5]], np.uint8), names)
        monkeypatch.setattr(fit, "STREET_SOURCE", Says("street", "street", True, Opinion(seen)))
        assert fit._agreement(plain(), mine) == pytest.approx(2 / 3)
        nothing = LabelMap(np.zeros((1, 6), np.uint8), names)
        assert fit._agreement(plain(), nothing) == 1


class TestCache:
    def test_an_answer_is_known_by_who_was_asked_and_the_whole_image(self) -> None:
        image = np.arange(36, dtype=np.uint8).reshape(3, 4, 3)
        others = (image.reshape(4, 3, 3), image[::-1], image + 1)
        keys = {cache._key("a", image), cache._key("b", image), *(cache._key("a", one) for one in others)}
        assert len(keys) == 5
        assert cache._key("a", np.asfortranarray(image)) in keys

    @pytest.mark.parametrize(("most", "left"), [(300, "abc"), (299, "bc"), (200, "bc"), (199, "c"), (0, "")])
    def test_the_oldest_go_until_the_rest_fits(
        self, most: int, left: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for age, name in enumerate("abc"):
            file = tmp_path / "xx" / f"{name}.npz"
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(bytes(100))
            os.utime(file, (1000 + age, 1000 + age))
        monkeypatch.setattr(cache, "_MOST", most)
        cache._trim(tmp_path)
        assert sorted(one.stem for one in tmp_path.rglob("*.npz")) == list(left)

    def test_how_much_there_is_is_looked_at_now_and_then(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looked: list[Path] = []
        monkeypatch.setattr(cache, "_trim", looked.append)
        monkeypatch.setattr(cache, "_CHECKED", 2)
        monkeypatch.setattr(cache, "_written", 0)
        for number in range(5):
            cache._write(tmp_path / "ab" / f"{number}.npz", {"x": np.arange(number)}, tmp_path)
        assert looked == [tmp_path] * 3
        assert [one.name for one in sorted((tmp_path / "ab").iterdir())] == [f"{n}.npz" for n in range(5)]
        found = cache._read(tmp_path / "ab" / "3.npz")
        assert found is not None
        assert found["x"].tolist() == [0, 1, 2]
        before = (tmp_path / "ab" / "3.npz").stat().st_mtime
        os.utime(tmp_path / "ab" / "3.npz", (5, 5))
        cache._read(tmp_path / "ab" / "3.npz")
        assert (tmp_path / "ab" / "3.npz").stat().st_mtime >= before, "what is used counts as new"

    def test_only_what_is_new_is_asked(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(cache.FOLDER, str(tmp_path))
        asked: list[list[str]] = []

        def ask(frames: Any) -> list[Any]:
            asked.append([one.id for one in frames])
            return [{"level": one.image.max()} for one in frames]

        frames = [Frame(str(level), np.full((4, 5, 3), level, np.uint8)) for level in (3, 1, 2)]
        assert [int(one["level"]) for one in cache.cached("me", frames[1:2], ask)] == [1]
        assert [int(one["level"]) for one in cache.cached("me", frames, ask)] == [3, 1, 2]
        assert [int(one["level"]) for one in cache.cached("me", frames, ask)] == [3, 1, 2]
        assert asked == [["1"], ["3", "2"]]
        files = sorted(one.relative_to(tmp_path).as_posix() for one in tmp_path.rglob("*.npz"))
        keys = sorted(cache._key("me", one.image) for one in frames)
        assert files == [f"labels/{key[:2]}/{key[2:]}.npz" for key in keys]


def test_what_is_done_when_nothing_is_said_stays() -> None:
    as_kept(Path(__file__).with_name("defaults.txt"), defaults_of("labelling"))
