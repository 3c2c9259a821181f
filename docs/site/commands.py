"""Fills the page of the commands when the site is built, from the commands themselves."""

from __future__ import annotations

from typing import Any

MARK = "<!-- commands -->"


def reference() -> str:
    """A section for each command with its help."""
    import click

    from kcrc.cli import COMMANDS, cli

    above = click.Context(cli, info_name="kcrc")
    sections = []
    for name in COMMANDS:
        command = cli.get_command(above, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=above, terminal_width=80, max_content_width=80)
        sections.append(f"## kcrc {name}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(sections)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Called by MkDocs for every page."""
    return markdown.replace(MARK, reference()) if page.file.src_uri == "commands.md" else markdown
