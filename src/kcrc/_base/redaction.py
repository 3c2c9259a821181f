"""Hide passwords: addresses of galleries may contain one, and no text that is shown may."""

from __future__ import annotations

import re
from itertools import pairwise
from urllib.parse import unquote

HIDDEN = "***"
# Options of an address whose values are shown. Those of all others are hidden, as new versions of libpq may add
# secrets.
SHOWN = {"gallery", "host", "hostaddr", "port", "dbname", "user", "sslmode", "sslrootcert", "application_name"}
SHOWN |= {"connect_timeout", "client_encoding", "target_session_attrs", "channel_binding", "gssencmode", "keepalives"}
# Also with one slash or none: pathlib turns two into one, and a password in a misspelt address is still a password.
_SCHEME = re.compile(r"(?i)postgre\w*(?::(?!\s)[/\\]*|/+(?=\S*:\S*@))|[a-z][\w+.-]*://")
_ANOTHER = re.compile(r"(?:(?<=\s)|(?<=\s['\"(<]))postgres(?:ql)?://")  # a second one in a text, as in 'copy … to …'
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
    """An address whose ``str`` and ``repr`` hide its password; the text itself is complete."""

    def __str__(self) -> str:
        return address_without_secrets("".join(self))

    def __repr__(self) -> str:
        return repr(str(self))


def without_secrets(text: str) -> str:
    """Return the text with the passwords of all addresses and connection strings in it hidden."""
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
    """Return one address with its password hidden, even if the password looks as if a second address began in it."""
    first = _SCHEME.search(address)
    if first is not None:
        address = address[: first.start()] + _address_without(address[first.start() :])
    return _fields_without(address)


def _has_ended(address: str) -> bool:
    """Return whether another address may begin after this one. After a ':', even that of a port, or after a secret
    option, a blank and postgresql:// may still belong to the password; not after a password that is hidden already, as
    each is before several addresses are put into one sentence."""
    rest = _parts(address)[1]
    query = _QUERY.search(rest)
    start, options = (rest, []) if query is None else (rest[: query.start()], rest[query.end() :].split("&"))
    return _ENDED.fullmatch(start) is not None and all(_option_without(option) == option for option in options)


def _address_without(address: str) -> str:
    """Hide the password in an address and in what follows it. A password that was not escaped may contain '@', '/' and
    even '://', so everything from the first ':' to the last '@' is hidden: rather too much than too little."""
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
    """Split an address into the scheme with the marks after it, and the rest."""
    scheme = _SCHEME.match(address)
    end = 0 if scheme is None else scheme.end()
    return address[:end], address[end:]


def _option_without(option: str) -> str:
    key, mark, _ = option.partition("=")
    if unquote(key) in SHOWN:
        return option
    return f"{key}={HIDDEN}" if mark else HIDDEN


def _fields_without(text: str) -> str:
    return _FIELD.sub(lambda field: f"{field['option'] or field['name']}={HIDDEN}", text)
