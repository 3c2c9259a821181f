"""Every compiled entry answers what is right and refuses what is wrong; nothing it is given ends the process."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import seeded

from kcrc.native import native
from native.entry_table import ENTRIES, name_of

pytestmark = pytest.mark.skipif(native is None, reason="the compiled module is not built")


def test_every_entry_has_a_row_in_the_table():
    public = {name: value for name, value in vars(native).items() if not name.startswith("_")}
    entries = {name for name, value in public.items() if inspect.isroutine(value) or inspect.isclass(value)}
    assert {name_of(row) for row in ENTRIES} == entries


@pytest.mark.parametrize("row", sorted(ENTRIES))
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_right_arguments_are_answered(row, kind):
    call = getattr(native, name_of(row))
    answered = [call(**ENTRIES[row](np.random.default_rng(seed), kind)) for seed in range(6)]  # none raises
    assert len(answered) == 6


def test_wrong_arguments_are_refused_or_answered_in_a_process_that_lives():
    assert seeded.faults("native/native_entries.py", 0, 2000) == []


@pytest.mark.slow
def test_many_wrong_arguments():
    assert seeded.faults("native/native_entries.py", 2000, 30_000) == []


def test_a_process_that_ends_is_a_fault(tmp_path):
    """The harness itself: a crash, a hang and a wrong answer are all told, and the cases after them run."""
    (tmp_path / "cases.py").write_text(
        "import os, signal\n"
        "class Case:\n"
        "    def __init__(self, seed): self.seed = seed\n"
        "    def __repr__(self): return 'the case'\n"
        "    def run(self):\n"
        "        if self.seed == 1: os.kill(os.getpid(), signal.SIGKILL)\n"
        "        if self.seed == 2: raise KeyError('wrong')\n"
    )
    first, second = seeded.faults(str(tmp_path / "cases.py"), 0, 4)
    assert first.startswith("case 1: ended the process with -9")
    assert second.startswith("case 2: the case: KeyError at cases.py:7")


@pytest.mark.parametrize(
    ("row", "changed", "message"),
    [
        ("local_stage__kernel", {"kernel": "no array"}, "kernel is a NumPy array"),
        ("local_stage__kernel", {"winner": None}, "winner is int64; got nothing"),
        ("nearest__coded", {"slots": np.zeros(3, np.int32)}, r"slots is .* of shape \(48,\)"),
        ("encode_rows", {"first": 40}, "first lies between 0 and"),
        ("nearest__made", {"scale": 0.0}, "scale lies between"),
        ("nearest__made", {"k": 41}, "k lies between 1 and the number of examples"),
        ("kernel_rows", {"degree": 10**9}, "degree lies between 1 and 64"),
        ("kernel_rows", {"stop": 41}, "stop lies between 6 and 40"),
        ("update_atoms", {"ends": np.array([0, 2, 1, 5, 7, 8, 10])}, "ends rise"),
        ("lasso", {"lam": np.full(5, -1.0)}, "lam is 0 or more"),
        ("lasso", {"x": np.asfortranarray(np.zeros((5, 6)))}, "x is a C-ordered.*not C-ordered"),
        ("judge", {"sizes": np.array([0], np.int32)}, "sizes lie between 1"),
        ("shape_context", {"options": (-1, -15, 0.1, 2.0, 1, 0.2, 0.2, 1.0)}, "number of radii lies between"),
        ("shape_context", {"options": (3, 5, 2.0, 0.1, 1, 0.2, 0.2, 1.0)}, "outer lies above inner"),
    ],
)
def test_a_refusal_names_the_argument(row, changed, message):
    arguments = ENTRIES[row](np.random.default_rng(0), np.float64) | changed
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(native, name_of(row))(**arguments)


def test_what_is_written_to_is_nobody_elses_memory():
    arguments = ENTRIES["local_stage__kernel"](np.random.default_rng(0), np.float64)
    arguments["coefficients"] = arguments["rows"].view(np.float64)
    with pytest.raises(ValueError, match="coefficients is written to and shares memory with what is read"):
        native.local_stage(**arguments)


@pytest.mark.parametrize("row", ["nearest__made", "nearest__coded", "nearest_measured"])
def test_a_search_finds_k_whatever_the_numbers(row):
    """Nothing can be told by coordinates that are no numbers, so every example is measured."""
    changed = 0
    for strange in (np.nan, np.inf, -np.inf, 1e38):
        for name in ("coordinates", "facts", "square", "slack", "rounding", "queries", "vectors"):
            arguments = ENTRIES[row](np.random.default_rng(0), np.float32)
            if name in arguments:
                arguments[name] = np.full_like(arguments[name], strange)
                rows, squared = getattr(native, name_of(row))(**arguments)
                assert (np.sort(rows) >= 0).all()
                assert rows.max() < len(arguments["vectors"])
                assert not np.isnan(squared).any()
                changed += 1
    assert changed >= 4


def test_a_neighbour_that_is_padding_may_stand_first():
    """Where nothing resembles the query the first real neighbour answers: row −1 has no label."""
    arguments = ENTRIES["local_stage__kernel"](np.random.default_rng(3), np.float64)
    arguments["rows"][:, 0] = -1
    arguments["cross"][:] = 0.0
    flags = native.local_stage(**arguments)
    answered = flags == 2
    assert answered.any()
    first = arguments["labels"][arguments["rows"][:, 1]]
    np.testing.assert_array_equal(arguments["winner"][answered], first[answered])
