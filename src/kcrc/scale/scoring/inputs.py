"""What is asked, in pieces: images by name, or tables of vectors; and what tells one input from another."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kcrc.errors import DataError
from kcrc.files.plain_file import open_plain
from kcrc.scale.scoring.remote import files_below, is_remote, state
from kcrc.scale.scoring.tables import NamedVectors, RowRange, is_table, ranges

IMAGES = 256  # in a piece
LIST = ".txt"
LIST_BYTES, LIST_LINES, LONGEST = 1 << 30, 10_000_000, 65_536  # of a list, and bytes of a line of it


@dataclass(frozen=True)
class Piece:
    """A share of the input: images by their names, or rows of a table."""

    number: int
    images: tuple[str, ...] = ()
    rows: RowRange | NamedVectors | None = None

    def __len__(self) -> int:
        return len(self.images) if self.rows is None else len(self.rows)


@dataclass(frozen=True)
class Input:
    """Either images, or tables of vectors: names in the order in which they are answered."""

    images: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    width: int | None = None
    """Numbers that a vector of the tables must have (None: as many as it has)."""

    def pieces(self) -> Iterator[Piece]:
        """All of it, numbered from 0, the same way every time."""
        if self.images:
            for number, start in enumerate(range(0, len(self.images), IMAGES)):
                yield Piece(number, images=self.images[start : start + IMAGES])
        every = itertools.chain.from_iterable(ranges(table, self.width) for table in self.tables)
        for number, rows in enumerate(every):
            yield Piece(number, rows=rows)

    def identity(self) -> str:
        """A digest of the names, sizes and times of all files: another input has another."""
        digest = hashlib.sha256()
        for name in (*self.images, *self.tables):
            digest.update(f"{name}\0{state(name)}\0".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()


def read_input(given: Sequence[str], files_of: Callable[[Sequence[str]], Sequence[str]]) -> Input:
    """The input that names stand for, in their order; ``files_of`` opens up the folders and patterns of this machine. A
    text file is a list of names, a line each, all of files of this machine."""
    tables = [name for name in given if is_table(name)]
    images: list[str] = []
    for name in given:
        if is_table(name):
            continue
        if is_remote(name):
            images += files_below(name)
        else:
            images += _listed(name) if name.lower().endswith(LIST) else files_of([name])
    if bool(tables) == bool(images):
        what = "both images and tables of vectors" if tables else "no images and no tables of vectors"
        raise DataError(f"There are {what} among what is given; give the one or the other.")
    return Input(tuple(images), tuple(tables))


def _listed(name: str) -> list[str]:
    """The names in a list."""
    names: list[str] = []
    try:
        with open_plain(name) as file:
            if os.fstat(file.fileno()).st_size > LIST_BYTES:
                raise DataError(f"The list '{name}' has more than {LIST_BYTES} bytes; give it in parts.")
            for number in itertools.count(1):
                line = file.readline(LONGEST + 1)
                if not line:
                    break
                if len(line) > LONGEST or number > LIST_LINES:
                    raise DataError(
                        f"The list '{name}' has a line of more than {LONGEST} bytes, or more than {LIST_LINES} lines; "
                        "a list has a file name a line. Give a long one in parts."
                    )
                names += [os.fsdecode(part) for part in line.splitlines() if part.strip()]
    except OSError as problem:
        raise DataError(f"The list '{name}' cannot be read: {problem.strerror or problem}.") from None
    foreign = next((one for one in names if is_remote(one)), None)
    if foreign is not None:
        raise DataError(f"The list '{name}' names '{foreign}'; only the command line names addresses elsewhere.")
    return names
