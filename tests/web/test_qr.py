"""Addresses as QR codes, read back by OpenCV."""

from __future__ import annotations

import numpy as np
import pytest

from kcrc.errors import DataError
from kcrc.web.qr import in_characters, matrix


@pytest.mark.parametrize("length", [12, 17, 30, 53, 70, 106])  # every version, to its last byte
def test_a_reader_reads_what_was_written(length: int) -> None:
    cv2 = pytest.importorskip("cv2", reason="OpenCV reads the codes")
    text = ("http://192.168.178.23:8377/?code=" + "aB3_-xYz" * 20)[:length]
    code = np.where(np.pad(matrix(text), 4), 0, 255).astype(np.uint8)
    found, *_ = cv2.QRCodeDetector().detectAndDecode(np.kron(code, np.ones((8, 8), np.uint8)))
    assert found == text


def test_what_is_too_long_is_refused_and_a_line_holds_two_rows() -> None:
    with pytest.raises(DataError, match="holds 106 bytes"):
        matrix("x" * 107)
    lines = in_characters("http://10.0.0.7:8377/").splitlines()
    assert len(lines) == (25 + 4 + 1) // 2
    assert {len(line) for line in lines} == {29}
    assert set("".join(lines)) <= set(" ▀▄█")
