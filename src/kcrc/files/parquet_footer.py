"""The footer of a Parquet file, checked before Arrow believes it.

Arrow makes room for all that a footer lists before it looks at any of it: three bytes of it may take 600 of memory. So
a footer has a limit, and so has each list in it; the places it names have to be in the file.
"""

from __future__ import annotations

import io
from typing import Any

from kcrc.errors import KCRCError
from kcrc.files.plain_files import read_json

FOOTER = 4_000_000  # bytes: tens of thousands of pieces of columns, and less than a gigabyte of memory if forged
ENTRIES = 100_000  # columns or row groups
_MAGIC = b"PAR1"


def opened_parquet(file: Any, name: str, error: type[KCRCError], **options: Any) -> Any:
    """A ``ParquetFile`` whose footer claims nothing that the file cannot hold; ``error`` where it does.

    What else Arrow finds wrong is an error of Arrow's.
    """
    import pyarrow.parquet

    size = _check_length(file, name, error)
    found = pyarrow.parquet.ParquetFile(
        file, thrift_string_size_limit=FOOTER, thrift_container_size_limit=ENTRIES, **options
    )
    _check_places(found.metadata, size, name, error)
    return found


def _check_length(file: Any, name: str, error: type[KCRCError]) -> int:
    """The bytes of the file, which ends with the length of its footer and four letters."""
    size = int(file.seek(0, io.SEEK_END))
    file.seek(max(0, size - 8))
    end = file.read(8)
    file.seek(0)
    if size < 12 or end[4:] != _MAGIC:
        raise error(f"'{name}' cannot be read as Parquet: its end is missing, or it is another kind of file.")
    length = int.from_bytes(end[:4], "little")
    if length > size - 12:
        raise error(
            f"'{name}' cannot be read as Parquet: its footer claims {length} bytes, and the whole file has {size}. "
            "It is damaged; get it again."
        )
    if length > FOOTER:
        raise error(
            f"'{name}' cannot be read as Parquet: its footer has {length} bytes, more than the limit of {FOOTER}. "
            "Write it in several files, in larger row groups, or with one column of lists."
        )
    return size


def _check_places(metadata: Any, size: int, name: str, error: type[KCRCError]) -> None:
    """An error where a piece of a column is not in the file, or a count is below 0: room is made for it unseen."""
    rows = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        rows += group.num_rows
        for place in range(group.num_columns):
            piece = group.column(place)
            start = piece.data_page_offset
            if piece.has_dictionary_page and piece.dictionary_page_offset is not None:
                start = min(start, piece.dictionary_page_offset)
            counts = (
                start,
                piece.total_compressed_size,
                piece.total_uncompressed_size,
                piece.num_values,
                group.num_rows,
            )
            if min(counts) < 0 or start + piece.total_compressed_size > size:
                raise error(
                    f"'{name}' cannot be read as Parquet: its footer places {piece.total_compressed_size} bytes at "
                    f"byte {start}, and the whole file has {size}. It is damaged; get it again."
                )
    if rows != metadata.num_rows:
        raise error(
            f"'{name}' cannot be read as Parquet: its footer claims {metadata.num_rows} rows, and {rows} in its parts. "
            "It is damaged; get it again."
        )


# Names of classes beside their numbers, as Hugging Face datasets writes them: in the footer, under one key.


class ClassNames:
    """The classes of a column of numbers, and what becomes of a number that stands for none."""

    def __init__(self, names: list[str], error: type[KCRCError]) -> None:
        self.names, self._error = names, error

    def __call__(self, number: Any, place: str) -> str | None:
        """The class of a number; None if there is none, which is -1 there."""
        if number is None or number == -1:
            return None
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(self.names):
            raise self._error(f"{place} has the class {str(number)[:60]}; the file names {len(self.names)}, from 0.")
        return self.names[number]


def class_names(schema: Any, error: type[KCRCError]) -> dict[str, ClassNames]:
    """The classes by column, where the file names them. What is not as datasets writes it counts as not there."""
    found: dict[str, ClassNames] = {}
    try:
        features = read_json((schema.metadata or {}).get(b"huggingface", b"null"))["info"]["features"].items()
    except (ValueError, TypeError, KeyError, AttributeError):
        return found
    for column, feature in features:
        names = feature.get("names") if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" else None
        is_whole = isinstance(names, list) and len(names) <= ENTRIES and all(isinstance(name, str) for name in names)
        if names and is_whole and len(set(names)) == len(names):
            found[column] = ClassNames(names, error)
    return found
