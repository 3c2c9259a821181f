from __future__ import annotations

import threading

import numpy as np

from images.features import odd_files as odd
from kcrc.images.decoding import reading
from kcrc.images.decoding.reading import Picture, read_chunks
from kcrc.images.decoding.resizing import View


def test_large_pictures_are_not_all_decoded_ahead(monkeypatch, tmp_path):
    """A million pixels each, room for four: a batch ends early, and no more wait than have room."""
    begun, seen, most, lock = 0, 0, 0, threading.Lock()

    def read(path, view, **options):
        nonlocal begun, most
        with lock:
            begun += 1
            most = max(most, begun - seen)
        return Picture(np.zeros((1000, 1000), np.uint8), str(path), "", "PNG", (1000, 1000))

    monkeypatch.setattr(reading, "read", read)
    monkeypatch.setattr(reading, "_AHEAD", 4_000_000)
    rows = []
    for batch in read_chunks([str(i) for i in range(40)], View(), chunk=16, threads=2):
        assert len(batch.rows) <= 4
        rows += batch.rows
        seen += len(batch.rows)
    assert rows == list(range(40))
    assert most <= 4 + 4


def test_small_pictures_come_in_whole_chunks(tmp_path):
    paths = []
    for i in range(25):
        paths.append(tmp_path / f"{i}.png")
        paths[-1].write_bytes(odd.saved(odd.noise("RGB", (9, 7), i), "PNG"))
    for view in (View(), View((4, 4))):
        assert [len(b.rows) for b in read_chunks(paths, view, chunk=10, threads=3)] == [10, 10, 5]


def test_an_abandoned_run_ends():
    chunks = read_chunks(["/nowhere/a.png"] * 50, on_error="skip", chunk=5, threads=2)
    assert len(next(chunks).problems) == 5
    chunks.close()
