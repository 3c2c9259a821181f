"""Index files are caches: used where they are whole and of these vectors, else as if they were not there."""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kcrc.method.distances.base import prepare_vectors
from kcrc.method.distances.pixel import Euclidean
from kcrc.method.neighbours.approximate import LIBRARIES, cache, finder_named
from kcrc.method.neighbours.approximate.approximate import ApproximateIndex
from kcrc.method.neighbours.approximate.base import Finder
from kcrc.method.neighbours.scan import index_for, native
from kcrc.method.neighbours.searches import index_by

SEARCHES = [
    pytest.param(
        search,
        marks=pytest.mark.skipif(
            not library.is_installed or native is None, reason=f"what search={search!r} needs is not installed"
        ),
    )
    for search, library in LIBRARIES.items()
]
K = 5


@pytest.fixture
def vectors():
    return np.random.default_rng(0).normal(size=(300, 6)).astype(np.float32)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def reads(monkeypatch) -> list[str]:
    """The searches whose library was shown a file."""
    seen: list[str] = []
    for search, library in LIBRARIES.items():
        if library.is_installed:
            kind = finder_named(search)
            real = kind.read

            def watched(file, real=real, search=search):
                seen.append(search)
                return real(file)

            monkeypatch.setattr(kind, "read", watched)
    return seen


def made(search: str, vectors: np.ndarray) -> ApproximateIndex:
    index = index_by(search, Euclidean(), prepare_vectors(vectors), budget=10**8, k=K, n_jobs=1)
    assert isinstance(index, ApproximateIndex)
    return index


def check(index: ApproximateIndex, vectors: np.ndarray) -> None:
    """True distances, and most of the nearest."""
    queries = prepare_vectors(vectors[:50] + np.float32(0.01))
    found = index.query(queries, K)
    exact = index_for(Euclidean(), prepare_vectors(vectors), budget=0).query(queries, K)
    true = np.linalg.norm(vectors[found.rows].astype(float) - queries["vectors"][:, None].astype(float), axis=-1)
    np.testing.assert_allclose(found.distances, true, rtol=1e-6)
    assert np.mean(found.distances <= exact.distances[:, -1:] * (1 + 1e-9)) > 0.9


@pytest.mark.parametrize("search", SEARCHES)
def test_an_index_is_built_once(search, vectors, folder, reads):
    first = made(search, vectors)
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o077 == 0
    assert reads == []
    again = made(search, vectors)
    assert reads == [search]
    queries = prepare_vectors(vectors[:50])
    np.testing.assert_array_equal(again.query(queries, K).rows, first.query(queries, K).rows)
    assert again.search == first.search
    check(again.append(prepare_vectors(np.vstack([vectors, vectors[:9] + 1]))), np.vstack([vectors, vectors[:9] + 1]))


@pytest.mark.parametrize("search", SEARCHES)
def test_without_a_folder_nothing_is_written(search, vectors, tmp_path, monkeypatch):
    monkeypatch.delenv(cache.FOLDER, raising=False)
    monkeypatch.chdir(tmp_path)
    made(search, vectors)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("search", SEARCHES)
def test_other_vectors_other_settings_another_search(search, vectors, folder, reads, monkeypatch):
    made(search, vectors)
    changed = vectors.copy()
    changed[7, 3] = np.nextafter(changed[7, 3], np.float32(9))
    for other in (changed, vectors[:-1], vectors.astype(np.float64)):
        check(made(search, other), other)
    kind = finder_named(search)
    monkeypatch.setattr(kind, "settings", classmethod(lambda cls: {"version": "another"}))
    check(made(search, vectors), vectors)
    assert reads == []
    assert len(list(folder.iterdir())) == 5


@pytest.mark.parametrize("search", SEARCHES)
def test_a_file_that_is_not_whole_is_not_shown_to_the_library(search, vectors, folder, reads):
    """Every byte of the header and some of the content flipped, every kind of cut, and something behind the end."""
    made(search, vectors)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    head, rng = cache.HEADER.size, np.random.default_rng(1)
    flips = [*range(0, head, 3), *rng.integers(head, len(whole), 12).tolist(), len(whole) - 1]
    damaged = [whole[:at] + bytes([whole[at] ^ (1 << int(rng.integers(8)))]) + whole[at + 1 :] for at in flips]
    damaged += [whole[:length] for length in (0, 5, head - 1, head, head + 1, len(whole) // 2, len(whole) - 1)]
    damaged += [whole + b"\0", whole[head:], bytes(len(whole))]
    kind = finder_named(search)
    for content in damaged:
        file.write_bytes(content)
        assert cache.load_index(kind, file, *vectors.shape) is None
    assert reads == []
    check(made(search, vectors), vectors)
    assert cache.load_index(kind, file, *vectors.shape) is not None  # it was written anew


@pytest.mark.parametrize("search", SEARCHES)
def test_a_file_of_another_number_of_vectors_with_every_digest_right(search, vectors, folder):
    """Under a name and digests that somebody forged: its slots do not fit, and it is built anew."""
    made(search, vectors[:200])
    (file,) = folder.iterdir()
    content = file.read_bytes()[cache.HEADER.size :]
    file.unlink()
    made(search, vectors)
    (file,) = folder.iterdir()
    *_, digest = cache.HEADER.unpack(_forged(content, file))
    assert digest
    file.write_bytes(_forged(content, file) + content)
    check(made(search, vectors), vectors)


@pytest.mark.parametrize("search", SEARCHES)
def test_an_index_of_another_width_kind_or_distance_with_every_digest_right(search, vectors, folder):
    made(search, vectors)
    (file,) = folder.iterdir()
    kind = finder_named(search)
    foreign = [_written(_filled(kind, vectors[:, :4]))]  # of another width
    if search == "usearch":
        from usearch.index import Index

        for options in ({"metric": "ip", "dtype": "bf16"}, {"metric": "l2sq", "dtype": "f32"}):
            other = kind(Index(ndim=6, **options))
            other.add([vectors], threads=1)
            foreign.append(_written(other))
    else:
        faiss = pytest.importorskip("faiss")
        for index in (faiss.IndexFlatL2(6), faiss.IndexHNSWFlat(6, 8, faiss.METRIC_INNER_PRODUCT)):
            index.add(vectors)
            foreign.append(_written(kind(index)))
        foreign += [_written(_filled(finder_named(other), vectors)) for other in {"hnsw", "ivf"} - {search}]
    for content in foreign:
        file.write_bytes(_forged(content, file) + content)
        assert cache.load_index(kind, file, *vectors.shape) is None
        check(made(search, vectors), vectors)
        assert cache.load_index(kind, file, *vectors.shape) is not None  # it was written anew


def _filled(kind: type[Finder], vectors: np.ndarray) -> Finder:
    finder = kind.empty(np.ascontiguousarray(vectors), len(vectors), threads=1)
    finder.add([np.ascontiguousarray(vectors)], threads=1)
    return finder


def _written(finder: Finder) -> bytes:
    file = io.BytesIO()
    finder.write(file)
    return file.getvalue()


def _forged(content: bytes, file: Path) -> bytes:
    import hashlib

    digest = hashlib.sha256(content).digest()
    return cache.HEADER.pack(cache.MAGIC, cache.VERSION, bytes.fromhex(file.stem), len(content), digest)


@pytest.mark.parametrize("search", SEARCHES[:1])
def test_a_folder_or_a_pipe_in_its_place(search, vectors, folder, reads):
    made(search, vectors)
    (file,) = folder.iterdir()
    file.unlink()
    os.mkfifo(file)
    with pytest.warns(UserWarning, match="The index is not kept: .* is not a file"):
        check(made(search, vectors), vectors)
    file.unlink()
    file.mkdir()
    with pytest.warns(UserWarning, match="The index is not kept"):
        check(made(search, vectors), vectors)
    assert reads == []


@pytest.mark.parametrize("search", SEARCHES[:1])
def test_a_folder_that_cannot_be_written(search, vectors, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "file" / "kept"))
    with pytest.warns(UserWarning, match="The index is not kept: .* cannot be written"):
        check(made(search, vectors), vectors)


KILLED = """
import os, signal, sys
import numpy as np
from kcrc.method.distances.base import prepare_vectors
from kcrc.method.distances.pixel import Euclidean
from kcrc.method.neighbours.searches import index_by
from kcrc.method.neighbours.approximate import finder_named
kind = finder_named(sys.argv[1])
def torn(self, file):
    file.write(b"half of it")
    os.kill(os.getpid(), signal.SIGKILL)
def stopped(self, blocks, *, threads):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(kind, sys.argv[2], torn if sys.argv[2] == "write" else stopped)
vectors = np.random.default_rng(0).normal(size=(300, 6)).astype(np.float32)
index_by(sys.argv[1], Euclidean(), prepare_vectors(vectors), budget=10**8, k=5, n_jobs=1)
"""


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("moment", ["add", "write"])
def test_a_kill_in_the_middle_leaves_no_index(search, moment, vectors, folder, reads):
    done = subprocess.run([sys.executable, "-c", KILLED, search, moment], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert not list(folder.glob(f"*{cache.ENDING}"))
    check(made(search, vectors), vectors)
    assert reads == []
    assert len(list(folder.glob(f"*{cache.ENDING}"))) == 1


@pytest.mark.parametrize("search", SEARCHES[:1])
def test_those_used_least_lately_give_way(search, vectors, folder, monkeypatch):
    monkeypatch.setattr(cache, "MOST", 3)
    for n in range(100, 150, 10):
        made(search, vectors[:n])
        for age, file in enumerate(sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime, reverse=True)):
            os.utime(file, (10**9 - age, 10**9 - age))
    assert len(list(folder.iterdir())) == 3
    (folder / "notes.txt").write_text("somebody's own")
    made(search, vectors)
    assert (folder / "notes.txt").exists()


@pytest.mark.parametrize("search", SEARCHES[:1])
def test_a_disk_that_is_only_read(search, vectors, folder, reads, monkeypatch):
    """What is kept is used, though nobody can note when."""
    made(search, vectors)

    def refused(*_):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(cache.os, "utime", refused)
    made(search, vectors)
    assert reads == [search]


@pytest.mark.parametrize("search", SEARCHES[:1])
def test_a_file_of_another_user_is_not_shown_to_the_library(search, vectors, folder, reads, monkeypatch):
    made(search, vectors)
    (file,) = folder.iterdir()
    mine = os.getuid()
    if mine == 0:
        os.chown(file, 12345, -1)
    else:
        monkeypatch.setattr(cache.os, "getuid", lambda: mine + 1)
    assert cache.load_index(finder_named(search), file, *vectors.shape) is None
    assert reads == []


def test_two_programs_make_room_at_once(folder, monkeypatch):
    """A file goes between the look at the folder and the look at it: no reason to say that nothing was kept."""
    monkeypatch.setattr(cache, "MOST", 1)
    folder.mkdir(exist_ok=True)
    there = [folder / f"{name}{cache.ENDING}" for name in "ab"]
    for path in there:
        path.touch()
    monkeypatch.setattr(Path, "iterdir", lambda _: iter([*there, folder / f"gone{cache.ENDING}"]))
    cache._make_room(folder)
    assert sum(path.exists() for path in there) == 1
