"""Tests that wait for no disk: here processes end, not machines, and what they wrote is there without its word.

A gallery waits for the disk four times a change, 1 to 20 ms each, and tests make tens of thousands of changes. Programs
that a user would run, and those that are killed, wait as they do for a user.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from kcrc.gallery.stores.sqlite import file


def wait_for_no_disk(put: Callable[[Any, str, Any], None] = setattr) -> None:
    others = [setting for setting in file._SETTINGS if not setting.startswith("synchronous")]
    put(file, "_SETTINGS", (*others, "synchronous = OFF"))
    put(os, "fsync", lambda _: None)
