"""The script that makes the lexicon, on a WordNet of a few words."""

import gzip
import json
from pathlib import Path
from types import ModuleType

import pytest
from tests.loading import load_file

from roadworthy.rules.wordnet.lexicon import FORMAT, Lexicon

SCRIPT = Path(__file__).parents[3] / "scripts" / "make_wordnet_lexicon.py"

LICENCE = "  1 This database is provided under a licence.  \n  2   \n  3 WordNet 3.0 Copyright 2006.  \n"

# Places are made up; the format is that of wndb(5WN).
FILES = {
    "data.noun": LICENCE
    + """\
00000001 03 n 01 entity 0 002 ~ 00000002 n 0000 ~ 00000003 n 0000 | that which is
00000002 03 n 01 thing 0 001 @ 00000001 n 0000 | a thing
00000003 05 n 02 animal 0 beast 0 001 @ 00000001 n 0000 | what lives
00000004 05 n 03 dog 0 hound 0 Canis_familiaris 0 002 @ 00000003 n 0000 @ 00000002 n 0000 | "the dog"
00000005 05 n 01 genus_Canis 0 001 @ 00000003 n 0000 | a genus
00000006 18 n 02 Rex 0 King_Dog 0 001 @i 00000004 n 0000 | a famous dog
00000007 06 n 02 hot_rod 0 SUV 1 002 @ 00000002 n 0000 #m 00000003 n 0000 | a car
00000008 20 n 02 Douglas_fir 0 Abies_nobilis 0 001 @ 00000009 n 0000 | a tree
00000009 20 n 01 Pinaceae 0 001 @ 00000002 n 0000 | a family
0000000a 20 n 01 fir 0 001 @ 00000002 n 0000 | a tree
0000000b 18 n 01 Hound 2 001 @i 00000001 n 0000 | someone
""",
    "index.noun": LICENCE
    + """\
abies_nobilis n 1 1 @ 1 0 00000008
animal n 1 1 @ 1 0 00000003
beast n 1 1 @ 1 0 00000003
canis_familiaris n 1 1 @ 1 0 00000004
dog n 1 1 @ 1 1 00000004
douglas_fir n 1 1 @ 1 0 00000008
entity n 1 0 1 0 00000001
fir n 1 1 @ 1 0 0000000a
genus_canis n 1 1 @ 1 0 00000005
hot_rod n 1 2 @ #m 1 0 00000007
hound n 2 2 @ @i 2 1 00000004 0000000b
king_dog n 1 1 @i 1 0 00000006
pinaceae n 1 1 @ 1 0 00000009
rex n 1 1 @i 1 0 00000006
suv n 1 1 @ 1 0 00000007
thing n 1 1 @ 1 0 00000002
""",
    "data.verb": LICENCE + "00000001 30 v 02 run 0 rush 0 000 01 + 02 00 | move fast\n",
    "index.verb": LICENCE + "run v 1 0 1 0 00000001\nrush v 1 0 1 0 00000001\n",
    "cntlist.rev": "dog%1:05:00:: 1 42\nhound%1:18:02:: 2 7\nrun%2:30:00:: 1 9\nfast%3:00:00:: 1 3\n",
    "noun.exc": "hounden hound\ndogs dog\nrexes rex\n",
    "verb.exc": "ran run\n",
}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_file(SCRIPT)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "latin-1")
    return tmp_path


def nouns_of(script: ModuleType, folder: Path) -> Lexicon:
    out = folder / "out.json.gz"
    script.main([str(folder), "--out", str(out)])
    document = json.loads(gzip.decompress(out.read_bytes()))
    assert document["format"] == FORMAT
    return Lexicon.from_json("n", document["n"])


def test_common_words_are_kept_and_names_are_not(script: ModuleType, folder: Path) -> None:
    lemmas = {*nouns_of(script, folder).lemmas}
    # "Pinaceae" is there for the synset above the Douglas fir, which has no other word.
    assert lemmas == {
        *("entity", "thing", "animal", "beast", "dog", "hound"),
        *("hot_rod", "suv", "douglas_fir", "fir", "pinaceae"),
    }


def test_senses_keep_their_numbers_counts_and_lines(script: ModuleType, folder: Path) -> None:
    nouns = nouns_of(script, folder)
    first, second = nouns.senses("hound")
    assert (first.name, first.count, first.is_name) == ("hound.n.01", 0, False)
    assert (second.name, second.count, second.is_name) == ("hound.n.02", 7, True)
    assert nouns.name(first.synset) == "dog.n.01"
    assert [nouns.name(one) for one in nouns.above(first.synset)] == ["animal.n.01", "thing.n.01"]
    assert nouns.senses("dog")[0].count == 42
    assert {
        nouns.name(one): steps for one, steps in nouns.ancestors(nouns.synset("hot_rod.n.01")).items()
    } == {"hot_rod.n.01": 0, "thing.n.01": 1, "entity.n.01": 2}


def test_only_irregular_forms_are_kept(script: ModuleType, folder: Path) -> None:
    assert nouns_of(script, folder).irregular == {"hounden": "hound"}


def test_the_same_wordnet_gives_the_same_bytes_and_its_licence(script: ModuleType, folder: Path) -> None:
    bytes_of = []
    for name in ("a.json.gz", "b.json.gz"):
        script.main([str(folder), "--out", str(folder / name)])
        bytes_of.append((folder / name).read_bytes())
    assert bytes_of[0] == bytes_of[1]
    licence = (folder / "LICENSE").read_text("utf-8")
    assert licence == "This database is provided under a licence.\n\nWordNet 3.0 Copyright 2006.\n"


def test_another_wordnet_is_refused(
    script: ModuleType, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = FILES["data.noun"].replace("WordNet 3.0", "WordNet 3.1")
    (folder / "data.noun").write_text(text, "latin-1")
    with pytest.raises(SystemExit) as stopped:
        script.main([str(folder), "--out", str(folder / "out.json.gz")])
    assert stopped.value.code == 2
    assert "must hold WordNet 3.0" in capsys.readouterr().err


def test_a_circle_is_refused(script: ModuleType, folder: Path) -> None:
    text = FILES["data.noun"].replace(
        "00000003 05 n 02 animal 0 beast 0 001 @ 00000001", "00000003 05 n 02 animal 0 beast 0 001 @ 00000004"
    )
    (folder / "data.noun").write_text(text, "latin-1")
    with pytest.raises(SystemExit, match="circle among"):
        script.main([str(folder), "--out", str(folder / "out.json.gz")])
