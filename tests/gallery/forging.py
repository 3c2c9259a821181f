"""What a forger makes of a gallery: values changed, checksums and seals made to fit them again."""

from __future__ import annotations

import sqlite3

from kcrc.gallery import sealed


def reseal(db: sqlite3.Connection) -> None:
    """Checksums and seals that fit what the tables hold now."""
    for table, columns in sealed.COLUMNS.items():
        keys = columns[: sealed._KEY_WIDTH.get(table, 1)]
        rows = db.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
        sums = [sealed.checksum(table, row) for row in rows]
        naming = " AND ".join(f"{key} = ?" for key in keys)
        db.executemany(
            f"UPDATE {table} SET checksum = ? WHERE {naming}",
            [(total, *row[: len(keys)]) for total, row in zip(sums, rows, strict=True)],
        )
        seal = (len(rows), sum(sums) % sealed._MODULUS, table)
        db.execute("UPDATE seals SET row_count = ?, total = ? WHERE name = ?", seal)
