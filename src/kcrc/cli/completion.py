"""``kcrc completion``: what a shell needs to complete commands, options and files."""

from __future__ import annotations

import click

from kcrc.report.terminal import say


@click.command(short_help="Print a script that completes commands in your shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the completion script of SHELL; for bash: eval "$(kcrc completion bash)" in ~/.bashrc."""
    from click.shell_completion import get_completion_class

    from kcrc.cli import cli

    maker = get_completion_class(shell)
    if maker is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    say(maker(cli, {}, "kcrc", "_KCRC_COMPLETE").source())
    return 0
