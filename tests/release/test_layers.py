"""No sub-package of kcrc imports what imports it, one call inside a function included.

`make lint` checks the order of the packages themselves. Inside a package, single modules may know each other; a
sub-package may know none of those that know it.
"""

from __future__ import annotations

import grimp
import pytest

GRAPH = grimp.build_graph("kcrc", exclude_type_checking_imports=True, cache_dir=None)
PACKAGES = sorted(module for module in GRAPH.modules if GRAPH.find_children(module))


def imports_between(children: set[str]) -> dict[str, set[str]]:
    """For each child those of the others that it imports, with what is inside both."""
    home = {module: child for child in children for module in {child, *GRAPH.find_descendants(child)}}
    return {
        child: {
            home[imported]
            for module in {child, *GRAPH.find_descendants(child)}
            for imported in GRAPH.find_modules_directly_imported_by(module)
            if home.get(imported, child) != child
        }
        for child in children
    }


def reached_from(start: str, imports: dict[str, set[str]]) -> set[str]:
    """All that ``start`` imports, over any number of steps."""
    reached: set[str] = set()
    ahead = [start]
    while ahead:
        new = imports[ahead.pop()] - reached
        reached |= new
        ahead += new
    return reached


@pytest.mark.parametrize("package", PACKAGES)
def test_no_sub_package_imports_what_imports_it(package):
    children = GRAPH.find_children(package)
    imports = imports_between(children)
    reached = {child: reached_from(child, imports) for child in children}
    in_a_cycle = {
        child: sorted(c for c in children if c in reached[child] and child in reached[c]) for child in children
    }
    assert {child: members for child, members in in_a_cycle.items() if child in PACKAGES and members} == {}


def test_an_import_in_a_function_counts():
    assert "kcrc.classifier.saving" in GRAPH.find_modules_directly_imported_by("kcrc.classifier.estimator")
