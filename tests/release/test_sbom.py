"""``.ci/sbom.py``: the bill of a wheel names what is in it and what it asks for."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("pybind11")
ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
spec = importlib.util.spec_from_file_location("sbom", ROOT / ".ci" / "sbom.py")
sbom = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sbom)


def wheel(folder: Path) -> Path:
    asked = [f"Requires-Dist: {one}" for one in PROJECT["dependencies"]]
    asked += [
        f'Requires-Dist: {one}; extra == "{extra}"'
        for extra, several in PROJECT["optional-dependencies"].items()
        for one in several
    ]
    head = ["Metadata-Version: 2.4", "Name: kcrc", f"Version: {PROJECT['version']}", "License-Expression: BSD-3-Clause"]
    path = folder / "kcrc-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("kcrc-1.dist-info/METADATA", "\n".join([*head, *asked]) + "\n")
    return path


def test_the_bill_names_what_is_in_the_wheel_and_what_it_asks_for(tmp_path, capsys):
    path = wheel(tmp_path)
    sbom.main(path)
    written = path.with_name(f"{path.name}.cdx.json").read_text("utf-8")
    bill = json.loads(written)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", bill["serialNumber"])
    own = bill["metadata"]["component"]
    assert (own["name"], own["version"]) == ("kcrc", PROJECT["version"])
    scopes = {one["name"]: one["scope"] for one in bill["components"]}
    needed = {re.match(r"[\w.-]+", one)[0].lower() for one in PROJECT["dependencies"]}
    assert {name for name, scope in scopes.items() if scope == "required"} == needed | {"pybind11"}
    assert "kcrc" not in scopes
    references = [one["bom-ref"] for one in bill["components"]]
    assert len(set(references)) == len(references)
    assert bill["dependencies"] == [{"ref": own["bom-ref"], "dependsOn": references}]
    sbom.main(path)
    assert path.with_name(f"{path.name}.cdx.json").read_text("utf-8") == written


def test_all_that_is_compiled_in_is_in_the_notice():
    notice = (ROOT / "NOTICE").read_text("utf-8")
    assert all(name in notice for name in sbom.COMPILED_IN)
