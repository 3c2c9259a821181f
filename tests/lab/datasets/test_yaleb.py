from __future__ import annotations

import numpy as np
import pytest
from tiny_files import write_pgm

from kcrc.errors import DataError
from lab.datasets import load
from lab.datasets.yaleb import COUNTS, read_cropped_yale, read_pgm

FACE = np.arange(20, dtype=np.uint8).reshape(5, 4)


@pytest.mark.parametrize("comment", [b"", b"# made by a test\n"])
def test_pgm_comes_back_as_written(tmp_path, comment):
    np.testing.assert_array_equal(read_pgm(write_pgm(tmp_path / "a.pgm", FACE, comment)), FACE)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda b: b[:-3], "holds 17"),
        (lambda b: b"P2" + b[2:], "not a binary PGM"),
        (lambda b: b"", "not a binary PGM"),
        (lambda b: b.replace(b"255", b"999"), "not a binary PGM"),
    ],
)
def test_damaged_pgm_is_named(tmp_path, change, said):
    path = write_pgm(tmp_path / "a.pgm", FACE)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(DataError, match=said) as caught:
        read_pgm(path)
    assert str(path) in str(caught.value)


def test_ambient_and_bad_files_are_left_out_and_angles_read(tmp_path):
    for subject in ("yaleB02", "yaleB01"):
        write_pgm(tmp_path / subject / f"{subject}_P00A-035E+15.pgm", FACE)
        write_pgm(tmp_path / subject / f"{subject}_P00A+000E+00.pgm", FACE + 1)
        write_pgm(tmp_path / subject / f"{subject}_P00_Ambient.pgm", FACE)
        write_pgm(tmp_path / subject / f"{subject}_P00A+050E-40.pgm.bad", FACE)
    parts, subjects = read_cropped_yale(tmp_path)
    assert subjects == ["yaleB01", "yaleB02"]
    assert parts["labels"].tolist() == [0, 0, 1, 1]
    assert parts["azimuth"].tolist() == [0, -35, 0, -35]
    assert parts["elevation"].tolist() == [0, 15, 0, 15]
    np.testing.assert_array_equal(parts["images"][1], FACE)


def test_the_incomplete_subject_is_named(no_data):
    write_pgm(no_data / "CroppedYale" / "yaleB01" / "yaleB01_P00A+000E+00.pgm", FACE)
    with pytest.raises(DataError, match=r"yaleB01 holds 1 pictures without Ambient; 64 were due"):
        load("yaleb", no_data)


def test_published_counts_add_up():
    assert len(COUNTS) == 38
    assert sum(COUNTS.values()) == 2414


@pytest.mark.slow
def test_a_folder_and_the_archive_give_the_same_set(shared_data, no_data):
    archive = load("yaleb", shared_data)
    assert archive.images is not None
    for image, name, a, e in zip(
        archive.images, archive.named, archive.extras["azimuth"], archive.extras["elevation"], strict=True
    ):
        write_pgm(no_data / "CroppedYale" / name / f"{name}_P00A{a:+04d}E{e:+03d}.pgm", image)
    folder = load("yaleb", no_data / "CroppedYale")
    np.testing.assert_array_equal(np.bincount(folder.labels), np.bincount(archive.labels))
    order = [np.lexsort((ds.extras["elevation"], ds.extras["azimuth"], ds.labels)) for ds in (folder, archive)]
    assert folder.images is not None
    np.testing.assert_array_equal(folder.images[order[0]], archive.images[order[1]])


@pytest.mark.parametrize(
    "head", [b"P5" + b" " * 4000, b"P5" + b"#\n" * 2000, b"P5 1" + b" \n" * 2000, b"P5 1 1" + b"\t" * 4000]
)
def test_a_header_without_end_is_refused_at_once(tmp_path, head):
    (tmp_path / "a.pgm").write_bytes(head)
    with pytest.raises(DataError, match="not a binary PGM"):
        read_pgm(tmp_path / "a.pgm")
