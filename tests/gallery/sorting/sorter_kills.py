"""Sorts and takes back in processes that die at every call of the system, one after the other.

``python tests/gallery/sorting/sorter_kills.py FOLDER HOW AGAIN`` prints how many calls there were. It is a program of
its own because a small process forks in a millisecond, and one with all tests loaded takes thirty times as long.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kcrc.errors import KCRCError
from kcrc.gallery.sorting.sorter import DOUBTFUL, SortAnswer, Sorter, logs, take_back

SURE, UNSURE = SortAnswer("wren", 0.99), SortAnswer("wren", 0.5)
ANSWERS = [SURE, UNSURE]


def tree(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def images_in(root: Path) -> dict[str, bytes]:
    return {name: data for name, data in tree(root).items() if name.endswith(".jpg")}


def sort(images: list[Path], out: Path, how: str, answers: Sequence[SortAnswer] = (SURE, UNSURE, SURE)) -> None:
    with Sorter(out, ["wren", "owl"], how=how) as sorter:
        for image, answer in zip(images, answers, strict=True):
            if os.path.lexists(image):
                sorter.take(image, answer)


CALLS = ("open", "write", "fsync", "link", "unlink", "mkdir", "symlink", "rmdir", "replace")


def killed_at(step: int, work: Any) -> bool:
    """Run ``work`` in a process that dies, without a last word, at its step-th call of the system; whether it did."""
    child = os.fork()
    if child == 0:
        left = [step]

        def dying(real: Any) -> Any:
            def call(*arguments: Any, **named: Any) -> Any:
                left[0] -= 1
                if left[0] < 0:
                    os._exit(9)
                return real(*arguments, **named)

            return call

        for name in CALLS:
            setattr(os, name, dying(getattr(os, name)))
        try:
            work()
        except KCRCError:
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 9


def lose_nothing(folder: Path, how: str, *, again: bool) -> int:
    step, killed = 0, True
    while killed:
        home = folder / str(step)
        (home / "in").mkdir(parents=True)
        images = [home / "in" / f"{name}.jpg" for name in "ab"]
        for path in images:
            path.write_bytes(path.stem.encode() * 100)
        before, out = tree(home / "in"), home / "out"
        killed = killed_at(step, lambda images=images, out=out: sort(images, out, how, ANSWERS))
        assert set(before.values()) <= set(tree(home).values())
        if again:  # the same command completes it
            sort(images, out, how, ANSWERS)
            assert images_in(out) == {"wren/a.jpg": b"a" * 100, f"{DOUBTFUL}/b.jpg": b"b" * 100}
        back = 0
        while logs(out):
            killed_at(back, lambda out=out: take_back(out))
            assert set(before.values()) <= set(tree(home).values())
            back += 1
            assert back < 200
        assert tree(home / "in") == before
        assert [path for path in out.rglob("*") if path.is_file()] == []
        step += 1
    return step


if __name__ == "__main__":
    warnings.simplefilter("error")
    os.fsync = lambda _: None  # a moment to die at, like the others; what a process wrote outlives it without a disk
    print(lose_nothing(Path(sys.argv[1]), sys.argv[2], again=sys.argv[3] == "again"))
