"""What a wheel is made of, as CycloneDX 1.6: python .ci/sbom.py WHEEL writes WHEEL.cdx.json beside it.

What the wheel contains (kcrc, and pybind11 whose headers are compiled in) and what it asks pip for, with the versions
that constraints.txt tests. The same wheel gives the same file.
"""

import email
import hashlib
import importlib.metadata
import json
import re
import sys
import uuid
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMPILED_IN = {"pybind11": "BSD-3-Clause"}


def component(name: str, version: str | None, **more: object) -> dict[str, object]:
    """A package of PyPI, at a version if one is known."""
    name = re.sub(r"[-_.]+", "-", name).lower()
    purl = f"pkg:pypi/{name}" + (f"@{version}" if version else "")
    known = {"version": version} if version else {}
    return {"type": "library", "bom-ref": purl, "name": name, "purl": purl, **known, **more}


def bill(wheel: Path, tested: dict[str, str]) -> dict[str, object]:
    """The bill of a wheel; ``tested`` are versions by name."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    own = component(
        metadata["Name"],
        metadata["Version"],
        licenses=[{"expression": metadata["License-Expression"]}],
        hashes=[{"alg": "SHA-256", "content": digest}],
    )
    shipped = [
        component(name, importlib.metadata.version(name), scope="required", licenses=[{"expression": licence}])
        for name, licence in COMPILED_IN.items()
    ]
    scopes: dict[str, str] = {}
    for asked in metadata.get_all("Requires-Dist", []):
        if re.search("extra == .dev.", asked):  # for those who work on it
            continue
        needed = re.match(r"[\w.-]+", asked)[0].lower()
        scopes[needed] = "required" if "extra ==" not in asked else scopes.get(needed, "optional")
    for name in ("kcrc", *COMPILED_IN):  # the first: extras that name others of its extras
        scopes.pop(name, None)
    asked_for = [component(name, tested.get(name), scope=scope) for name, scope in sorted(scopes.items())]
    components = [*shipped, *asked_for]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}",
        "version": 1,
        "metadata": {"component": own},
        "components": components,
        "dependencies": [{"ref": own["bom-ref"], "dependsOn": [one["bom-ref"] for one in components]}],
    }


def main(wheel: Path) -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").split()
    tested = {name.lower(): version for name, _, version in (line.partition("==") for line in lines)}
    out = wheel.with_name(f"{wheel.name}.cdx.json")
    out.write_text(json.dumps(bill(wheel, tested), indent=1) + "\n", "utf-8")
    print(f"{out}: {len(bill(wheel, tested)['components'])} components")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
