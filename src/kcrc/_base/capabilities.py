"""What a part says of itself, so that nobody has to know which part it is.

A capability is an attribute of a contract ("it orders like the Euclidean distance", "it iterates"), about what a part's
methods do. A subclass that does it in a way of its own inherits no such word: it says it again, or has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def said_anew(part: type, *, methods: tuple[str, ...], capabilities: Mapping[str, Any]) -> None:
    """Give a class that defines one of ``methods`` the value in ``capabilities`` for each it does not state itself."""
    if any(name in vars(part) for name in methods):
        for name, none in capabilities.items():
            if name not in vars(part):
                setattr(part, name, none)
