"""How a command ends where it does not end well: one sentence and an exit code.

::

    0    done; the reader of our output went away (quietly)
    1    something given could not be used, is not installed or exists already, or a check failed
    2    the command was not understood
    70   a fault of kcrc itself, with how to report it
    130  interrupted (Ctrl-C)
"""

from __future__ import annotations

import traceback

import click

from kcrc.errors import KCRCError, ParameterError, fault_reference
from kcrc.report.terminal import note, shown

FAILED, MISUSED, FAULT, INTERRUPTED = 1, 2, 70, 130
_LONGEST = 500  # characters of a foreign message
_NO_ARGUMENTS: type[Exception] | tuple[()] = getattr(click.exceptions, "NoArgsIsHelpError", ())


class Stopped(Exception):
    """Ctrl-C, in words: what stayed, and how to take it back."""


def report_failure(problem: BaseException, *, debug: bool) -> int:
    """Say what ended a command; the exit code. ``debug`` shows where in the program it was."""
    if isinstance(problem, click.exceptions.Exit):
        return int(problem.exit_code)
    if isinstance(problem, click.ClickException):
        return _report_misuse(problem)
    if debug:
        note("".join(traceback.format_exception(problem)).rstrip())
    if isinstance(problem, Stopped):
        note(f"\nkcrc: interrupted; {shown(problem)}")  # below what the terminal shows of Ctrl-C
        return INTERRUPTED
    if isinstance(problem, click.Abort | KeyboardInterrupt):
        note("kcrc: interrupted; what was reported as done is kept, nothing is half-written.")
        return INTERRUPTED
    if isinstance(problem, KCRCError):
        note(f"kcrc: {shown(problem)}")
        return MISUSED if isinstance(problem, ParameterError) and not _is_missing(problem) else FAILED
    if isinstance(problem, MemoryError):
        note("kcrc: There is not enough memory for this; nothing is half-written. Give it fewer images at a time.")
        return FAILED
    if isinstance(problem, OSError) and problem.strerror:
        where = "" if problem.filename is None else f"'{shown(problem.filename)}': "
        note(f"kcrc: {where}{shown(problem.strerror)}.")
        return FAILED
    if isinstance(problem, ModuleNotFoundError) and not (problem.name or "kcrc").startswith("kcrc"):
        note(f"kcrc: This needs the package '{shown(problem.name)}', which is not installed. Install it with pip.")
        return FAILED
    message = shown(str(problem)[:_LONGEST])
    note(
        f"kcrc: This is a fault of kcrc ({type(problem).__name__}{message and ': '}{message}); nothing is "
        f"half-written. Please report it as {fault_reference(problem)}, with what 'kcrc --debug …' prints."
    )
    return FAULT


def _is_missing(problem: KCRCError) -> bool:
    """Whether it says that a package has to be installed: then the command was understood."""
    return "pip install" in str(problem)


def _report_misuse(problem: click.ClickException) -> int:
    """Click's own sentences, with what was given made harmless."""
    if isinstance(problem, _NO_ARGUMENTS):
        note(problem.format_message())
        return int(problem.exit_code)
    context = getattr(problem, "ctx", None)
    if context is not None:
        note(context.get_usage())
        note(f"Try '{context.command_path} --help' for help.\n")
    note(f"Error: {shown(' '.join(problem.format_message().split()))}")
    return int(problem.exit_code)
