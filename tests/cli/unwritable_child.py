"""Run commands as someone who may write neither a gallery nor its folder; prints [code, stdout, stderr] of each.

``python unwritable_child.py FOLDER 0o444 '[["info", "birds.kcrc"], ...]'``: FOLDER is shut, with these rights
for the files, after a first run of the commands on a copy, which loads everything that root alone might read.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from kcrc.cli import main

NOBODY = 65534


def run(commands: list[list[str]]) -> list[tuple[int, str, str]]:
    results = []
    for command in commands:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(command)
        results.append((code, out.getvalue(), err.getvalue()))
    return results


if __name__ == "__main__":
    folder, rights, commands = Path(sys.argv[1]), int(sys.argv[2], 8), json.loads(sys.argv[3])
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(folder, scratch, dirs_exist_ok=True)
        with contextlib.chdir(scratch):
            run(commands)
    for path in folder.rglob("*"):
        path.chmod(0o555 if path.is_dir() else rights)
    folder.chmod(0o555)
    if os.geteuid() == 0:  # whom no rights keep out
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    os.chdir(folder)
    print(json.dumps(run(commands)))
