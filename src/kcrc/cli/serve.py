"""``kcrc serve``: a gallery as a page in the browser."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kcrc.cli.arguments import gallery_argument, model_option, open_gallery
from kcrc.cli.endings import Stopped
from kcrc.errors import DataError, KCRCError, StateError
from kcrc.report.terminal import can_show, note, say, shown

if TYPE_CHECKING:
    from kcrc.gallery import Gallery

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@click.command()
@gallery_argument
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option(
    "--port", default=8377, show_default=True, type=click.IntRange(0, 65535), help="The port; 0 takes a free one."
)
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
@click.option("--share", is_flag=True, help="For a phone in the same network: prints a QR code to scan.")
@click.option("--readonly", is_flag=True, help="Change nothing.")
@click.option("--host", metavar="ADDRESS", help="The address to listen on; others than 127.0.0.1 need --expose.")
@click.option("--expose", is_flag=True, help="Let other machines in, with a token.")
@click.option("--token", envvar="KCRC_TOKEN", metavar="TOKEN", help="The token [else $KCRC_TOKEN, or a new one].")
@click.option("--name", "names", multiple=True, metavar="NAME", help="Another name of this server, as behind a proxy.")
@click.option(
    "--certificate", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="For TLS: a PEM file."
)
@click.option("--key", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Its private key.")
@click.option("--rate", type=click.FloatRange(0), help="Requests a second from one address. [exposed: 50; else any]")
@model_option
def serve(
    gallery: Path,
    folder: Path | None,
    port: int,
    open_page: bool,
    share: bool,
    readonly: bool,
    host: str | None,
    expose: bool,
    token: str | None,
    names: tuple[str, ...],
    certificate: Path | None,
    key: Path | None,
    rate: float | None,
    model: Path | None,
) -> int:
    """Open GALLERY in the browser: a page and an API on this machine. The pictures in FOLDER, which have no label yet,
    are offered for labelling.

    Ctrl-C ends it. Only this machine can reach it, unless you say --expose or --share; then every request needs a
    token. docs/serve.md has the rest.
    """
    try:
        from kcrc.web.app import application, bind, own_address, server
        from kcrc.web.guard import Guard
        from kcrc.web.service import Service
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] not in ("starlette", "uvicorn", "anyio", "h11"):
            raise
        raise StateError("kcrc serve needs the extra 'web': pip install 'kcrc[web]'.") from None
    exposed = expose or share
    host = host or ("0.0.0.0" if share else LOOPBACK[0])
    if host not in LOOPBACK and not exposed:
        raise DataError(f"--host {shown(host)} lets other machines in. Say --expose too, and a token will be needed.")
    if (certificate is None) != (key is None):
        raise click.UsageError("--certificate and --key go together.")
    if folder is not None and not folder.is_dir():
        raise DataError(f"'{shown(folder)}' is not a folder. Give one with unlabelled pictures.")
    address = own_address() if host in ("0.0.0.0", "::") else host
    secret = (token or secrets.token_urlsafe(24)) if exposed or token else None
    guard = Guard(
        names=[*LOOPBACK, address, *names],
        token=secret,
        rate=50.0 if rate is None and exposed else rate or 0.0,
        secure=certificate is not None,
    )
    try:
        sock = bind(host, port)
    except OSError as problem:
        raise DataError(
            f"Port {port} of {shown(host)} cannot be used: {problem.strerror}. Give another --port."
        ) from None
    service = Service(_open(gallery, readonly=readonly, model=model), note=lambda text: note(f"kcrc: {shown(text)}"))
    if folder is not None:
        service.queue.follow(service, str(folder))
    scheme, shown_host = "http" if certificate is None else "https", f"[{address}]" if ":" in address else address
    where = f"{scheme}://{shown_host}:{sock.getsockname()[1]}/"

    def invite() -> None:
        """Say where the page is; where a token is needed, with a code that lets one browser in."""
        entrance = where if secret is None else f"{where}?code={guard.new_code()}"
        say(f"{shown(service.name)} is served at {entrance}")
        if share:
            from kcrc.web.qr import in_characters

            code = in_characters(entrance)
            if can_show(code):
                say(code)
            else:
                note("kcrc: The encoding of this terminal has no characters to draw a QR code; the address serves too.")

    def announce() -> None:
        invite()
        guard.on_entry = invite  # for the next browser
        if secret is not None:
            note(f"The address lets one browser in, once; then the next is shown. For programs, the token is {secret}")
        if exposed and certificate is None:
            note("kcrc: The connection is not encrypted, so others on this network can read it: see --certificate.")
        note("Ctrl-C ends it.")
        if open_page:
            import webbrowser

            if not webbrowser.open(where if secret is None else f"{where}?code={next(iter(guard.codes))}"):
                note("kcrc: No browser could be started here.")

    try:
        server(
            application(service, guard),
            started=announce,
            certificate=None if certificate is None else str(certificate),
            key=None if key is None else str(key),
        ).run([sock])
    except KeyboardInterrupt:
        raise Stopped("everything that was acknowledged is kept.") from None
    return 0


def _open(path: Path, *, readonly: bool, model: Path | None) -> Gallery:
    """The gallery, to be changed where it may be, with its parameters chosen."""
    writable = not readonly and (not isinstance(path, Path) or os.access(path, os.W_OK) or not path.exists())
    opened = open_gallery(path, write=writable, model=model)
    try:
        if not writable and not readonly:
            note("kcrc: The gallery may not be written here, so nothing can be changed.")
        if len(opened):
            due = opened.answering.why_choose
            if due is not None:
                note(f"{due}; they are chosen now. That takes a minute at most.")
            opened.answering.answerer()
        try:
            opened.answering.feature()
        except KCRCError as problem:
            note(f"kcrc: Pictures cannot be looked at here: {shown(problem)}")
    except BaseException:
        opened.close()
        raise
    return opened
