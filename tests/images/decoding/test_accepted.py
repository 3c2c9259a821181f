from __future__ import annotations

import os

import numpy as np
import pytest
from unboxed import unbox

from images.features import odd_files as odd
from kcrc.errors import ParameterError
from kcrc.images.decoding import limits, worker
from kcrc.images.decoding.limits import Limits, fetch, from_environment
from kcrc.images.decoding.reading import ImageError, decode, read_many
from kcrc.images.decoding.resizing import View


@pytest.mark.parametrize(
    ("given", "number"), [("", 7), ("12", 12), ("3K", 3000), ("400M", 4 * 10**8), (" 2g ", 2 * 10**9)]
)
def test_numbers_in_the_environment(monkeypatch, given, number):
    monkeypatch.setenv("KCRC_IMAGE_BYTES", given)
    assert from_environment("KCRC_IMAGE_BYTES", 7) == number


@pytest.mark.parametrize("given", ["0", "-1", "1.5G", "much", "1 000", "9" * 40, "10X"])
@pytest.mark.parametrize("name", ["KCRC_IMAGE_BYTES", "KCRC_IMAGE_PIXELS", "KCRC_IMAGE_MEMORY", "KCRC_IMAGE_SECONDS"])
def test_numbers_that_are_none_are_refused_by_name(monkeypatch, name, given):
    monkeypatch.setenv(name, given)
    with pytest.raises(ParameterError, match=f"{name} is a whole number above 0, such as .* got"):
        decode(odd.saved(odd.noise("RGB", (5, 4)), "PNG"))


def test_a_bad_number_in_the_environment_ends_a_run_instead_of_skipping_every_file(monkeypatch, tmp_path):
    (tmp_path / "a.png").write_bytes(odd.saved(odd.noise("RGB", (5, 4)), "PNG"))
    monkeypatch.setenv("KCRC_IMAGE_MEMORY", "lots")
    with pytest.raises(ParameterError, match="KCRC_IMAGE_MEMORY"):
        read_many([tmp_path / "a.png"], on_error="skip")


def test_each_refusal_names_the_limit_and_what_sets_another(monkeypatch, tmp_path):
    content = odd.saved(odd.noise("RGB", (60, 40)), "PNG")
    (tmp_path / "a.png").write_bytes(content)
    monkeypatch.setenv("KCRC_IMAGE_BYTES", "100")
    with pytest.raises(ImageError, match=r"bytes, more than the limit of 100\. KCRC_IMAGE_BYTES or Limits\(max_bytes="):
        fetch(tmp_path / "a.png")
    assert fetch(tmp_path / "a.png", limits=Limits()) == content
    monkeypatch.delenv("KCRC_IMAGE_BYTES")
    monkeypatch.setenv("KCRC_IMAGE_PIXELS", "2K")
    with pytest.raises(ImageError, match=r"60×40 pixels, more than the limit of 2000\. KCRC_IMAGE_PIXELS or Limits"):
        decode(content)
    monkeypatch.setenv("KCRC_IMAGE_PIXELS", "3K")
    assert decode(content).pixels.shape == (40, 60, 3)


def test_what_cannot_be_scaled_down_says_why(monkeypatch):
    unbox(monkeypatch)
    monkeypatch.setattr(worker, "WHOLE_PIXELS", 1000)
    content = odd.saved(odd.noise("RGB", (60, 40)), "PNG")
    with pytest.raises(ImageError, match=r"60×40 pixels\. Wanted as it is it cannot be scaled down to 1000 pixels"):
        decode(content)
    with pytest.raises(ImageError, match="Wanted at 50×50 it cannot"):
        decode(content, View((50, 50)))


def test_a_picture_that_is_only_short_of_memory_is_not_called_broken(monkeypatch):
    from PIL import ImageFile

    unbox(monkeypatch)
    content = odd.saved(odd.noise("RGB", (60, 40)), "PNG")

    def load(problem):
        def raising(self):
            raise problem

        return raising

    for problem in (MemoryError(), OSError("out of memory error when reading image file"), OSError("decoder error -9")):
        monkeypatch.setattr(ImageFile.ImageFile, "load", load(problem))
        with pytest.raises(ImageError, match=r"a\.png: takes more than 500 MB of memory to decode\. KCRC_IM") as caught:
            decode(content, source="a.png")
        assert caught.value.kind == "too large"
    monkeypatch.setattr(ImageFile.ImageFile, "load", load(OSError("image file is truncated")))
    with pytest.raises(ImageError, match="cannot be decoded") as caught:
        decode(content)
    assert caught.value.kind == "broken"


def test_no_more_room_is_asked_for_than_a_file_needs(monkeypatch, tmp_path):
    import builtins

    asked = []
    plain = builtins.open

    def watched(*arguments, **options):
        file = plain(*arguments, **options)
        reads = file.read

        class Watched:
            def __enter__(self):
                return self

            def __exit__(self, *_):
                file.close()

            fileno = file.fileno

            def read(self, n: int) -> bytes:
                asked.append(n)
                return reads(n)

        return Watched()

    (tmp_path / "a.png").write_bytes(b"abc")
    monkeypatch.setattr(builtins, "open", watched)
    assert fetch(tmp_path / "a.png") == b"abc"
    assert max(asked) <= 1 << 20


def test_a_file_that_grows_while_it_is_read_is_noticed(monkeypatch, tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"a" * 5000)
    stat = os.fstat
    monkeypatch.setattr(os, "fstat", lambda n: os.stat_result([*stat(n)[:6], 10, *stat(n)[7:]]))  # of 10 bytes, it says
    assert fetch(path) == b"a" * 5000
    grown = fetch(path, limits=Limits(max_bytes=100))
    with pytest.raises(ImageError, match="bytes, more than the limit of 100"):
        decode(grown, limits=Limits(max_bytes=100))


def test_a_file_there_is_no_memory_for(monkeypatch, tmp_path):
    (tmp_path / "a.png").write_bytes(b"abc")

    def no_memory(*_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(limits.stat, "S_ISREG", no_memory)
        with pytest.raises(ImageError, match="not enough memory"):
            fetch(tmp_path / "a.png")


def test_an_error_holds_on_to_nothing(tmp_path):
    (tmp_path / "cut.png").write_bytes(odd.saved(odd.noise("RGB", (60, 40)), "PNG")[:-500])
    (tmp_path / "cut.tif").write_bytes(b"II*\0" + bytes(30))
    problems = read_many(sorted(tmp_path.iterdir()), on_error="skip").problems
    assert len(problems) == 2
    for problem in problems:
        assert problem.__traceback__ is problem.__cause__ is problem.__context__ is None


def test_pixels_are_the_callers_to_change():
    picture = decode(odd.saved(odd.noise("RGB", (6, 4)), "PNG"))
    picture.pixels[:] = 0
    assert picture.pixels.flags.c_contiguous
    assert picture.pixels.dtype == np.uint8
