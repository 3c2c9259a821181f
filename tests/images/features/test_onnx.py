from __future__ import annotations

import numpy as np
import pytest

from kcrc.errors import DataError, KCRCError, ParameterError
from kcrc.images.features import make, restore
from kcrc.images.network.efficientnet import GraphWriter

pytest.importorskip("onnxruntime")


def tiny_network(weight: np.ndarray) -> bytes:
    """Mean over the picture, then a matrix: (n, c, h, w) -> (n, d)."""
    graph = GraphWriter("tiny")
    pooled = graph.node("GlobalAveragePool", ["images"])
    flat = graph.node("Flatten", [pooled], axis=1)
    out = graph.node("MatMul", [flat, graph.weight(weight)])
    return graph.content(input_shape=["n", "c", "h", "w"], output=out, output_shape=["n", weight.shape[1]])


@pytest.fixture
def network(tmp_path):
    weight = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    path = tmp_path / "tiny.onnx"
    path.write_bytes(tiny_network(weight))
    return path, weight


OPTIONS = {"size": (8, 8), "mean": (10.0, 20.0, 30.0), "std": (2.0, 4.0, 8.0)}


@pytest.mark.parametrize("channels", ["rgb", "bgr"])
def test_preprocessing_is_as_given(network, pictures, channels):
    path, weight = network
    feature = make("onnx", path=path, channels=channels, fit_to="stretch", **OPTIONS)
    assert feature.dim == 5
    seen = make("pixels", size=(8, 8), colour=True).transform(pictures).reshape(12, 8, 8, 3) * 255.0
    order = seen if channels == "rgb" else seen[..., ::-1]
    expected = ((order - OPTIONS["mean"]) / OPTIONS["std"]).mean(axis=(1, 2)) @ weight
    np.testing.assert_allclose(feature.transform(pictures), expected, rtol=1e-3, atol=1e-3)


def test_floating_point_is_from_0_to_1(network, pictures):
    feature = make("onnx", path=network[0], **OPTIONS)
    np.testing.assert_allclose(feature.transform(pictures / 255.0), feature.transform(pictures), rtol=0.05, atol=0.5)
    with pytest.raises(DataError, match="from 0 to 1"):
        feature.transform(pictures.astype(float))


def test_floating_point_enlarged_stays_from_0_to_1(network):
    """Bicubic resizing goes a fifth beyond black and white where they meet; that was taken for another scale."""
    board = np.kron(np.indices((4, 4)).sum(axis=0) % 2, np.ones((2, 2)))[:, :, None] * np.ones(3)
    feature = make("onnx", path=network[0], **{**OPTIONS, "size": (64, 64)})
    from_bytes = feature.transform([(board * 255).astype(np.uint8)])
    np.testing.assert_allclose(feature.transform([board]), from_bytes, rtol=0.02, atol=0.1)
    np.testing.assert_allclose(feature.transform(board[None].astype(np.float32)), from_bytes, rtol=0.02, atol=0.1)
    for other in (board * 3, board - 0.5):
        with pytest.raises(DataError, match="from 0 to 1"):
            feature.transform([other])


def test_the_file_is_known_by_its_content(network, pictures, tmp_path):
    path, weight = network
    feature = make("onnx", path=path, **OPTIONS)
    vectors, state = feature.transform(pictures), feature.state()
    moved = tmp_path / "moved.onnx"
    path.rename(moved)
    assert make("onnx", path=moved, **OPTIONS).fingerprint == feature.fingerprint
    again = restore(state, model=moved)
    assert again.fingerprint == feature.fingerprint
    np.testing.assert_array_equal(again.transform(pictures), vectors)
    with pytest.raises(DataError, match="cannot be read"):
        restore(state, model=path).transform(pictures)
    moved.write_bytes(tiny_network(weight + 1))
    with pytest.raises(DataError, match="not the file these vectors were made with"):
        restore(state, model=moved).transform(pictures)
    assert make("onnx", path=moved, **OPTIONS).fingerprint != feature.fingerprint


def test_without_a_file_it_asks_for_one(pictures):
    with pytest.raises(ParameterError, match="Say which network"):
        make("onnx", **OPTIONS).transform(pictures)


def test_damaged_files_are_refused(network, tmp_path):
    whole = network[0].read_bytes()
    broken = tmp_path / "broken.onnx"
    for content in (b"", b"text, not a network", whole[: len(whole) // 2], whole[:-1], b"\xff" * 40):
        broken.write_bytes(content)
        with pytest.raises(DataError, match=r"broken\.onnx"):
            make("onnx", path=broken).transform([np.zeros((4, 4, 3), np.uint8)])


STATES = {
    "a mean that is text": {"mean": ["a"]},
    "a mean that is no list": {"mean": 5},
    "a size that is one number": {"size": 8},
    "a size of text": {"size": ["8", "8"]},
    "an output that is a list": {"output": ["y"]},
    "threads": {"threads": 10**9},
    "a path": {"path": "/dev/zero"},
    "a checksum that leads elsewhere": {"sha256": "../../../tmp/" + "a" * 51},
    "a checksum that is no text": {"sha256": 7},
}


@pytest.mark.parametrize("what", STATES)
def test_a_forged_state_is_refused(network, what):
    state = make("onnx", path=network[0], **OPTIONS).state()
    with pytest.raises(KCRCError):
        restore({**state, "options": {**state["options"], **STATES[what]}})


@pytest.mark.parametrize("bad", [{"layout": "chwn"}, {"channels": "cmyk"}, {"std": (0.0,)}, {"mean": (1.0, 2.0)}])
def test_options_that_make_no_sense(network, bad):
    with pytest.raises(ParameterError):
        make("onnx", path=network[0], **bad).fit([])


def test_an_output_that_is_no_vector_is_explained(tmp_path, pictures):
    graph = GraphWriter("map")
    out = graph.node("Identity", ["images"])
    path = tmp_path / "map.onnx"
    path.write_bytes(graph.content(input_shape=["n", 3, 8, 8], output=out, output_shape=["n", 3, 8, 8]))
    with pytest.raises(DataError, match="Name another by output="):
        make("onnx", path=path, size=(8, 8)).transform(pictures)
