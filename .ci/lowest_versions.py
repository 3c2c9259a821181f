"""The lowest versions that pyproject.toml promises, as pip wants them: "numpy==2.0 scipy==1.14 …"."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
found = [re.fullmatch(r"([A-Za-z0-9_.-]+)>=([0-9.]+)", line) for line in project["dependencies"]]
if None in found:
    raise SystemExit(f"every dependency names its lowest version as NAME>=VERSION: {project['dependencies']}")
print(" ".join(f"{match[1]}=={match[2]}" for match in found if match))
