"""The command line: ``kcrc COMMAND``. One file a command or small family; a command is imported when it is used.

What a command prints goes through ``kcrc.report.terminal``; how it ends where it fails, and the exit codes, are in
``endings.py``.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from kcrc.cli.endings import report_failure
from kcrc.report.terminal import output_now, own_words

# name: (file, what it does). The help is here and not in the files so that `kcrc --help` imports none of them.
GROUPS = {
    "The first hour": {
        "build": ("build", "Make a gallery from labelled pictures."),
        "predict": ("predict", "Say which class each image belongs to."),
        "explain": ("explain", "Show which examples decided an answer, and by how much."),
        "add": ("add", "Add images to a class, or add a folder of class folders."),
        "undo": ("edit", "Undo the latest change."),
    },
    "Ask": {
        "serve": ("serve", "Open a gallery in the browser: ask, correct, look around."),
        "sort": ("sort", "Sort images into class folders, the doubtful ones apart; or undo that."),
        "watch": ("watch", "Classify pictures as they arrive in a folder."),
    },
    "Correct": {
        "relabel": ("edit", "Move examples to another class."),
        "rename": ("edit", "Give a class another name."),
        "remove": ("edit", "Remove examples."),
        "redo": ("edit", "Do again what was undone."),
        "history": ("edit", "List the changes."),
    },
    "Check": {
        "evaluate": ("evaluate", "Measure how often answers are right."),
        "audit": ("audit", "Look for wrong labels, duplicates and useless examples."),
        "advise": ("advise", "Say whether there are enough examples, and what to label next."),
        "list": ("listing", "List the examples: numbers, classes, dates, sources, pictures."),
        "show": ("listing", "Show everything that is known about one example."),
        "info": ("keep", "Say what is in a gallery, or what kcrc runs on."),
    },
    "Keep": {
        "tune": ("build", "Choose the settings again, after many changes."),
        "verify": ("keep", "Check a gallery for damage."),
        "backup": ("keep", "Copy a gallery, even while it is in use; or restore such a copy."),
        "compact": ("keep", "Drop removed examples for good."),
    },
    "Share": {
        "export": ("exchange", "Write a gallery to one plain file, or its labels for another program."),
        "import": ("exchange", "Add the examples of an export or another gallery, or labels made elsewhere."),
        "copy": ("keep", "Copy a gallery from a file to a server, or back."),
    },
    "Help": {
        "demo": ("demo", "Try kcrc on handwritten digits; needs no data of your own."),
        "help": ("help", "Show this list, or how to use one command."),
        "completion": ("help", "Print a script that completes commands in your shell."),
    },
}
COMMANDS = {name: home for group in GROUPS.values() for name, home in group.items()}


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        home, what = COMMANDS[name]
        module = importlib.import_module(f"kcrc.cli.{home}")
        command: click.Command = getattr(module, f"{name}_" if name in ("import", "list") else name)
        command.short_help = what
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS:
            import difflib

            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else " See 'kcrc --help'."
            ctx.fail(f"There is no command '{args[0]}'.{hint}")
        options = args[: args.index("--")] if "--" in args else args
        if "--json" in options and "--csv" in options:
            ctx.fail("--json and --csv are two forms of the same answers; give one of them.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, (_, text) in commands.items()])


@dataclass
class Invocation:
    """One run of a command; ``debug`` shows where in the program an error was."""

    debug: bool


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="kcrc", message="kcrc %(version)s")
@click.option("--debug", is_flag=True, help="Show where in the program an error happened (or KCRC_DEBUG=1).")
@click.pass_obj
def cli(run: Invocation | None, debug: bool) -> None:
    """Classify images by example, and say which examples decided.

    \b
    kcrc build photos/ -o birds.kcrc                    photos/ has a folder of images for each class
    kcrc predict birds.kcrc new/*.jpg                   which class each new image belongs to
    kcrc explain birds.kcrc new/1.jpg --html why.html   a page with the examples that decided

    'kcrc help COMMAND' says how to use a command; 'kcrc demo' needs no images of your own.
    """
    if run is not None and debug:
        run.debug = True


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    run = Invocation(debug=os.environ.get("KCRC_DEBUG", "0") not in ("", "0"))
    words, reader = None if arguments is None else list(arguments), output_now()
    with own_words():
        try:
            result = cli.main(args=words, prog_name="kcrc", standalone_mode=False, obj=run)
        except (Exception, KeyboardInterrupt) as problem:
            return report_failure(problem, debug=run.debug)
        except SystemExit:
            if output_now() is reader:
                raise
            return 0  # click wraps the output where the reader of a help text goes away
    return result if isinstance(result, int) else 0
