from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from kcrc.errors import DataError, ParameterError, UnknownName
from lab.datasets import available, load, names, source
from lab.datasets.digits import TEN
from lab.datasets.openml import USPS_CLASS_COUNTS


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(UnknownName, match="Did you mean 'mnist'"):
        load("minst")


@pytest.mark.parametrize("name", [n for n in names() if n != "digits"])
def test_a_missing_set_says_who_publishes_it_and_where_to_put_it(no_data, name):
    with pytest.raises(DataError) as caught:
        load(name, no_data)
    assert source(name).owner in str(caught.value)
    assert str(no_data / source(name).files[0][0]) in str(caught.value)


def test_a_data_folder_that_does_not_exist_is_an_error(no_data):
    with pytest.raises(ParameterError, match="does not exist"):
        load("mnist", no_data / "nowhere")


def test_only_digits_on_an_empty_machine(no_data):
    assert available() == ("digits",)


def test_folders_are_looked_in_by_precedence(no_data, monkeypatch):
    # Each place holds a file that is refused in its own way, so that the error tells which was read.
    places = [no_data / "given", no_data / "environment", no_data / "cache" / "data"]
    for place in places:
        place.mkdir(parents=True)
        np.savez(place / "usps.npz", **{place.name: np.zeros(1)})
    monkeypatch.setenv("KCRC_DATA", str(places[1]))
    for place, given in zip(places, (places[0], None, None), strict=True):
        with pytest.raises(DataError, match=f"it has: {place.name}"):
            load("usps", given)
        (place / "usps.npz").unlink()


class Bunch:
    def __init__(self, data, target):
        self.data, self.target = data, target


def openml_usps(order=None):
    labels = np.concatenate([np.repeat(np.arange(10), counts) for counts in USPS_CLASS_COUNTS])
    return Bunch(np.full((9298, 256), -0.5), labels[order] + 1)


def test_openml_is_asked_only_when_allowed(no_data, monkeypatch):
    import sklearn.datasets

    asked = []
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda *a, **k: asked.append(k) or openml_usps(slice(None)))
    with pytest.raises(DataError, match="download=True"):
        load("usps")
    assert not asked
    ds = load("usps", download=True)
    assert asked[0]["data_home"].startswith(str(no_data))
    assert ds.classes == TEN
    assert len(ds.train) == 7291


def test_openml_in_another_order_claims_no_split(no_data, monkeypatch):
    import sklearn.datasets

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda *a, **k: openml_usps(slice(None, None, -1)))
    assert load("usps", download=True).split is None


def test_openml_without_a_network_is_one_sentence(no_data, monkeypatch):
    import sklearn.datasets

    def fail(*args, **kwargs):
        raise OSError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    with pytest.raises(DataError, match="no route to host"):
        load("mnist", download=True)


def test_importing_the_catalogue_is_light():
    code = "import sys, lab.datasets; print([m for m in ('sklearn', 'scipy', 'PIL') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
