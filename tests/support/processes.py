"""What a process and those it started are doing, as Linux tells it."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
from pathlib import Path

LISTENS = "0A"


def tree(root: int) -> list[int]:
    """A process and all that descend from it."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            parents[int(status.parent.name)] = int(re.search(r"PPid:\s+(\d+)", status.read_text())[1])
    found = [root]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def alive(process: int) -> bool:
    """Whether it runs: one that ended and that nobody asked about yet does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def listening(root: int) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """The addresses that a process and its descendants take TCP connections at."""
    inodes = set()
    for process in tree(root):
        for file in Path(f"/proc/{process}/fd").glob("*"):
            with contextlib.suppress(OSError):
                inodes |= set(re.findall(r"socket:\[(\d+)\]", os.readlink(file)))
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENS and fields[9] in inodes:
                found.append(_address(fields[1].partition(":")[0]))
    return found


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Words of four bytes, each in the machine's order."""
    words = [bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8)]
    address = ipaddress.ip_address(b"".join(words))
    return getattr(address, "ipv4_mapped", None) or address
