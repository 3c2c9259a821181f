"""Addresses of galleries that may carry a password, and the same text without it, for all that is shown."""

from __future__ import annotations

import re
from itertools import pairwise
from urllib.parse import unquote

HIDDEN = "***"
# Options of an address whose values are shown; libpq gets new ones that are secret, so those of all others are not.
SHOWN = {"gallery", "host", "hostaddr", "port", "dbname", "user", "sslmode", "sslrootcert", "application_name"}
SHOWN |= {"connect_timeout", "client_encoding", "target_session_attrs", "channel_binding", "gssencmode", "keepalives"}
# Also with one slash or none: pathlib makes one of two, and a password in a misspelt address is no less a password.
_SCHEME = re.compile(r"(?i)postgre\w*(?::(?!\s)[/\\]*|/+(?=\S*:\S*@))|[a-z][\w+.-]*://")
_ANOTHER = re.compile(r"(?:(?<=\s)|(?<=\s['\"(<]))postgres(?:ql)?://")  # of two in one text, as in 'copy … to …'
_HOST = r"(?:\[[\w.:%]*\]|[\w.%-]*)(?::\d+)?"
_NO_PASSWORD = re.compile(rf"(?:[^:/?@\s]*@)?{_HOST}(?:,{_HOST})*(?=$|[^:@\w]|:\s)")  # a user and hosts
_ENDED = re.compile(rf"(?s)[^:]*(?::{re.escape(HIDDEN)}@[^@]*)?")  # no password, or one that is hidden
_QUERY = re.compile(r"\?(?=[^\s?=]+=)")
_FIELD = re.compile(
    r"(?is)(?:(?P<option>(?<=[?&])(?:ssl)?password)=[^&]*"  # of an address, up to the next
    r"|(?<![a-z])(?P<name>(?:ssl)?password|passwd|pwd|oauth_client_secret|scram_(?:client|server)_key)"
    r"\s*=\s*(?:'(?:\\.|[^'\\])*'|[^\s&]+))"
)


class ServerAddress(str):
    """An address that is shown without its password, whoever shows it; what it holds is whole."""

    def __str__(self) -> str:
        return address_without_secrets("".join(self))

    def __repr__(self) -> str:
        return repr(str(self))


def without_secrets(text: str) -> str:
    """A text with the passwords of all addresses and connection strings in it hidden."""
    first = _SCHEME.search(text)
    if first is not None:
        starts = [first.start()]
        for another in _ANOTHER.finditer(text, first.end()):
            if _has_ended(text[starts[-1] : another.start()]):
                starts.append(another.start())
        shown = [_address_without(text[start:end]) for start, end in pairwise([*starts, len(text)])]
        text = text[: starts[0]] + "".join(shown)
    return _fields_without(text)


def address_without_secrets(address: str) -> str:
    """What is known to be one address, with its password hidden, also where that reads as if another began in it."""
    first = _SCHEME.search(address)
    if first is not None:
        address = address[: first.start()] + _address_without(address[first.start() :])
    return _fields_without(address)


def _has_ended(address: str) -> bool:
    """Whether another address may begin after it. After a ':', even that of a port, or a secret option, a blank and
    postgresql:// may as well be in the password; not after one that is hidden already, as that of each address is
    before a sentence is made of several."""
    rest = _parts(address)[1]
    query = _QUERY.search(rest)
    start, options = (rest, []) if query is None else (rest[: query.start()], rest[query.end() :].split("&"))
    return _ENDED.fullmatch(start) is not None and all(_option_without(option) == option for option in options)


def _address_without(address: str) -> str:
    """An address and what follows it. A password that was not escaped may hold anything, '@', '/' and '://' too: all
    from the first ':' to the last '@' is hidden. Rather too much is hidden than a part of it shown."""
    scheme, rest = _parts(address)
    colon, at = rest.find(":"), rest.rfind("@")
    if 0 <= colon < at:
        rest = f"{rest[:colon]}:{HIDDEN}{rest[at:]}"
    elif scheme.lower().startswith("postgre") and _NO_PASSWORD.match(rest) is None:  # without a host
        rest = re.sub(r":\S*", f":{HIDDEN}", rest, count=1)
    query = _QUERY.search(rest)
    if query is not None and scheme.lower() not in ("http://", "https://"):
        options = "&".join(map(_option_without, rest[query.end() :].split("&")))
        rest = rest[: query.end()] + options
    return scheme + rest


def _parts(address: str) -> tuple[str, str]:
    """The scheme with the marks after it, and the rest."""
    found = _SCHEME.match(address)
    end = 0 if found is None else found.end()
    return address[:end], address[end:]


def _option_without(option: str) -> str:
    key, mark, _ = option.partition("=")
    if unquote(key) in SHOWN:
        return option
    return f"{key}={HIDDEN}" if mark else HIDDEN


def _fields_without(text: str) -> str:
    return _FIELD.sub(lambda found: f"{found['option'] or found['name']}={HIDDEN}", text)
