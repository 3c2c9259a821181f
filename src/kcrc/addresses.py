"""Addresses of galleries that may carry a password, and the same text without it, for all that is shown."""

from __future__ import annotations

import re

# user:password@ after a scheme. A password that was not escaped may hold anything, spaces and '@' too: the last '@'
# before another address ends it. Rather too much is hidden than a part of it shown.
_USER = re.compile(r"(?<=://)(?P<user>[^:/@?]*):(?:(?!://).)*@", re.DOTALL)
_FIELD = re.compile(
    r"(?is)(?:(?P<option>(?<=[?&])(?:ssl)?password)=[^&]*"  # of an address, up to the next
    r"|(?<![a-z])(?P<name>(?:ssl)?password|passwd|pwd)\s*=\s*(?:'(?:\\.|[^'\\])*'|[^\s&]+))"
)
HIDDEN = "***"


class ServerAddress(str):
    """An address that is shown without its password, whoever shows it; what it holds is whole."""

    def __str__(self) -> str:
        return without_secrets("".join(self))

    def __repr__(self) -> str:
        return repr(str(self))


def without_secrets(text: str) -> str:
    """A text with the passwords of all addresses and connection strings in it hidden."""
    if "://" in text:
        text = _USER.sub(lambda found: f"{found['user']}:{HIDDEN}@", text)
    return _FIELD.sub(lambda found: f"{found['option'] or found['name']}={HIDDEN}", text)
