"""Check the footer of a Parquet file before Arrow reads it.

Arrow allocates memory for everything that a footer lists before it checks any of it: three bytes of a footer can take
600 bytes of memory. So the size of a footer and the length of each list in it are limited, and the positions in it must
lie inside the file.
"""

from __future__ import annotations

import io
from typing import Any

from kcrc.errors import KCRCError
from kcrc.files.plain_files import read_json

# A footer of this size describes tens of thousands of column chunks; a forged one takes less than a gigabyte of memory.
FOOTER = 4_000_000  # bytes of the footer
ENTRIES = 100_000  # columns or row groups
_MAGIC = b"PAR1"


def open_parquet(file: Any, name: str, error: type[KCRCError], **options: Any) -> Any:
    """Open a ``ParquetFile``; raise ``error`` if its footer claims more than the file can hold.

    Whatever else is wrong with it is an error of Arrow's.
    """
    import pyarrow.parquet

    size = _check_length(file, name, error)
    parquet = pyarrow.parquet.ParquetFile(
        file, thrift_string_size_limit=FOOTER, thrift_container_size_limit=ENTRIES, **options
    )
    _check_positions(parquet.metadata, size, name, error)
    return parquet


def _check_length(file: Any, name: str, error: type[KCRCError]) -> int:
    """Return the size of the file in bytes; check its end, which is the length of the footer and four letters."""
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


def _check_positions(metadata: Any, size: int, name: str, error: type[KCRCError]) -> None:
    """Raise ``error`` if a column chunk lies outside the file or a count is negative, as Arrow allocates by these."""
    rows = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        rows += group.num_rows
        for column in range(group.num_columns):
            chunk = group.column(column)
            start = chunk.data_page_offset
            if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
                start = min(start, chunk.dictionary_page_offset)
            counts = (
                start,
                chunk.total_compressed_size,
                chunk.total_uncompressed_size,
                chunk.num_values,
                group.num_rows,
            )
            if min(counts) < 0 or start + chunk.total_compressed_size > size:
                raise error(
                    f"'{name}' cannot be read as Parquet: its footer places {chunk.total_compressed_size} bytes at "
                    f"byte {start}, and the whole file has {size}. It is damaged; get it again."
                )
    if rows != metadata.num_rows:
        raise error(
            f"'{name}' cannot be read as Parquet: its footer claims {metadata.num_rows} rows, its parts {rows}. "
            "It is damaged; get it again."
        )


# Class names as Hugging Face datasets writes them: in the footer, under one key.


class ClassNames:
    """The class names of a column of class numbers."""

    def __init__(self, names: list[str], error: type[KCRCError]) -> None:
        self.names, self._error = names, error

    def __call__(self, number: Any, place: str) -> str | None:
        """Return the name of a class number; None for -1, which means no class."""
        if number is None or number == -1:
            return None
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(self.names):
            raise self._error(
                f"{place} has the class number {str(number)[:60]}; it must be 0 to {len(self.names) - 1}, as the file "
                f"names {len(self.names)} classes."
            )
        return self.names[number]


def class_names(schema: Any, error: type[KCRCError]) -> dict[str, ClassNames]:
    """Return the class names by column, if the file has them; ignore whatever is not as datasets writes it."""
    by_column: dict[str, ClassNames] = {}
    try:
        features = read_json((schema.metadata or {}).get(b"huggingface", b"null"))["info"]["features"].items()
    except (ValueError, TypeError, KeyError, AttributeError):
        return by_column
    for column, feature in features:
        names = feature.get("names") if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" else None
        is_whole = isinstance(names, list) and len(names) <= ENTRIES and all(isinstance(name, str) for name in names)
        if names and is_whole and len(set(names)) == len(names):
            by_column[column] = ClassNames(names, error)
    return by_column
