from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.frames import Boxes, Frame, Signals
from roadworthy.models import Recorded, load_model

KITTI = "Car -1 -1 -10 1.00 2.00 3.00 4.00 -1 -1 -1 -1000 -1000 -1000 -10 0.5\n"


def frame(id: str, **known: Any) -> Frame:
    return Frame(id, np.zeros((4, 6, 3), np.uint8), **known)


def write(path: Path, text: str) -> str:
    path.write_text(text, "utf-8")
    return f"recorded:{path}"


class TestCsv:
    def test_columns_are_named_after_signals(self, tmp_path: Path) -> None:
        model = load_model(
            write(tmp_path / "p.csv", "id, speed, note, steering\na, 8, x, -2\n\nb, 9, y, 3\n")
        )
        assert model.predict([frame("b"), frame("a")]) == [
            Signals(speed=9, steering=3),
            Signals(speed=8, steering=-2),
        ]
        assert pickle.loads(pickle.dumps(model)).predict([frame("a")]) == model.predict([frame("a")])

    def test_columns_units_and_ids_can_be_said(self, tmp_path: Path) -> None:
        reference = write(tmp_path / "p.csv", "shot,komanda\n17,0.1\n")
        model = load_model(
            reference,
            id_column="shot",
            output={
                "signals": ["steering"],
                "outputs": ["komanda"],
                "units": {"steering": "rad", "steering_positive": "left"},
            },
        )
        (answer,) = model.predict([frame("17")])
        assert isinstance(answer, Signals)
        assert answer.steering == pytest.approx(-np.degrees(0.1))

    @pytest.mark.parametrize(
        ("text", "options", "message"),
        [
            ("", {}, "p.csv is empty"),
            ("id,speed\n", {}, "p.csv has no rows: expected a row with an id and signals for each frame"),
            ("a,speed\n1,2\n", {}, "expected a column 'id' or 'frame_id' .* with frame ids, got a, speed"),
            ("a,speed\n1,2\n", {"id_column": "b"}, "expected a column 'b' with frame ids, got a, speed"),
            ("id,komanda\na,1\n", {}, "expected the columns steering, missing steering; got id, komanda"),
            ("id,speed\na,1\na,2\n", {}, "p.csv: line 3: frame 'a' is recorded twice"),
            ("id,speed\na,fast\n", {}, "p.csv: line 2: speed must be a finite number, got 'fast'"),
            ("id,speed\na,nan\n", {}, "p.csv: line 2: speed must be a finite number, got 'nan'"),
            ("id,speed\na,1,2\n", {}, "p.csv: line 2: expected 2 columns, got 3"),
            ("id,speed\na,1\n", {"output": {"task": "detection", "classes": ["car"]}}, "task: regression"),
            (
                "id,speed\na,1\n",
                {"output.signals": "speed", "output.outputs": "a,b"},
                "name a column for each of",
            ),
        ],
    )
    def test_a_file_that_cannot_be_used_is_named(
        self, tmp_path: Path, text: str, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(InputError, match=message):
            load_model(write(tmp_path / "p.csv", text), **options)

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"cannot read .*no\.csv: No such file"):
            load_model(f"recorded:{tmp_path}/no.csv")
        with pytest.raises(InputError, match="no such file or folder"):
            load_model(f"recorded:{tmp_path}/results")
        with pytest.raises(
            InputError, match=r"must be a \.csv file, a \.json file of COCO results or a folder"
        ):
            load_model(write(tmp_path / "p.txt", "x"))


def test_frames_without_a_record_and_changed_frames_are_refused(tmp_path: Path) -> None:
    model = load_model(write(tmp_path / "p.csv", "id,speed\na,8\nb,9\nc,7\n"))
    message = r"nothing is recorded for frame 'd' in .*p\.csv, which has 3 records, such as 'a', 'b'"
    with pytest.raises(SystemUnderTestError, match=message):
        model.predict([frame("a"), frame("d")])
    with pytest.raises(
        SystemUnderTestError, match=r"frame 'a' was changed \(Δv 0\.200\).*use the model itself"
    ):
        model.predict([frame("a", visual_change=0.2)])
    assert model.predict([frame("a", visual_change=0.0)]) == [Signals(speed=8)]


def test_records_for_images_that_do_not_exist_are_told(tmp_path: Path) -> None:
    model = load_model(write(tmp_path / "p.csv", "id,speed\na,8\nb,9\nc,7\n"))
    assert isinstance(model, Recorded)
    assert model.unmatched(["a", "x"]) == ["b", "c"]


class TestKitti:
    def test_a_file_without_lines_is_an_answer_without_boxes(self, tmp_path: Path) -> None:
        write(tmp_path / "000001.txt", KITTI)
        write(tmp_path / "000002.txt", "")
        model = load_model(f"recorded:{tmp_path}")
        found, none = model.predict([frame("000001"), frame("000002")])
        assert found == Boxes([[1, 2, 3, 4]], ["car"], scores=[0.5])
        assert none == Boxes.empty()
        assert pickle.loads(pickle.dumps(model)).predict([frame("000001")]) == [found]

    def test_a_broken_file_is_named_when_it_is_asked_for(self, tmp_path: Path) -> None:
        write(tmp_path / "000001.txt", "Car 1 2\n")
        write(tmp_path / "000002.txt", KITTI.replace("1.00", "nan"))
        model = load_model(f"recorded:{tmp_path}")
        with pytest.raises(
            SystemUnderTestError, match=r"frame '000001' .*000001\.txt: line 1: expected 15 columns"
        ):
            model.predict([frame("000001")])
        with pytest.raises(
            SystemUnderTestError, match=r"000002\.txt: line 1: column 5 must be a number, got 'nan'"
        ):
            model.predict([frame("000002")])

    def test_class_names_can_be_said(self, tmp_path: Path) -> None:
        write(tmp_path / "1.txt", KITTI.replace("Car", "Gizmo"))
        model = load_model(
            f"recorded:{tmp_path}",
            output={"task": "detection", "classes": ["Gizmo"], "class_names": {"Gizmo": "bicyclist"}},
        )
        assert model.predict([frame("1")])[0].classes == ("bicyclist",)  # type: ignore[union-attr]

    def test_a_box_turned_inside_out_is_an_error_or_left_out(self, tmp_path: Path) -> None:
        write(tmp_path / "1.txt", KITTI + KITTI.replace("1.00 2.00", "9.00 2.00"))
        with pytest.raises(SystemUnderTestError, match=r"1\.txt: line 2: expected x1 <= x2"):
            load_model(f"recorded:{tmp_path}").predict([frame("1")])
        (found,) = load_model(f"recorded:{tmp_path}", on_invalid="skip").predict([frame("1")])
        assert found == Boxes([[1, 2, 3, 4]], ["car"], scores=[0.5])

    def test_an_empty_folder_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"has no KITTI results: expected a file ID\.txt"):
            load_model(f"recorded:{tmp_path}")


class TestCoco:
    def files(self, folder: Path, results: object, known: object) -> dict[str, Any]:
        (folder / "results.json").write_text(json.dumps(results))
        (folder / "instances.json").write_text(json.dumps(known))
        return {"annotations": str(folder / "instances.json")}

    KNOWN: ClassVar[dict[str, Any]] = {
        "images": [{"id": 7, "file_name": "val/a.jpg"}, {"id": 8, "file_name": "val/b.jpg"}],
        "categories": [{"id": 3, "name": "car"}],
    }

    def test_an_image_without_results_has_no_boxes(self, tmp_path: Path) -> None:
        result = {"image_id": 7, "category_id": 3, "bbox": [1, 2, 2, 2], "score": 0.5}
        model = load_model(f"recorded:{tmp_path}/results.json", **self.files(tmp_path, [result], self.KNOWN))
        found, none = model.predict([frame("val/a"), frame("val/b")])
        assert found == Boxes([[1, 2, 3, 4]], ["car"], scores=[0.5])
        assert none == Boxes.empty()

    @pytest.mark.parametrize(
        ("results", "known", "message"),
        [
            (
                [{"image_id": 99}],
                KNOWN,
                r"result 0 is for image 99, which .* does not have \(it has 2 images\)",
            ),
            ({"a": 1}, KNOWN, "or be a list of COCO results"),
            ([], {"images": []}, "must be COCO annotations with 'images' and 'categories'"),
            ([], {"images": [{"id": 7}], "categories": []}, "images need 'id', a number, and 'file_name'"),
        ],
    )
    def test_files_that_cannot_be_used_are_named(
        self, tmp_path: Path, results: object, known: object, message: str
    ) -> None:
        options = self.files(tmp_path, results, known)
        with pytest.raises(InputError, match=message):
            load_model(f"recorded:{tmp_path}/results.json", **options)

    def test_a_broken_result_is_named_when_it_is_asked_for(self, tmp_path: Path) -> None:
        options = self.files(tmp_path, [{"image_id": 7, "category_id": 4, "bbox": [1, 2, 2, 2]}], self.KNOWN)
        model = load_model(f"recorded:{tmp_path}/results.json", **options)
        with pytest.raises(
            SystemUnderTestError, match=r"results\.json: image 7: annotation 0 has category_id 4"
        ):
            model.predict([frame("val/a")])

    def test_annotations_are_needed(self, tmp_path: Path) -> None:
        self.files(tmp_path, [], self.KNOWN)
        with pytest.raises(
            InputError, match=r"name the file of the annotations with annotations=instances\.json"
        ):
            load_model(f"recorded:{tmp_path}/results.json")
        (tmp_path / "bad.json").write_text("{")
        with pytest.raises(InputError, match=r"bad\.json must be JSON"):
            load_model(f"recorded:{tmp_path}/bad.json", annotations=tmp_path / "instances.json")
