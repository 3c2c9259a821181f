from __future__ import annotations

import unicodedata
from pathlib import Path, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcrc.gallery.sorting.sorter import folder_names

WRONG = [
    "a/b",
    "a\\b",
    "..",
    ".",
    ".hidden",
    "C:",
    "CON",
    "nul.txt",
    "com1",
    "LPT²",
    "x.",
    "x ",
    " x",
    "a\nb",
    "a\x1bb",
]
WRONG += ["a?b", "-rf", "\u202eevil", "~" * 300, "ü" * 150, "", "\udcff", "/etc/passwd", "../../x"]


@pytest.mark.parametrize("label", WRONG)
def test_what_cannot_be_a_folder_gets_a_safe_name(label: str, tmp_path: Path) -> None:
    name = folder_names([label])[label]
    assert name != label
    assert PureWindowsPath(name).name == name == Path(name).name
    assert name[0] not in ".-"
    (tmp_path / name).mkdir()
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    "label", ["wren", "Zaunkönig", "ミソサザイ", "winter wren", "a.b", "consul", "~home", "🦉", "שלום"]
)
def test_what_can_be_one_stays(label: str) -> None:
    assert folder_names([label]) == {label: label}


def test_names_that_a_disk_takes_for_one_are_told_apart() -> None:
    labels = ["Wren", "wren", "WREN", "caf\u00e9", "cafe\u0301", "straße", "STRASSE", "_doubtful"]
    names = folder_names(labels, taken=["_doubtful"])
    assert len({unicodedata.normalize("NFKC", name).casefold() for name in names.values()}) == len(labels)
    assert names["WREN"] == "WREN"
    assert names["wren"].startswith("wren-")
    assert names["_doubtful"].startswith("_doubtful-")


def test_a_class_keeps_its_folder_whatever_others_there_are() -> None:
    assert folder_names(["a/b"])["a/b"] == folder_names(["a/b", "owl", "a:b"])["a/b"]


def test_a_class_that_is_called_like_another_ones_folder() -> None:
    other = folder_names(["a/b"])["a/b"]
    names = folder_names(["a/b", other])
    assert len(set(names.values())) == 2


@given(st.sets(st.text(st.characters(codec=None), max_size=130), max_size=8))
def test_no_two_classes_share_a_folder_and_none_leads_elsewhere(labels: set[str]) -> None:
    names = folder_names(labels)
    assert len({name.casefold() for name in names.values()}) == len(labels)
    for name in names.values():
        assert name not in (".", "..")
        assert not set(name) & set('/\\:*?"<>|\0')
        assert len(name.encode()) <= 255
