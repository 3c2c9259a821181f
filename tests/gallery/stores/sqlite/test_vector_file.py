from __future__ import annotations

import json
import os
import random
import struct
import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest

from kcrc.errors import FileError
from kcrc.gallery import Gallery
from kcrc.gallery.stores.records import RecordSnapshot
from kcrc.gallery.stores.sqlite import vector_file


def cache_of(path: Path) -> Path:
    return path.parent / ".kcrc-cache" / "birds.kcrc.vectors"


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ids that were read from the gallery itself and not from the cache."""
    seen: list[int] = []
    real = RecordSnapshot.fill_vectors

    def counting(reading: RecordSnapshot, ids: np.ndarray, crcs: np.ndarray, out: np.ndarray) -> None:
        seen.extend(ids.tolist())
        real(reading, ids, crcs, out)

    monkeypatch.setattr(RecordSnapshot, "fill_vectors", counting)
    return seen


def test_the_second_opening_reads_the_cache_alone(gallery: Gallery, path: Path, fetched: list[int]) -> None:
    first = gallery.vectors()[1].copy()
    assert fetched == [1, 2, 3, 4, 5, 6]
    fetched.clear()
    with Gallery.open(path) as again:
        vectors = again.vectors()[1]
        np.testing.assert_array_equal(vectors, first)
        assert fetched == []
        assert not vectors.flags.writeable


def test_after_a_change_only_what_is_new_is_read(gallery: Gallery, path: Path, fetched: list[int]) -> None:
    gallery.vectors()
    fetched.clear()
    gallery.add("owl", [[9, 9, 9, 9], [8, 8, 8, 8]])
    gallery.remove([2, 3])
    with Gallery.open(path) as again:
        ids, vectors, _ = again.vectors()
    assert fetched == [7, 8]
    assert ids.tolist() == [1, 4, 5, 6, 7, 8]
    np.testing.assert_array_equal(vectors[:, 0], [0, 12, 16, 20, 9, 8])


def test_a_cache_that_is_cut_short_while_it_is_used_kills_nobody_and_changes_no_answer(path: Path) -> None:
    """In a process of its own: where the file was mapped, this was a SIGBUS."""
    rng = np.random.default_rng(0)
    with Gallery.create(path, dim=2000) as made:
        made.add([f"c{i % 3}" for i in range(15)], rng.standard_normal((15, 2000)))
        made.classifier()
    program = f"""if True:
        import os, numpy as np
        from kcrc.gallery import Gallery
        for harm in ("truncate", "overwrite"):
            gallery = Gallery.open({str(path)!r})
            ids, vectors, labels = gallery.vectors()
            before, classifier = vectors.copy(), gallery.classifier()
            said = classifier.explain(vectors).residuals
            cache = {str(cache_of(path))!r}
            size = os.path.getsize(cache)
            os.truncate(cache, 0)
            if harm == "overwrite":
                os.truncate(cache, size)
            assert np.array_equal(vectors, before)
            assert np.array_equal(classifier.explain(before).residuals, said)
            assert gallery.verify().sound
            gallery.add("c0", before[:1] + len(before))
            assert len(gallery.vectors()[1]) == len(before) + 1
            gallery.classifier().predict(before)
            gallery.close()
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])


def test_a_forged_cache_of_endless_rows_costs_no_memory(gallery: Gallery, path: Path) -> None:
    expected = gallery.vectors()[1].copy()
    where, n = cache_of(path), 1 << 33
    header = json.dumps({"n": n, "dim": 4, "dtype": "float32"}).encode()
    with where.open("wb") as file:
        file.write(struct.pack("<8sII", b"KCRCVEC1", len(header), zlib.crc32(header)) + header)
        file.truncate(4096 + 8 * n + 16 * n)  # a hole: it takes no room on the disk
    with Gallery.open(path) as again:
        tracemalloc.start()
        np.testing.assert_array_equal(again.vectors()[1], expected)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 10_000_000


def test_a_pipe_or_a_folder_in_its_place_is_not_read(gallery: Gallery, path: Path) -> None:
    expected = gallery.vectors()[1].copy()
    for made in (os.mkdir, getattr(os, "mkfifo", os.mkdir)):
        where = cache_of(path)
        where.unlink() if where.is_file() else where.rmdir() if where.is_dir() else None
        made(where)
        with Gallery.open(path) as again:
            np.testing.assert_array_equal(again.vectors()[1], expected)


@pytest.mark.parametrize("seed", range(60))
def test_no_damage_to_the_cache_changes_an_answer(gallery: Gallery, path: Path, seed: int) -> None:
    expected = gallery.vectors()[1].copy()
    where = cache_of(path)
    data = bytearray(where.read_bytes())
    rng = random.Random(seed)
    if seed % 3 == 0:
        del data[rng.randrange(len(data)) :]
    elif seed % 3 == 1:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    else:
        at = rng.choice([0, 16, 4096, 4096 + 48])
        data[at : at + 40] = rng.randbytes(40)
    where.write_bytes(bytes(data))
    with Gallery.open(path) as again:
        np.testing.assert_array_equal(again.vectors()[1], expected)


def test_the_cache_of_another_gallery_is_not_believed(gallery: Gallery, path: Path) -> None:
    gallery.vectors()
    other = path.with_name("other.kcrc")
    with Gallery.create(other, dim=4) as made:
        made.add("a", np.full((6, 4), 0.5) * np.arange(6)[:, None])
        expected = made.vectors()[1].copy()
    os.replace(cache_of(path), cache_of(path).with_name("other.kcrc.vectors"))
    with Gallery.open(other) as again:
        np.testing.assert_array_equal(again.vectors()[1], expected)


def test_without_a_folder_to_write_in_it_goes_on_in_memory(
    gallery: Gallery, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise FileError("read-only")

    monkeypatch.setattr(vector_file, "atomic_write", refuse)
    assert gallery.vectors()[1].shape == (6, 4)
    assert not cache_of(path).exists()


def test_the_environment_chooses_the_place_or_none(
    gallery: Gallery, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KCRC_GALLERY_CACHE", "")
    assert gallery.vectors()[1].shape == (6, 4)
    monkeypatch.setenv("KCRC_GALLERY_CACHE", str(tmp_path / "elsewhere"))
    with Gallery.open(path) as again:
        again.vectors()
    assert len(list((tmp_path / "elsewhere").iterdir())) == 1
    assert not cache_of(path).exists()


def test_no_link_is_followed(gallery: Gallery, path: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / ".kcrc-cache").symlink_to(outside, target_is_directory=True)
    assert gallery.vectors()[1].shape == (6, 4)
    assert not list(outside.iterdir())


def test_a_linked_cache_file_is_replaced_not_written_through(gallery: Gallery, path: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine")
    cache_of(path).parent.mkdir()
    cache_of(path).symlink_to(precious)
    gallery.vectors()
    assert precious.read_bytes() == b"mine"
    assert not cache_of(path).is_symlink()


def test_a_private_gallery_has_a_private_cache(gallery: Gallery, path: Path) -> None:
    path.chmod(0o600)
    gallery.vectors()
    assert cache_of(path).stat().st_mode & 0o777 == 0o600


def test_what_a_killed_process_left_is_swept(gallery: Gallery, path: Path) -> None:
    left = cache_of(path).with_name("birds.kcrc.vectors.x.new")
    left.parent.mkdir()
    left.write_bytes(b"half")
    os.utime(left, (1, 1))
    gallery.vectors()
    assert not left.exists()
    assert {p.name for p in left.parent.iterdir()} == {"birds.kcrc.vectors"}


def test_an_error_while_it_is_filled_leaves_no_file(
    gallery: Gallery, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise FileError("torn")

    monkeypatch.setattr(RecordSnapshot, "fill_vectors", broken)
    with pytest.raises(FileError, match="torn"):
        gallery.vectors()
    assert not cache_of(path).parent.exists() or not list(cache_of(path).parent.iterdir())
