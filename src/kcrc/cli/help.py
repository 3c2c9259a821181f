"""``kcrc help``: what ``--help`` says, for those who ask in words."""

from __future__ import annotations

import click

from kcrc.report.terminal import say


@click.command(add_help_option=True)
@click.argument("command", required=False)
@click.pass_context
def help(ctx: click.Context, command: str | None) -> int:
    """Show what commands there are, or how COMMAND is used."""
    group = ctx.parent
    assert group is not None and isinstance(group.command, click.Group)
    if command is None:
        say(group.get_help())
        return 0
    name, target, _ = group.command.resolve_command(group, [command])
    assert target is not None  # an unknown name is an error before
    with click.Context(target, info_name=name, parent=group) as context:
        say(target.get_help(context))
    return 0


# ``kcrc completion``: what a shell needs to complete commands, options and files.


@click.command()
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
