"""The ways to keep a gallery, by the scheme of its address: a plain path is a file of SQLite.

Another way is a folder beside ``sqlite`` that passes ``tests/gallery/stores/test_contract.py``, and one line in
``KINDS``: its module (or anything with the functions of ``contract.StoreKind``), or the name of it, which is imported
when needed.
"""

from __future__ import annotations

import importlib
import os
import re

from kcrc._base.redaction import address_without_secrets
from kcrc.errors import FileError, StateError
from kcrc.gallery.contract import StoreKind

__all__ = ["KINDS"]

_FILE = ""
KINDS: dict[str, StoreKind | str] = {
    _FILE: "kcrc.gallery.stores.sqlite",
    "postgresql": "kcrc.gallery.stores.postgres",
    "postgres": "kcrc.gallery.stores.postgres",
}
_EXTRAS = {"psycopg": "postgres"}  # packages that a way may need, and the extra that brings them
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_MISSPELT = re.compile(r"(?i)postgres(?:ql)?:(?!//)")  # as pathlib leaves an address: with one slash


def kind_of(address: str | os.PathLike[str]) -> StoreKind:
    """How the gallery at an address is kept."""
    if _MISSPELT.match(str(address)):  # a file of this name would have a password in its name
        raise FileError(
            f"'{address_without_secrets(str(address))}' is neither an address nor a path. An address is a text that "
            "begins with 'postgresql://'; for a file of this name, give its whole path."
        )
    found = _SCHEME.match(os.fspath(address)) if isinstance(address, str) else None
    scheme = found[1].lower() if found else _FILE
    if scheme not in KINDS:
        known = ", ".join(f"'{name}://'" for name in sorted(KINDS) if name)
        shown = address_without_secrets(str(address))
        raise FileError(
            f"'{shown}' begins like an address, and there is no way to keep a gallery at '{scheme}://'"
            + (f" (there is for {known})." if known else ". Give the path of a file.")
        )
    kind = KINDS[scheme]
    if not isinstance(kind, str):
        return kind
    try:
        return importlib.import_module(kind)
    except ImportError as problem:
        extra = _EXTRAS.get((problem.name or "psycopg").partition(".")[0])  # psycopg without its library has no name
        if extra is None:
            raise
        raise StateError(f"Galleries at '{scheme}://' need the extra '{extra}': pip install 'kcrc[{extra}]'.") from None
