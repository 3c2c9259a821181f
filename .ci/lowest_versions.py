"""The lowest versions that pyproject.toml promises, as pip wants them: "numpy==2.0 scipy==1.14 …".

``--extras`` gives those of the extras but the ones LEFT_OUT; of several for one package the highest.
"""

import re
import sys
import tomllib
from pathlib import Path

LEFT_OUT = {
    "all": "the other extras together",
    "ray": "a quarter of a minute to install, and more to start",
    "docs": "makes the site, and is not imported by the library",
    "dev": "for work on the library: constraints.txt has what is used",
}


def floors(lines: list[str]) -> dict[str, str]:
    """By package, its extras in brackets, the highest of the versions that are asked for at least."""
    found: dict[str, str] = {}
    for line in lines:
        match = re.fullmatch(r"([A-Za-z0-9_.-]+(?:\[\w+\])?)>=([0-9.]+)", line)
        if match is None:
            raise SystemExit(f"every dependency names its lowest version as NAME>=VERSION; got {line!r}")
        found[match[1]] = max(found.get(match[1], "0"), match[2], key=lambda text: [int(n) for n in text.split(".")])
    return found


def wanted(project: dict, *, extras: bool) -> list[str]:
    some = project["optional-dependencies"].items() if extras else [("core", project["dependencies"])]
    lines = [line for extra, own in some if extra not in LEFT_OUT for line in own]
    return [f"{name}=={version}" for name, version in floors(lines).items()]


if __name__ == "__main__":
    told = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    print(" ".join(wanted(told, extras="--extras" in sys.argv)))
