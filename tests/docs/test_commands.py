"""Every command and option that a page names exists."""

from __future__ import annotations

import importlib.util
import re

import click
import pytest

from docs.pages import PAGES, ROOT, code_in_lines, shell_lines, words
from kcrc.cli import COMMANDS, cli
from lab.__main__ import lab

STUDIES = ROOT / "lab" / "experiments" / "studies"
OF_STUDIES = {
    option for path in STUDIES.glob("*.py") for option in re.findall(r'"(--[a-z-]+)"', path.read_text("utf-8"))
}  # python -m lab.experiments.studies.NAME


LAB = ["python", "-m", "lab"]


def command_named(name: str, group: click.Group = cli) -> click.Command | None:
    return group.get_command(click.Context(group), name)


def options_of(command: click.Command) -> dict[str, click.Option]:
    context = click.Context(command)
    found = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    return {spelled: each for each in found for spelled in (*each.opts, *each.secondary_opts)}


EVERY_OPTION = {spelled for name in COMMANDS for spelled in options_of(command_named(name))} | set(options_of(cli))
EVERY_OPTION |= {spelled for command in lab.commands.values() for spelled in options_of(command)}


def group_of(given: list[str]) -> tuple[click.Group | None, list[str]]:
    """The commands that a line is for, ``kcrc`` or ``python -m lab``, and the rest of the line."""
    if given[:1] == ["kcrc"]:
        return cli, given[1:]
    if given[:3] == LAB:
        return lab, given[3:]
    return None, given


def wrong_with(line: str) -> str | None:
    """What ``kcrc`` or ``python -m lab`` does not know of a line that is typed, in words; None where it is right."""
    group, given = group_of(words(line))
    assert group is not None
    while given and given[0] in options_of(group):
        given = given[1:]
    if not given:
        return None
    command = command_named(given[0], group)
    if command is None:
        return f"no command {given[0]!r}"
    try:
        command.make_context(given[0], list(given[1:]))
    except click.UsageError as problem:
        return problem.format_message()
    return None


@pytest.mark.parametrize("page", PAGES)
def test_what_is_typed_on_a_page_is_understood(page):
    typed = [line for line in shell_lines(page) if group_of(words(line))[0] is not None]
    assert {line: wrong for line in typed if (wrong := wrong_with(line))} == {}


@pytest.mark.parametrize("page", PAGES)
def test_what_a_sentence_says_of_commands_is_so(page):
    unknown = []
    for code in code_in_lines(page):
        group, given = group_of(code.split())
        if group is not None and given and re.fullmatch(r"[a-z]+", given[0]):
            command = command_named(given[0], group)
            known = set() if command is None else set(options_of(command)) | {"--help"}
            unknown += [code for word in given[1:] if word.startswith("--") and word.split("=")[0] not in known]
            unknown += [code] if command is None else []
        elif group is None and re.fullmatch(r"--[a-z][a-z-]+", given[0]):
            unknown += [code] if given[0] not in EVERY_OPTION | OF_STUDIES else []
    assert unknown == []


@pytest.mark.parametrize("page", PAGES)
def test_modules_scripts_and_targets_that_are_run_exist(page):
    make = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    missing = []
    for code in [*shell_lines(page), *code_in_lines(page)]:
        module = re.match(r"python -m ([a-z_.]+)", code)
        script = re.match(r"python ([\w/-]+\.py)", code)
        target = re.fullmatch(r"(?:[A-Z_]+=\S* )*make ([a-z-]+)\b.*", code)
        if module and module[1].split(".")[0] in ("kcrc", "lab", "fuzz") and not found(module[1]):
            missing.append(code)
        if script and not (ROOT / script[1]).exists():
            missing.append(code)
        if target and target[1] not in make:
            missing.append(code)
    assert missing == []


def found(module: str) -> bool:
    """Whether there is such a module; ``….NAME`` stands for any in a package."""
    try:
        return importlib.util.find_spec(module.rstrip(".")) is not None
    except ModuleNotFoundError:
        return False


def test_a_wrong_line_is_told():
    assert wrong_with("kcrc predict birds.kcrc new/*.jpg --set 0.95 --reject --json  # fine") is None
    assert wrong_with("KCRC_TOKEN=… kcrc serve birds.kcrc > log") is None
    assert "predikt" in wrong_with("kcrc predikt birds.kcrc")
    assert "--sett" in wrong_with("kcrc predict birds.kcrc --sett 0.95")
    assert wrong_with("python -m lab bench --part lasso") is None
    assert "lassoo" in wrong_with("python -m lab bench --part lassoo")
    assert "bensh" in wrong_with("python -m lab bensh")
