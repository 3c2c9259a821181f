"""Every command over a gallery that sees by several looks, which ``kcrc build`` chose itself."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from photos import photo, two_ways

from kcrc import Gallery, looks
from kcrc.cli import main
from kcrc.gallery import choose_looks
from kcrc.gallery.choose_looks import looks_of
from kcrc.images.nearness import near_by

Run = Callable[..., tuple[int, str, str]]


@contextlib.contextmanager
def only(*names: str) -> Iterator[None]:
    """Only these looks to choose from, so that nothing depends on what is installed."""
    all_names, looks.names = looks.names, lambda: names
    all_names()
    try:
        yield
    finally:
        looks.names = all_names


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("looks")
    two_ways(where / "photos", 8)
    two_ways(where / "test", 2, first=50)
    with contextlib.chdir(where), only("fine hog", "colour"):
        assert main(["build", "photos", "-o", "g.kcrc", "--no-tune"]) == 0
    return where


@pytest.fixture
def home(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    capsys.readouterr()

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def labels(run: Run, *arguments: str) -> list[str]:
    code, out, _ = run("predict", *arguments, "--json")
    assert code == 0
    return [json.loads(line)["label"] for line in out.splitlines()]


def truth() -> list[str]:
    return [path.parent.name for path in sorted(Path("test").glob("*/*"))]


def test_build_says_by_which_looks_and_answers_with_them(run: Run) -> None:
    with only("fine hog", "colour"):
        code, out, err = run("build", "photos", "-o", "new.kcrc", "--no-tune", "--method")
    assert code == 0
    assert out.startswith("new.kcrc: 32 examples of 4 classes, looks (")
    looks = "Pictures are compared by fine outlines and colours, 5 to 5"
    assert f"{looks}; 32 of 32 examples are answered right when left out.\n" in err
    assert labels(run, "new.kcrc", "test") == truth()


def test_auto_by_name_is_the_same_and_an_option_needs_a_feature(run: Run) -> None:
    with only("pixels"):
        assert run("build", "photos", "-o", "new.kcrc", "-f", "auto", "--no-tune")[0] == 0
    code, _, err = run("build", "photos", "-o", "other.kcrc", "--option", "cell=8")
    assert code == 2
    assert "name that too: -f hog" in err
    assert not Path("other.kcrc").exists()


def test_a_look_is_no_feature(run: Run) -> None:
    code, _, err = run("build", "photos", "-o", "new.kcrc", "-f", "fine hog")
    assert code == 2
    assert "'fine hog' is a look, and build tries looks by itself without -f. Features are colour, " in err
    assert not Path("new.kcrc").exists()


def test_ctrl_c_while_choosing_leaves_nothing(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    before = sorted(home.iterdir())
    monkeypatch.setattr(choose_looks, "choose_feature", stopped)
    code, out, err = run("build", "photos", "-o", "new.kcrc")
    assert (code, out) == (130, "")
    assert "nothing was made; 'new.kcrc' is as it was before." in err
    assert sorted(home.iterdir()) == before


def test_info_says_the_looks(run: Run) -> None:
    assert "\ncompared by fine outlines and colours, 5 to 5\n" in run("info", "g.kcrc", "--method")[1]
    assert json.loads(run("info", "g.kcrc", "--json")[1])["looks"] == {"fine hog": 0.5, "colour": 0.5}


def test_examples_come_and_go_and_come_back(run: Run) -> None:
    assert run("add", "g.kcrc", "test", "--label", "brown down")[1].startswith("added 8 of 8")
    assert run("remove", "g.kcrc", "1", "2")[0] == 0
    assert run("undo", "g.kcrc")[0] == 0
    assert run("redo", "g.kcrc")[0] == 0
    assert run("undo", "g.kcrc", "--to", "2")[0] == 0
    assert labels(run, "g.kcrc", "test") == truth()
    assert run("remove", "g.kcrc", "1", "--erase")[0] == 0
    assert run("compact", "g.kcrc")[0] == 0
    code, out, _ = run("verify", "g.kcrc")
    assert code == 0
    assert "is sound: 31 examples" in out


def test_an_export_and_a_backup_answer_the_same(run: Run) -> None:
    with Gallery.open("g.kcrc") as gallery:
        gallery.export("g.npz")
    from kcrc.gallery import restore

    with restore("g.npz", "again.kcrc") as again, Gallery.open("g.kcrc") as gallery:
        assert again.fingerprint == gallery.fingerprint
        assert looks_of(again.settings) == looks_of(gallery.settings)
        np.testing.assert_array_equal(again.vectors()[1], gallery.vectors()[1])
        assert len(again.import_("g.kcrc").ids) == 0
    assert run("backup", "g.kcrc", "copy.kcrc")[0] == 0
    assert labels(run, "again.kcrc", "test") == labels(run, "copy.kcrc", "test") == truth()


def test_pictures_of_other_looks_are_looked_at_again(run: Run) -> None:
    with only("colour", "hog"):
        assert run("build", "photos", "-o", "other.kcrc", "--no-tune")[0] == 0
    code, _, err = run("import", "g.kcrc", "other.kcrc")
    assert code == 0  # all of them are in already
    assert err == ""


def test_it_is_evaluated_audited_and_sorted(run: Run) -> None:
    assert "8 of 8 images are answered right" in run("evaluate", "g.kcrc", "test", "--html", "e.html")[1]
    assert " of 32 examples are answered right" in run("evaluate", "g.kcrc")[1]
    assert run("audit", "g.kcrc")[0] == 0
    assert run("sort", "g.kcrc", "test", "sorted")[0] == 0
    assert len(list(Path("sorted").glob("brown down/*"))) == 2


def test_watch_answers_with_the_looks(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "in").mkdir()
    waiting = [lambda: shutil.copy(home / "test/grey down/50.png", home / "in/a.png"), lambda: None, lambda: None]

    def sleep(_: float) -> None:
        if not waiting:
            raise KeyboardInterrupt
        waiting.pop(0)()

    monkeypatch.setattr("kcrc.cli.watch.time", SimpleNamespace(sleep=sleep))
    _, out, _ = run("watch", "g.kcrc", "in", "--json")
    assert json.loads(out.splitlines()[0])["label"] == "grey down"


# By which look an example is near


def mixed(home: Path) -> str:
    """A picture of a class whose stripes are those of an example and whose colour is another's."""
    return str(home / "test" / "grey down" / "50.png")


def test_explain_says_by_which_look_an_example_is_near(run: Run, home: Path) -> None:
    said = json.loads(run("explain", "g.kcrc", mixed(home), "--json")[1])
    for neighbour in said["neighbours"]:
        assert set(neighbour["nearer"]) == {"fine hog", "colour"}
        assert set(neighbour["near_by"]) <= {"fine hog", "colour"}
        assert min(neighbour["nearer"], key=neighbour["nearer"].get) == neighbour["near_by"][0]
    assert ", near by " in run("explain", "g.kcrc", mixed(home), "-v")[1]
    assert run("explain", "g.kcrc", mixed(home), "--html", "why.html")[0] == 0
    page = Path("why.html").read_text("utf-8")
    assert "near by " in page
    assert "compared by fine outlines and colours, 5 to 5" in page
    assert "an example is near by those looks that find the fewest others nearer" in page


def test_show_says_it_of_the_nearest_examples(run: Run) -> None:
    lines = [line for line in run("show", "g.kcrc", "3", "-v")[1].splitlines() if line.startswith("nearest")]
    assert lines
    assert all(", near by " in line for line in lines)


def test_a_gallery_of_one_look_says_nothing_of_looks(run: Run, home: Path) -> None:
    assert run("build", "photos", "-o", "one.kcrc", "-f", "hog", "--no-tune")[0] == 0
    assert "near_by" not in run("explain", "one.kcrc", mixed(home), "--json")[1]
    assert run("explain", "one.kcrc", mixed(home), "--html", "why.html")[0] == 0
    page = Path("why.html").read_text("utf-8")
    assert "near by " not in page
    assert "compared by" not in page


def test_the_shares_are_those_of_each_part_of_the_vectors(home: Path) -> None:
    with Gallery.open("g.kcrc") as gallery:
        feature, model = gallery.answering.feature(), gallery.answering.answerer().model
        vector = feature.transform([mixed(home)])[0]
        found = near_by(feature, model, vector, [3, 17, 999])
        assert list(found) == [3, 17]
        for example, near in found.items():
            for place in feature.stretches:  # type: ignore[attr-defined]
                cut = slice(place.start, place.stop)
                apart = np.linalg.norm(model.raw[:, cut] - vector[cut], axis=1)
                own = apart[model.ids == example]
                assert near.nearer[place.name] == pytest.approx(np.mean(apart < own))


def test_stripes_of_another_colour_are_near_by_their_outlines(run: Run, home: Path) -> None:
    """A picture like example's in outlines alone, and one like it in colours alone."""
    with Gallery.open("g.kcrc") as gallery:
        feature, model = gallery.answering.feature(), gallery.answering.answerer().model
        outlines, colours = feature.stretches  # type: ignore[attr-defined]
        first, second = model.raw[0], model.raw[-1]
        vector = np.concatenate([first[outlines.start : outlines.stop], second[colours.start : colours.stop]])
        found = near_by(feature, model, vector, model.ids[[0, -1]].tolist())
        assert [near.by[0] for near in found.values()] == ["fine hog", "colour"]
        assert found[int(model.ids[0])].words.startswith("near by fine outlines")


def test_build_of_other_photographs_goes_by_what_they_need(run: Run, home: Path) -> None:
    for label in ("wren", "robin"):
        for number in range(5):
            photo(home / "birds" / label / f"{number}.jpg", label, number)
    with only("pixels", "hog", "colour"):
        code, _, err = run("build", "birds", "-o", "birds.kcrc", "--no-tune", "-v")
    assert code == 0
    assert "Pictures are compared by grey values; 10 of 10 examples are answered right when left out." in err
