from __future__ import annotations

import ast
import errno
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from kcrc import KCRCClassifier
from kcrc.errors import DataError, FileError, ParameterError
from kcrc.files import archive
from kcrc.files.atomic import atomic_write, write_bytes
from kcrc.files.figures import save_figure
from kcrc.gallery import Gallery
from kcrc.report.html import page, write_page
from kcrc.report.tables import Table
from lab.bench.results import Results

SOURCES = Path(__file__).parents[2] / "src" / "kcrc"
posix = pytest.mark.skipif(os.name != "posix", reason="rights and limits the POSIX way")


def _archive(path: Path) -> None:
    archive.write_archive(path, "thing", {"k": 1}, {"a": np.zeros(50_000)})


def _classifier(path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((12, 5000))
    fixed = {"n_neighbors": 3, "scaling": "plain", "kernel": "linear", "mu": 0.1, "form": "rkhs"}
    KCRCClassifier(**fixed, gamma=1.0, decision="ratio", locality="atoms").fit(X, np.arange(12) % 2).save(path)


def _export(path: Path) -> None:
    there = path.parent / "for-export" / "g.kcrc"
    if not there.exists():
        pytest.skip("the gallery is made by the fixture `home`")
    with Gallery.open(there, readonly=True) as gallery:
        gallery.export(path)


def _page(path: Path) -> None:
    write_page(path, page("title", "x" * 300_000))


def _figure(path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 6))
    FigureCanvasAgg(figure)
    figure.figimage(np.random.default_rng(0).random((600, 600)))
    save_figure(figure, path)


def _table(path: Path) -> None:
    Table(path.stem, "caption", ["a"], [["x" * 300_000]]).write(path.parent)


def _bench(path: Path) -> None:
    Results(True, {"padding": "x" * 300_000}).write(path)


def _cells(path: Path) -> None:
    write_bytes(path, b"x" * 300_000)


WRITERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "archive": ("a.npz", _archive),
    "classifier": ("c.kcrcmodel", _classifier),
    "export": ("e.npz", _export),
    "page": ("p.html", _page),
    "figure": ("f.png", _figure),
    "table": ("t.csv", _table),
    "bench": ("bench.json", _bench),
    "cells": ("cell.json", _cells),
}
every_writer = pytest.mark.parametrize("name", WRITERS)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a gallery to be exported in it."""
    (tmp_path / "for-export").mkdir()
    with Gallery.create(tmp_path / "for-export" / "g.kcrc", dim=4000) as gallery:
        gallery.add(["a", "b"] * 8, np.random.default_rng(0).standard_normal((16, 4000)))
    return tmp_path


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_file_is_there_whole_with_its_folders_and_nothing_beside_it(tmp_path: Path) -> None:
    write_bytes(tmp_path / "deep" / "er" / "a.bin", b"content")
    assert (tmp_path / "deep" / "er" / "a.bin").read_bytes() == b"content"
    assert _names(tmp_path / "deep" / "er") == {"a.bin"}


def test_until_the_end_of_the_block_the_old_file_is_there(tmp_path: Path) -> None:
    goal = tmp_path / "a"
    goal.write_bytes(b"old")
    with atomic_write(goal) as file:
        file.write(b"new")
        file.flush()
        assert goal.read_bytes() == b"old"
    assert goal.read_bytes() == b"new"


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), DataError("not this"), MemoryError()])
def test_an_error_in_the_block_passes_and_leaves_the_old_file(tmp_path: Path, problem: BaseException) -> None:
    goal = tmp_path / "a"
    goal.write_bytes(b"old")

    def interrupted() -> None:
        with atomic_write(goal) as file:
            file.write(b"new")
            raise problem

    with pytest.raises(type(problem)) as told:
        interrupted()
    assert told.value is problem
    assert goal.read_bytes() == b"old"
    assert _names(tmp_path) == {"a"}


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
@every_writer
def test_a_full_disk_at_any_step_is_one_sentence(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str, step: str
) -> None:
    file_name, write = WRITERS[name]
    goal = home / file_name
    goal.write_bytes(b"old")
    before = _names(home)
    real = getattr(os, step)

    def full(*arguments: object, **named: object) -> object:
        if step == "open" and not str(arguments[0]).endswith(".new"):
            return real(*arguments, **named)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(FileError) as told:
        write(goal)
    assert str(told.value) == f"'{goal}' cannot be written: No space left on device."
    assert goal.read_bytes() == b"old"
    assert _names(home) == before


@posix
def test_a_limit_on_file_sizes_is_one_sentence_too(home: Path) -> None:
    """In a process of its own, with no way to write more than 50 kB into a file. Matplotlib lists the fonts of the
    machine before that: with some hundreds of them the list is longer, and it warns if it takes long."""
    for file_name, _ in WRITERS.values():
        (home / file_name).write_bytes(b"old")
    before = _names(home)
    program = f"""if True:
        import logging, resource, sys
        logging.disable()
        import matplotlib.font_manager
        logging.disable(logging.NOTSET)
        sys.path[:0] = {[str(Path(__file__).parent), str(SOURCES.parent)]!r}
        from pathlib import Path
        from kcrc.errors import FileError
        from test_atomic import WRITERS
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        for file_name, write in WRITERS.values():
            try:
                write(Path({str(home)!r}) / file_name)
            except FileError as problem:
                print(problem)
    """
    environment = {**os.environ, "KCRC_GALLERY_CACHE": "", "MPLCONFIGDIR": str(home / "for-export")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    sentences = [f"'{home / file_name}' cannot be written: File too large." for file_name, _ in WRITERS.values()]
    assert done.stdout.splitlines() == sentences
    assert all((home / file_name).read_bytes() == b"old" for file_name, _ in WRITERS.values())
    assert _names(home) == before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 128 kB, where one may be mounted."""
    where = tmp_path / "small"
    where.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "none", str(where)], capture_output=True)
    if done.returncode:
        pytest.skip("only root can mount a small disk")
    yield where
    subprocess.run(["umount", str(where)], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="tmpfs is Linux's")
@every_writer
def test_a_disk_that_is_really_full(small_disk: Path, home: Path, name: str) -> None:
    file_name, write = WRITERS[name]
    goal = small_disk / file_name
    goal.write_bytes(b"old")
    (small_disk / "for-export").symlink_to(home / "for-export")
    before = _names(small_disk)
    with pytest.raises(FileError, match="cannot be written: No space left on device"):
        write(goal)
    assert goal.read_bytes() == b"old"
    assert _names(small_disk) == before


@posix
@every_writer
@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o027, 0o640)])
def test_the_umask_decides_who_may_read_it(home: Path, name: str, umask: int, mode: int) -> None:
    file_name, write = WRITERS[name]
    before = os.umask(umask)
    try:
        write(home / file_name)
    finally:
        os.umask(before)
    assert stat.S_IMODE((home / file_name).stat().st_mode) == mode


@posix
def test_the_cache_of_a_gallery_heeds_the_umask(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KCRC_GALLERY_CACHE", raising=False)
    gallery = home / "for-export" / "g.kcrc"
    gallery.chmod(0o664)
    before = os.umask(0o077)
    try:
        with Gallery.open(gallery) as opened:
            opened.vectors()
    finally:
        os.umask(before)
    cache = gallery.parent / ".kcrc-cache" / "g.kcrc.vectors"
    assert stat.S_IMODE(cache.stat().st_mode) == 0o600


@posix
@every_writer
def test_the_umask_of_the_process_is_never_touched(home: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """It belongs to all threads: setting it for a moment gives another thread's file the wrong rights."""
    monkeypatch.setattr(os, "umask", None)
    WRITERS[name][1](home / WRITERS[name][0])
    assert (home / WRITERS[name][0]).exists()


def test_many_threads_write_one_file(tmp_path: Path) -> None:
    goal, wrong = tmp_path / "a", []

    def work(number: int) -> None:
        for _ in range(20):
            write_bytes(goal, bytes([number]) * 5000)
            found = goal.read_bytes()
            if len(found) != 5000 or len(set(found)) != 1:
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert _names(tmp_path) == {"a"}


@posix
def test_a_pipe_a_device_or_a_folder_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "null").symlink_to("/dev/null")
    for name in ("pipe", "folder", "null"):
        with pytest.raises(FileError, match="is not a file"):
            write_bytes(tmp_path / name, b"x")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert (tmp_path / "null").is_symlink()
    assert _names(tmp_path) == {"pipe", "folder", "null"}


@pytest.mark.parametrize("name", ["n" * 250, "ü" * 120, "a\nb", "x.new"])
def test_any_name_a_file_can_have(tmp_path: Path, name: str) -> None:
    write_bytes(tmp_path / name, b"x")
    assert _names(tmp_path) == {name}


@pytest.mark.parametrize("name", ["n" * 300, "no/folder/x", "a\0b"])
def test_a_name_no_file_can_have_is_one_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileError, match="cannot be written"), atomic_write(tmp_path / name):
        pass
    assert not _names(tmp_path)


def test_a_header_that_could_not_be_read_back_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="at most"):
        archive.write_archive(tmp_path / "x", "thing", {"k": "x" * 10_000_001}, {})
    assert not _names(tmp_path)


def test_a_figure_of_an_unknown_kind_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"cannot be written as '\.xyz'"):
        _figure(tmp_path / "f.xyz")
    assert not _names(tmp_path)


# Where a file may be written in another way, and why.
OTHER_WAYS = {
    "files/atomic.py": "it is the one way",
    "gallery/stores/sqlite/placing.py": "a gallery is made by SQLite, and put in its place in its own way",
    "files/boxed.py": "a pipe to the process that started it, not a file",
}
FORBIDDEN = {"mkstemp", "NamedTemporaryFile", "write_text", "write_bytes", "replace", "rename", "umask", "chmod"}


def test_every_file_is_written_in_the_one_way() -> None:
    wrong = []
    for path in SOURCES.rglob("*.py"):
        name = path.relative_to(SOURCES).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or name in OTHER_WAYS:
                continue
            called = node.func
            if isinstance(called, ast.Attribute) and called.attr in FORBIDDEN:
                owner = called.value.id if isinstance(called.value, ast.Name) else ""
                if called.attr not in ("replace", "rename") or owner in ("os", "path", "Path"):
                    wrong.append(f"{name}:{node.lineno} {called.attr}")
            opens = (isinstance(called, ast.Name) and called.id == "open") or (
                isinstance(called, ast.Attribute) and called.attr in ("open", "fdopen")
            )
            modes = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if opens and any(set(mode) <= set("rwaxbt+") and set(mode) & set("wax+") for mode in modes):
                wrong.append(f"{name}:{node.lineno} open for writing")
    assert not wrong
