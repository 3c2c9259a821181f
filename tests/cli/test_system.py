from __future__ import annotations

import importlib.metadata

from kcrc.cli.keep import system


def test_a_package_with_extras_of_its_own_is_listed(monkeypatch) -> None:
    wanted = ['psycopg[binary]>=3.2; extra == "postgres"', 'numpy>=2; extra == "plots"', 'kcrc[plots]; extra == "dev"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: wanted)
    found = system()["extras"]
    assert set(found) == {"postgres", "plots"}
    assert set(found["postgres"]) == {"psycopg"}
