"""A walk through the commands with real photographs in a mess, as a new user would take it: every message is compared
with what a person would want to read."""

from __future__ import annotations

import io
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from PIL import Image

from conftest import DATA
from kcrc.cli import main

EACH = 8
ACCENTED = "éléphant"
Photos = dict[str, list[Path]]
Names = dict[str, list[str]]
Run = Callable[..., tuple[int, list[str], list[str]]]


def photographs() -> Photos:
    folder = DATA / "caltech101-20"
    if not folder.is_dir():
        pytest.skip("caltech101-20 is not here; set KCRC_DATA to the folder that has it")
    return {kind.name: sorted(kind.iterdir()) for kind in sorted(folder.iterdir()) if kind.is_dir()}


def copied(paths: list[Path], where: Path) -> None:
    where.mkdir(parents=True, exist_ok=True)
    for path in paths:
        shutil.copy(path, where)


def mess(where: Path, photos: Photos) -> None:
    """Class folders as people have them."""
    for name in ("bonsai", "ketch", "laptop"):
        copied(photos[name][:EACH], where / name)
    copied(photos["ibis"][:EACH], where / "ציפור")
    for form, some in (("NFC", photos["elephant"][:4]), ("NFD", photos["elephant"][4:EACH])):
        copied(some, where / unicodedata.normalize(form, ACCENTED))
    copied(photos["sunflower"][:1], where / "sunflower")
    copied(photos["ketch"][EACH : EACH + 2], where / "Ketch")
    copied(photos["flamingo"][:2], where)
    (where / "empty").mkdir()
    Image.new("RGB", (1, 1)).save(where / "bonsai" / "dot.png")
    Image.new("RGB", (80, 60), (9, 99, 200)).save(where / "bonsai" / "blue.png")
    (where / "bonsai" / "notes.txt").write_text("watered on Monday")
    (where / "bonsai" / "cut.jpg").write_bytes(photos["bonsai"][20].read_bytes()[:900])
    (where / "bonsai" / "IMG_0001.avif").write_bytes(b"no reader for this one")
    shutil.copy(photos["laptop"][0], where / "laptop" / "copy of it.jpg")
    with Image.open(photos["laptop"][2]) as whole:
        whole.convert("RGB").resize((whole.width // 2, whole.height // 2)).save(where / "laptop" / "half.jpg")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Photos]:
    photos = photographs()
    where = tmp_path_factory.mktemp("walk")
    mess(where / "photos", photos)
    for name in ("bonsai", "ketch", "laptop"):
        copied(photos[name][30:34], where / "test" / name)
    copied(photos["bonsai"][:3], where / "test" / "bonsai")
    copied(photos["lotus"][:2], where / "test" / "lotus")
    return where, photos


@pytest.fixture
def run(place: tuple[Path, Photos], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(place[0])
    capsys.readouterr()

    def call(*arguments: str) -> tuple[int, list[str], list[str]]:
        code = main(list(arguments))
        said = capsys.readouterr()
        return code, said.out.splitlines(), said.err.splitlines()

    return call


def test_the_walk(run: Run, place: tuple[Path, Photos], monkeypatch: pytest.MonkeyPatch) -> None:
    """One test, for each step stands on the one before."""
    where, photos = place
    names = {name: [path.name for path in paths] for name, paths in photos.items()}
    built(run, names)
    asked(run, photos, names, where, monkeypatch)
    evaluated(run, names)
    added(run, photos, names, where)
    taken_back(run)
    emptied(run)


def built(run: Run, names: Names) -> None:
    code, out, err = run("build", "photos", "-o", "mine.kcrc", "--no-tune")
    assert code == 0
    assert re.fullmatch(r"mine\.kcrc: 44 examples of 7 classes, \d+\.\d s", out[0])
    assert re.fullmatch(r"kcrc: photos/bonsai/cut\.jpg: cannot be decoded \(.*\)\.", err[0])
    assert err[1:7] == [
        "Not used:",
        "  2 of a single pixel or colour: photos/bonsai/blue.png, photos/bonsai/dot.png; --blank takes such pictures",
        "  1 broken: photos/bonsai/cut.jpg",
        f"  1 in already, the same bytes: photos/laptop/{names['laptop'][0]}",
        f"  2 in no class folder: photos/{names['flamingo'][0]}, photos/{names['flamingo'][1]}",
        "  2 of a kind that kcrc does not read: 1 .avif, 1 .txt",
    ]
    assert err[7:10] == [
        "Worth a look:",
        "  1 class folder without a picture: empty",
        f"  2 folders are one class, their names are written in two ways: {ACCENTED}",
    ]
    assert "  1 pair of pictures that look the same (another size, compressed again); both stay:" in err
    assert any("photos/laptop/half.jpg" in line and f"photos/laptop/{names['laptop'][2]}" in line for line in err)
    assert "  2 classes of one or two examples: Ketch (2), sunflower (1)" in err
    assert (
        "  classes whose names differ only in case: Ketch, ketch; 'kcrc rename mine.kcrc Ketch ketch' makes them one"
    ) in err
    assert err[-1] == "The settings are the usual ones; 'kcrc tune mine.kcrc' chooses them from the examples."

    assert run("build", "photos", "-o", "mine.kcrc") == (
        1,
        [],
        ["kcrc: 'mine.kcrc' exists already. Choose another name with -o, or say --force to overwrite it."],
    )
    assert run("rename", "mine.kcrc", "Ketch", "ketch") == (0, ["renamed Ketch to ketch (2 examples)"], [])


def asked(run: Run, photos: Photos, names: Names, where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = run("predict", f"photos/{names['flamingo'][0]}", "mine.kcrc")
    assert code == 1
    assert err[0].endswith(f"The gallery comes first: 'kcrc predict mine.kcrc photos/{names['flamingo'][0]}'.")
    code, out, err = run("predict", "mine.kcrc", "test/bonsai", "photos/bonsai/blue.png")
    assert code == 0
    assert [line.split("\t")[1] for line in out[:-1]].count("bonsai") >= 6
    assert out[-1].endswith("\tunknown\t-\tit resembles no example: it is all one colour")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(photos["ketch"][31].read_bytes())))
    assert run("predict", "mine.kcrc", "-")[1][0].startswith("-\tketch\t")
    if find_spec("pi_heif") is not None:  # the extra 'photos'
        four_colours = Path(__file__).parents[1] / "images" / "features" / "heic" / "corners-1.heic"
        (where / "IMG_0007.HEIC").write_bytes(four_colours.read_bytes())
        assert run("predict", "mine.kcrc", "IMG_0007.HEIC")[1][0].startswith("IMG_0007.HEIC\t")


def evaluated(run: Run, names: Names) -> None:
    code, out, err = run("evaluate", "mine.kcrc", "test")
    assert code == 0
    found = re.fullmatch(r"(\d+) of 12 images are answered right: (\d+\.\d)%", out[0])
    assert found is not None
    assert int(found[1]) >= 10
    assert re.fullmatch(r"Of new pictures like these, likely \d+\.\d% to \d+\.\d% \(95% interval\)\.", out[1])
    inside = ", ".join(f"test/bonsai/{name}" for name in names["bonsai"][:3])
    assert err[-2:] == [
        f"Not counted, in the gallery already: 3 images ({inside}). --known counts them.",
        "Not counted, of classes the gallery does not know: 2 images: lotus (2).",
    ]
    assert "nan" not in "".join(out)
    code, out, err = run("evaluate", "mine.kcrc")
    assert code == 0
    assert re.fullmatch(r"\d+ of 43 examples are answered right when left out: \d+\.\d%", out[0])
    assert err == ["Not asked, the only example of their class: 1 example (sunflower)."]


def added(run: Run, photos: Photos, names: Names, where: Path) -> None:
    copied(photos["lotus"][5:9], where / "photos" / "lotuss")
    (where / "photos" / "ketch" / names["ketch"][3]).unlink()
    code, out, err = run("add", "mine.kcrc", "photos", "--sync")
    assert code == 1  # cut.jpg is still broken
    assert out[0] == "added 4 of 51 (examples 45–48)"
    assert re.fullmatch(rf"vanished\t\d+\tketch\tphotos/ketch/{re.escape(names['ketch'][3])}", out[1])
    assert len(out) == 2
    assert any(line.startswith("  44 in already, the same bytes: ") for line in err)
    assert "'lotuss' is a new class." in err
    assert any("'kcrc remove mine.kcrc " in line for line in err)
    code, out, err = run("add", "mine.kcrc", "test/lotus", "--label", "lotus")
    assert out == ["added 2 of 2 as lotus (examples 49, 50)"]
    assert "'lotus' is a new class. Did you mean 'lotuss'? 'kcrc undo mine.kcrc' takes it back." in err


def taken_back(run: Run) -> None:
    assert run("undo", "mine.kcrc")[1] == ["undid: added 2 examples of lotus"]
    assert run("undo", "mine.kcrc")[1] == ["undid: added 4 examples of lotuss"]
    assert run("redo", "mine.kcrc")[1] == ["did again: added 4 examples of lotuss"]
    history = run("history", "mine.kcrc")[1]
    assert history[-1].endswith("built with 44 examples of Ketch, bonsai, ketch and 4 more")

    _, out, err = run("remove", "mine.kcrc", "--label", "lotuss", "--dry-run")
    assert len(out) == 4
    assert err == ["Removing 4 was only tried: nothing was changed."]
    sound, removed = run("verify", "mine.kcrc")[1]
    assert re.fullmatch(
        r"mine\.kcrc is sound: 48 examples and \d+ changes were read, and agree with their checksums\.", sound
    )
    assert removed == "It also holds 2 removed examples, for kcrc undo to bring back."


def emptied(run: Run) -> None:
    for label in ("bonsai", "ketch", "laptop", "lotuss", "sunflower", ACCENTED, "ציפור"):
        assert run("remove", "mine.kcrc", "--label", label)[0] == 0
    assert run("predict", "mine.kcrc", "test") == (
        1,
        [],
        ["kcrc: The gallery 'mine.kcrc' is empty: it has no examples to answer by. Add some first."],
    )
