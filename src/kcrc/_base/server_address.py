"""Addresses of galleries on servers: a value that is parsed once, and that prints without its password."""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import unquote

HIDDEN = "***"
# Options of an address whose values are shown. All others are hidden, since new versions of libpq may add secrets.
SHOWN = {"gallery", "host", "hostaddr", "port", "dbname", "user", "sslmode", "sslrootcert", "application_name"}
SHOWN |= {"connect_timeout", "client_encoding", "target_session_attrs", "channel_binding", "gssencmode", "keepalives"}


@dataclass(frozen=True, repr=False, slots=True)
class ServerAddress:
    """``scheme://user:password@host/database?option=value``.

    ``str``, ``repr`` and formatting show it without what may be secret. It is no ``str`` and no path, so that nothing
    joins or opens it by accident; only ``reveal`` gives the whole text, to the store that connects."""

    _text: str

    @staticmethod
    def parse(where: str | os.PathLike[str] | ServerAddress) -> str | os.PathLike[str] | ServerAddress:
        """Return an address if ``where`` is one, else ``where`` itself, a path."""
        return ServerAddress(os.fspath(where)) if not isinstance(where, ServerAddress) and _is_one(where) else where

    @property
    def scheme(self) -> str:
        """The scheme in small letters; empty if '://' does not follow it."""
        scheme = _split(self._text)[0]
        return scheme.removesuffix("://").lower() if scheme.endswith("://") else ""

    def reveal(self) -> str:
        """Return the whole address, with its password."""
        return self._text

    def __str__(self) -> str:
        return _without_secrets(self._text)

    def __repr__(self) -> str:
        return repr(str(self))


def is_secret(option: str) -> bool:
    """Return whether the value of an option may be secret."""
    return unquote(option) not in SHOWN


def _is_one(where: str | os.PathLike[str]) -> bool:
    """Return whether ``where`` begins like an address. A misspelt one with too few slashes, as pathlib makes it, is
    one too: a file of that name would have a password in its name."""
    text = os.fspath(where)
    scheme, rest = _split(text)
    if scheme.endswith("://"):
        return isinstance(where, str)
    name = scheme.lower().rstrip("/\\")
    return name in ("postgres:", "postgresql:") or (name in ("postgres", "postgresql") and 0 <= rest.find(":") < rest.find("@"))


def _split(text: str) -> tuple[str, str]:
    """Return the scheme with the marks after it, and the rest."""
    end = next((i for i, letter in enumerate(text) if not (letter.isalnum() or letter in "+.-")), len(text))
    if end and text.startswith("://", end):
        return text[: end + 3], text[end + 3 :]
    rest = text[end:].lstrip(":/\\")
    return text[: len(text) - len(rest)], rest


def _without_secrets(text: str) -> str:
    """Hide the password, rather too much than too little: one that was not escaped may hold '@', '/', '?' and '://'."""
    scheme, rest = _split(text)
    colon, at = rest.find(":"), rest.rfind("@")
    if 0 <= colon < at:
        rest = f"{rest[:colon]}:{HIDDEN}{rest[at:]}"
    elif not _ports_are_numbers(rest[at + 1 :]):
        return f"{scheme}{rest[:colon]}:{HIDDEN}"
    start, mark, options = rest.partition("?")
    start, *more = start.split("&")
    shown = "&".join([start, *(HIDDEN for _ in more)])
    return scheme + shown + mark + ("&".join(map(_show_option, options.split("&"))) if mark else "")


def _ports_are_numbers(hosts: str) -> bool:
    """Return whether what follows each host is a port, and not a password without a host."""
    for end in "/?":
        hosts = hosts.partition(end)[0]
    ports = (host.rpartition("]")[2].partition(":")[2] for host in hosts.split(","))
    return all(not port or port.isdecimal() for port in ports)


def _show_option(option: str) -> str:
    key, mark, value = option.partition("=")
    if mark and not is_secret(key) and "=" not in unquote(value):
        return option
    return f"{key}={HIDDEN}" if mark else HIDDEN
