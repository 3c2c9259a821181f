"""The page on the architecture names what there is."""

from __future__ import annotations

from docs.pages import ROOT, text


def test_the_architecture_names_every_package_and_every_file_beside_them():
    page = text("architecture.md")
    sources = ROOT / "src" / "kcrc"
    files = {path.name for path in sources.glob("*.py") if path.name != "__init__.py"}
    packages = {f"{path.parent.name}/" for path in sources.glob("*/__init__.py")}
    assert len(packages) > 10
    assert [name for name in sorted(files | packages) if f"`{name}`" not in page] == []
