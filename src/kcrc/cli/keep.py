"""Commands about the file: info, verify, backup, compact."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import Any

import click

from kcrc._base.parallel import worker_count
from kcrc._base.words import plural
from kcrc.cli.arguments import GalleryAddress, gallery_argument, method_option, open_gallery
from kcrc.cli.endings import Stopped
from kcrc.errors import FileError
from kcrc.report.terminal import note, quote_command, say, say_json, shown

NOTHING_TO_CHOOSE = "nothing to choose: all is fixed, or no class has two examples"


@click.command()
@click.argument("gallery", type=GalleryAddress(path_type=Path), required=False)
@click.option(
    "--system", is_flag=True, help="Instead of a gallery: versions, the compiled path in use, optional packages."
)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@method_option
def info(gallery: Path | None, system: bool, as_json: bool, method: bool) -> int:
    """Say what is in GALLERY: classes, examples, size; with -v how it compares pictures. With --system, what kcrc runs
    on."""
    if system:
        if gallery is not None:
            raise click.UsageError("--system is about the installation and takes no GALLERY.")
        return _say_system(as_json)
    if gallery is None:
        raise click.UsageError("Missing argument 'GALLERY'.")
    from kcrc.gallery.choose_looks import looks_of
    from kcrc.gallery.history import format_moment, moment
    from kcrc.images.nearness import describe_weights

    with open_gallery(gallery) as opened:
        settings, tuned = opened.settings, opened.answering.facts()
        created = moment(settings.created_at)
        facts: dict[str, Any] = {
            "gallery": str(gallery),
            "bytes": opened.store.size(),
            "examples": len(opened),
            "classes": opened.counts,
            "feature": settings.feature,
            "looks": looks_of(settings),
            "dim": settings.dim,
            "fingerprint": settings.fingerprint,
            "parameters": dict(settings.parameters),
            "tuned": None if tuned is None else tuned.chosen,
            "retune_due": opened.retune_due,
            "created": None if created is None else created.isoformat(),
            "changes": settings.revision,
        }
    if as_json:
        say_json(facts)
        return 0
    say(f"{shown(gallery)}  {facts['bytes'] / 1e6:.1f} MB, made {format_moment(created, '%Y-%m-%d')}")
    classes = plural(len(facts["classes"]), "class", "classes")
    examples = f"{facts['examples']} of {classes}" if facts["examples"] else "none: the gallery is empty"
    say(f"examples    {examples}")
    if method:
        say(f"feature     {shown(facts['feature'])}, {facts['dim']} numbers, {shown(facts['fingerprint'])}")
        say(f"compared by {shown(describe_weights(facts['looks']))}")
        if facts["parameters"]:
            say(f"fixed       {shown(', '.join(f'{k}={v}' for k, v in facts['parameters'].items()))}")
    not_chosen = "not chosen yet (see: kcrc tune)" if tuned is None else NOTHING_TO_CHOOSE
    chosen = str(facts["tuned"] or not_chosen)
    if method or not chosen.startswith("Tuning: "):
        say(f"settings    {shown(chosen.removeprefix('Tuning: '))}")
    if facts["retune_due"]:
        say(f"            {facts['retune_due']}; kcrc tune chooses them again")
    for name, count in facts["classes"].items():
        say(f"{count:>10}  {shown(name)}")
    return 0


def _say_system(as_json: bool) -> int:
    facts = system()
    if as_json:
        say_json(facts)
        return 0
    say(f"kcrc        {facts['kcrc']}")
    say(f"python      {facts['python']}, {facts['platform']}")
    say(f"numpy       {facts['numpy']}, {facts['blas']}")
    say(f"native      {facts['native']['path']}: {shown(facts['native']['why'])}")
    say(f"cores       {facts['cores']}")
    for extra, packages in facts["extras"].items():
        installed = ", ".join(f"{name} {version}" for name, version in packages.items() if version)
        missing = ", ".join(name for name, version in packages.items() if not version)
        absent = f'{missing} not installed (pip install "kcrc[{extra}]")' if missing else ""
        say(f"{extra:<11} {', '.join(part for part in (installed, absent) if part)}")
    return 0


@click.command()
@gallery_argument
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def verify(gallery: Path, as_json: bool) -> int:
    """Read all of GALLERY and compare it with its checksums. The exit code is 1 if something is damaged."""
    from kcrc.cli.exchange import check_is_gallery
    from kcrc.gallery import verify as look

    verdict = look(gallery)
    if not verdict.sound:
        check_is_gallery(gallery)  # what is none at all is not damaged
    if as_json:
        say_json({
            "gallery": str(gallery), "sound": verdict.sound, "examples": verdict.examples, "removed": verdict.removed,
            "changes": verdict.acts, "problems": [str(problem) for problem in verdict.problems],
        })  # fmt: skip
        return 0 if verdict.sound else 1
    for problem in verdict.problems:
        note(f"kcrc: {shown(problem)}")
    if verdict.sound:
        examples, changes = plural(verdict.examples, "example"), plural(verdict.acts, "change")
        say(f"{shown(gallery)} is sound: {examples} and {changes} were read, and agree with their checksums.")
        if verdict.removed:
            say(f"It also holds {plural(verdict.removed, 'removed example')}, for kcrc undo to bring back.")
        if not verdict.examples:
            say("It is empty: no example is in use.")
        return 0
    problems = "a problem was found" if len(verdict.problems) == 1 else f"{len(verdict.problems)} problems were found"
    say(f"{shown(gallery)} is damaged: {problems}.")
    note(f"If there is a copy, {quote_command('backup', 'COPY', gallery, '--force')} puts it in its place.")
    return 1


@click.command()
@gallery_argument
@click.argument("output", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def backup(gallery: Path, output: Path, force: bool) -> int:
    """Copy GALLERY to FILE, also while other programs use it. The copy is checked, and is a gallery itself.

    To restore, give the copy first: kcrc backup COPY GALLERY --force.
    """
    from kcrc._base.progress import share_bar
    from kcrc.gallery import stores
    from kcrc.gallery.check import problems

    if output.exists() and not force:
        raise FileError(f"'{shown(output)}' exists already; say --force to overwrite it.")
    with share_bar("copying") as report:
        size = stores.kind_of(gallery).backup(gallery, output, check=problems, overwrite=force, report=report)
    say(f"{shown(output)}: {size / 1e6:.1f} MB, checked")
    return 0


@click.command()
@gallery_argument
@click.option("--dry-run", is_flag=True, help="Say what would be dropped, and change nothing.")
def compact(gallery: Path, dry_run: bool) -> int:
    """Drop the removed examples of GALLERY for good and free their space. Earlier changes can then not be undone."""
    if dry_run:
        with open_gallery(gallery) as opened:
            removed = len(opened.find(removed=True)) - len(opened)
        say(f"would drop {plural(removed, 'removed example')}; nothing was changed")
        return 0
    with open_gallery(gallery, write=True) as opened:
        before = opened.store.size()
        dropped = opened.compact()
        after = opened.store.size()
        say(f"dropped {plural(dropped, 'removed example')}; {before / 1e6:.1f} MB -> {after / 1e6:.1f} MB")
    return 0


# ``kcrc copy``: a gallery from a file to a server, back, or to another of its kind.


@click.command()
@gallery_argument
@click.argument("goal", type=GalleryAddress(path_type=Path))
def copy(gallery: Path | str, goal: Path | str) -> int:
    """Copy GALLERY to GOAL: a file, or the address of a server (postgresql://USER@HOST/DATABASE?gallery=NAME).

    All of it goes along: examples with their ids, pictures, history, what was tuned. The copy is compared with the
    original before it is there under its name; where something goes wrong there is none. Nothing is overwritten.
    """
    from kcrc._base.progress import share_bar
    from kcrc.gallery import stores
    from kcrc.gallery.check import problems
    from kcrc.gallery.stores.copying import copy_gallery

    if stores.kind_of(goal).exists(goal):
        raise FileError(f"'{shown(goal)}' exists already. Give another name; nothing is overwritten.")
    try:
        with open_gallery(gallery) as opened, share_bar("copying") as report:
            examples = copy_gallery(opened.store, goal, check=problems, report=report)
    except KeyboardInterrupt:
        raise Stopped(f"nothing was made; '{shown(goal)}' is not there.") from None
    say(f"{shown(goal)}: {plural(examples, 'example')}, compared with ", end="")
    say(shown(gallery))  # by itself: of two addresses in a text, the second may be the rest of a password
    return 0


# ``kcrc info --system``: what this installation is made of.


def system() -> dict[str, Any]:
    """What this installation is made of: versions, the compiled path in use and why, optional packages by extra."""
    import numpy as np

    from kcrc import __version__
    from kcrc.native import path, why

    blas = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    return {
        "kcrc": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "numpy": np.__version__,
        "blas": f"{blas.get('name', 'unknown BLAS')} {blas.get('version', '')}".strip(),
        "native": {"path": path(), "why": why},
        "cores": worker_count(-1),
        "extras": _extras(),
    }


def _extras() -> dict[str, dict[str, str | None]]:
    """The packages of each optional extra for users, with their versions; None where one is not installed."""
    from importlib.metadata import PackageNotFoundError, requires, version

    try:
        wanted = requires("kcrc") or []
    except PackageNotFoundError:  # run from the sources
        return {}
    extras: dict[str, dict[str, str | None]] = {}
    for line in wanted:
        match = re.fullmatch(r"""([\w.-]+)(?:\[[^\]]*\])?[^;\[]*;\s*extra == ["'](\w+)["']""", line)
        if match is None or match[2] == "dev":
            continue
        try:
            installed: str | None = version(match[1])
        except PackageNotFoundError:
            installed = None
        extras.setdefault(match[2], {})[match[1]] = installed
    return extras
