"""How a gallery sees its pictures, where nobody says: chosen by some of them, and by no more than some."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from photos import folder, two_ways
from PIL import Image

from kcrc import Gallery, looks
from kcrc.errors import ParameterError
from kcrc.gallery import choose_looks
from kcrc.gallery.building import build_from_folder
from kcrc.gallery.choose_looks import choose_feature, choosing_seconds, default_feature, looks_of
from kcrc.gallery.settings import Settings
from kcrc.images.features import make, restore
from kcrc.images.features.joined import JoinedLooks
from kcrc.images.looks.base import registry

Files = tuple[list[Path], list[str]]


def files_of(where: Path) -> Files:
    paths = sorted(where.glob("*/*"))
    return paths, [path.parent.name for path in paths]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return two_ways(tmp_path_factory.mktemp("two"), 8)


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch):
    """Leave only these looks to choose from, so that nothing depends on what is installed."""

    def among(*names: str) -> None:
        looks.names()
        monkeypatch.setattr(looks, "names", lambda: names)

    return among


def test_looks_that_tell_the_classes_apart_only_together_are_joined(two: Path, only) -> None:
    only("fine hog", "colour")
    told: list[tuple[float, str]] = []
    found = choose_feature(*files_of(two), report=lambda share, leader: told.append((share, leader)))
    assert isinstance(found.feature, JoinedLooks)
    assert [place.name for place in found.feature.stretches] == ["fine hog", "colour"]
    assert found.sentence.startswith("Pictures are compared by fine outlines and colours, 5 to 5; ")
    assert [share for share, _ in told] == sorted(share for share, _ in told)
    assert told[0][1].startswith("fine hog leads, ")
    again = restore(found.feature.state())
    assert again.fingerprint == found.feature.fingerprint


def test_of_equally_good_looks_the_cheapest_is_taken(tmp_path: Path, only) -> None:
    only("hog", "colour")
    found = choose_feature(*files_of(folder(tmp_path, 6)))
    assert found.feature.kind == "hog"
    assert found.sentence == "Pictures are compared by outlines; 18 of 18 examples are answered right when left out."


def test_few_pictures_are_seen_as_before_and_few_drawings_by_deformed_copies(
    tmp_path: Path, only, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = choose_feature(*files_of(folder(tmp_path / "photos", 2)))
    assert (found.feature.kind, "too few" in found.sentence) == (default_feature(), True)
    rng = np.random.default_rng(0)
    for number in range(8):
        strokes = (np.asarray(Image.fromarray(rng.random((7, 7)).astype(np.float32)).resize((28, 28))) > 0.5) * 255
        path = tmp_path / "drawings" / f"class {number // 2}" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(strokes.astype(np.uint8)).save(path)
    only("pixels", "hog")
    found = choose_feature(*files_of(tmp_path / "drawings"))
    assert "deformed copies" in found.sentence
    assert found.feature.kind in ("pixels", "hog", "looks")
    assert found.feature.transform([np.zeros((28, 28), np.uint8)]).shape == (1, found.feature.dim)


def test_one_class_nothing_readable_or_nothing_at_all_is_no_choice(tmp_path: Path) -> None:
    folder(tmp_path, 12)
    paths, labels = files_of(tmp_path)
    assert "too few" in choose_feature(paths[:12], labels[:12]).sentence
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"no picture")
    assert "too few" in choose_feature([broken] * 20, ["a", "b"] * 10).sentence
    assert "too few" in choose_feature([], []).sentence


def test_no_more_files_are_read_than_the_sample_has(two: Path, only, monkeypatch: pytest.MonkeyPatch) -> None:
    from kcrc.images.decoding import reading

    only("pixels")
    monkeypatch.setattr(choose_looks, "PICTURES", 10)
    opened: list[str] = []
    fetch = reading.fetch

    def counted(path, **more):
        opened.append(str(path))
        return fetch(path, **more)

    monkeypatch.setattr(reading, "fetch", counted)
    paths, labels = files_of(two)
    choose_feature(paths * 20, [f"{label} {turn}" for turn in range(20) for label in labels])  # 80 classes
    assert len(opened) == 10


def test_the_same_file_twice_does_not_vouch_for_itself(two: Path, only) -> None:
    only("pixels")
    paths, labels = files_of(two)
    assert "of 32 examples" in choose_feature(paths * 3, labels * 3).sentence


def test_a_look_whose_feature_no_file_can_keep_is_not_offered(two: Path, only, monkeypatch: pytest.MonkeyPatch) -> None:
    def own(kind):
        return looks.of_feature("own", lambda batch: np.array([[p.mean(), 1.0] for p in batch]))

    monkeypatch.setitem(registry._makers, "own", own)
    only("own", "hog", "sift")
    assert choose_feature(*files_of(two)).feature.kind == "hog"


@pytest.mark.parametrize("each", [1, 2, 3])
def test_a_look_that_fails_for_few_small_pictures_ends_no_build(
    each: int, tmp_path: Path, only, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unmade(kind):
        raise ParameterError("The lens is missing.")

    monkeypatch.setitem(registry._makers, "unmade", unmade)
    only("pixels", "pyramid", "unmade")  # 1024 visual words need as many descriptors
    rng = np.random.default_rng(0)
    for number in range(4 * each):
        path = tmp_path / "photos" / f"class {number % 4}" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (48, 48, 3)).astype(np.uint8)).save(path)
    build_from_folder(tmp_path / "photos", tmp_path / "small.kcrc")
    with Gallery.open(tmp_path / "small.kcrc") as gallery:
        assert len(gallery) == 4 * each
        assert gallery.settings.feature == ("pixels" if each > 1 else default_feature())


def test_of_too_many_pictures_only_the_shortest_vectors_are_kept(
    two: Path, only, monkeypatch: pytest.MonkeyPatch
) -> None:
    only("fine hog", "colour")
    monkeypatch.setattr(choose_looks, "LARGEST", 1000)
    assert choose_feature(*files_of(two)).feature.kind == "hog"


def test_looks_have_at_most_half_of_the_seconds() -> None:
    assert choosing_seconds(100_000, 60.0) == 30.0
    assert choosing_seconds(20, 60.0) == 3.0
    assert choosing_seconds(20, 1.0) == 0.5


def test_a_folder_is_seen_by_what_it_chooses_unless_a_feature_is_named(two: Path, tmp_path: Path, only) -> None:
    only("fine hog", "colour")
    build_from_folder(two, tmp_path / "auto.kcrc")
    with Gallery.open(tmp_path / "auto.kcrc") as gallery:
        assert looks_of(gallery.settings) == {"fine hog": 0.5, "colour": 0.5}
    only("colour pixels")
    with Gallery.from_folder(two, tmp_path / "one.kcrc") as gallery:
        assert gallery.feature_state()["options"]["colour"] is True
    with Gallery.from_folder(two, tmp_path / "named.kcrc", feature=make("pixels", size=(6, 8))) as gallery:
        assert looks_of(gallery.settings) == {"pixels": 1.0}


@pytest.mark.parametrize(
    "options", [None, 3, {}, {"names": 3, "weights": [1]}, {"names": [["a"]], "weights": [1]}, {"names": ["a"]}]
)
def test_damaged_settings_still_say_what_the_feature_is_called(options: object) -> None:
    settings = Settings(
        identity="0" * 32, created_at=0, feature="looks", values={"options": options}, fingerprint="looks:0", dim=3,
        dtype="float32", parameters={},
    )  # fmt: skip
    assert looks_of(settings) == {"looks": 1.0}
