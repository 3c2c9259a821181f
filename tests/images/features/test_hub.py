"""Encoders by their name on a hub, served on the loopback address."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from images.features.onnx_files import attribute, described, encoded, model, node, tensor
from images.features.small_hub import COMMIT, SmallHub
from kcrc.cli import main
from kcrc.errors import DataError, ParameterError
from kcrc.images.features import make, restore
from kcrc.images.features.pyramid import POOLINGS, choose_pooling, pool_tokens
from kcrc.images.network.efficientnet import GraphWriter

pytest.importorskip("onnxruntime")
pytest.importorskip("huggingface_hub")


def transformer_like() -> bytes:
    """(n, c, h, w) -> (n, c, h): a token a channel, the mean of its rows."""
    graph = GraphWriter("tokens")
    out = graph.node("ReduceMean", ["images"], axes=[3], keepdims=0)
    return graph.content(input_shape=["n", 3, "h", "w"], output=out, output_shape=["n", 3, "h"])


PREPARATION = {
    "do_resize": True,
    "size": {"shortest_edge": 10},
    "do_center_crop": True,
    "crop_size": {"height": 8, "width": 8},
    "image_mean": [0.5, 0.4, 0.3],
    "image_std": [0.2, 0.2, 0.1],
    "rescale_factor": 1 / 255,
}


@pytest.fixture
def hub(tmp_path, monkeypatch):
    network = transformer_like()
    told = json.dumps(PREPARATION).encode()
    repositories = {
        "someone/encoder": {"onnx/model.onnx": network, "preprocessor_config.json": told, "README.md": b"# hello"},
        "someone/bare": {"model.onnx": network},
        "someone/several": {"a.onnx": network, "b.onnx": network},
        "someone/none": {"model.safetensors": b"x"},
        "someone/broken": {"model.onnx": network, "preprocessor_config.json": b"[1, 2"},
        "someone/odd": {"model.onnx": network, "preprocessor_config.json": b'{"size": {"height": 10000000000}}'},
    }
    for name, said in {
        "deep": b'{"a":' * 100_000,
        "nan": b'{"image_mean": [NaN, 1, 1]}',
        "faint": b'{"rescale_factor": 1e-320}',
        "narrow": b'{"image_std": [1e-300, 1, 1]}',
        "list": b'{"size": [5, 6, 7]}',
    }.items():
        repositories[f"someone/{name}"] = {"model.onnx": network, "preprocessor_config.json": said}
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("KCRC_CACHE", str(tmp_path / "kcrc"))
    with SmallHub(repositories) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        yield server


def striped(n=24):
    """Two classes that differ in the rows of the first channel alone."""
    rng = np.random.default_rng(0)
    pictures = rng.integers(90, 110, size=(n, 20, 20, 3)).astype(np.uint8)
    labels = np.array(["plain", "striped"])[np.arange(n) % 2]
    pictures[1::2, ::4, :, 0] = 250
    pictures[1::2, 1::4, :, 0] = 250
    return pictures, labels


def test_an_encoder_by_its_name(hub):
    pictures, labels = striped()
    feature = make("hub:someone/encoder")
    assert (feature.size, feature.crop, feature.fit_to) == ((10, 10), (8, 8), "crop")
    np.testing.assert_allclose(feature.mean, [127.5, 102.0, 76.5])
    np.testing.assert_allclose(feature.std, [51.0, 51.0, 25.5])
    feature.fit(list(pictures), list(labels))
    assert feature.options()["pooling"] in POOLINGS
    assert feature.options()["source"] == f"hub:someone/encoder@{COMMIT}/onnx/model.onnx"
    vectors = feature.transform(list(pictures))
    assert vectors.shape[0] == len(pictures)
    assert not any("README" in path or "safetensors" in path for path in hub.asked)


@pytest.mark.parametrize("problem", [NotADirectoryError(20, "Not a directory"), PermissionError(13, "denied")])
def test_a_home_that_is_no_folder_or_closed_costs_the_token_alone(hub, monkeypatch, problem):
    from huggingface_hub.utils import _headers

    def unreadable():
        raise problem

    monkeypatch.setattr("huggingface_hub.get_token", unreadable)
    monkeypatch.setattr(_headers, "get_token", unreadable)
    first = make("hub:someone/encoder")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert make("hub:someone/encoder").sha256 == first.sha256


def test_nothing_is_asked_of_the_hub_again(hub, monkeypatch):
    pictures, labels = striped()
    feature = make("hub:someone/encoder").fit(list(pictures), list(labels))
    feature.keep()
    vectors, state = feature.transform(list(pictures)), feature.state()
    asked = len(hub.asked)
    again = restore(state)
    np.testing.assert_array_equal(again.transform(list(pictures)), vectors)
    assert again.fingerprint == feature.fingerprint
    assert len(hub.asked) == asked
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there: what was fetched serves
    assert make("hub:someone/encoder").sha256 == feature.sha256


def test_where_nothing_says_how_pictures_are_prepared_it_is_told_what_is_done(hub):
    with pytest.warns(UserWarning, match=r"no preprocessor_config.json.*stretched to 224×224 with numbers from 0 to 1"):
        feature = make("hub:someone/bare")
    assert (feature.size, feature.fit_to, feature.mean) == ((224, 224), "stretch", (0.0, 0.0, 0.0))
    np.testing.assert_allclose(feature.std, 255.0)


def test_what_earlier_versions_pinned_gives_the_same_vectors(tmp_path):
    """A state and its fingerprint as they were before ``resample`` was there."""
    path = tmp_path / "model.onnx"
    path.write_bytes(transformer_like())
    options = {"channels": "rgb", "crop": [8, 8], "fit_to": "crop", "layout": "nchw", "mean": [127.5, 102.0, 76.5]}
    options |= {"output": None, "pooling": "cls", "size": [10, 10], "std": [51.0, 51.0, 25.5]}
    options |= {"source": f"hub:someone/encoder@{COMMIT}/onnx/model.onnx"}
    options |= {"sha256": "efff22458fed7b400b171d3bdf1279087977eaf564e9b8d00b31788a23651ff8"}
    again = restore({"feature": "onnx", "version": 1, "options": options, "file": "model.onnx"}, model=path)
    assert again.fingerprint == "onnx:31725e0484ef5970b8880d468b0304a9"
    assert again.options() == options
    picture = striped()[0][1]
    small = np.asarray(Image.fromarray(picture).resize((10, 10), Image.Resampling.BICUBIC, reducing_gap=2.0), float)
    expected = ((small[1:9, 1:9] - options["mean"]) / options["std"]).mean(axis=1)[:, 0]
    np.testing.assert_allclose(again.transform([picture])[0], expected, rtol=1e-4, atol=1e-4)


def saved(folder, pictures, labels):
    for at, (picture, label) in enumerate(zip(pictures, labels, strict=True)):
        (folder / str(label)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(folder / str(label) / f"{at}.png")


def test_built_by_the_command_it_predicts_with_the_hub_down(hub, tmp_path, monkeypatch, capsys):
    pictures, labels = striped(28)
    saved(tmp_path / "photos", pictures[:24], labels[:24])
    saved(tmp_path / "new", pictures[24:], labels[24:])
    monkeypatch.chdir(tmp_path)
    assert main(["build", "photos", "-f", "hub:someone/encoder", "-o", "g.kcrc"]) == 0
    assert "24 examples of 2 classes" in capsys.readouterr().out
    hub.server.shutdown()
    hub.server.server_close()
    shutil.rmtree(tmp_path / "hub")  # neither is what was fetched needed again: the network is in kcrc's own cache
    asked = len(hub.asked)
    files = sorted(map(str, Path("new").rglob("*.png")))
    assert main(["predict", "g.kcrc", "--json", *files]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["label"] for one in told] == [Path(file).parent.name for file in files]
    assert len(hub.asked) == asked


def test_a_gallery_pins_the_commit_and_the_content(hub, tmp_path):
    from kcrc import Gallery
    from kcrc.gallery.choose_looks import restore_feature

    pictures, labels = striped()
    saved(tmp_path / "pictures", pictures, labels)
    with Gallery.from_folder(tmp_path / "pictures", tmp_path / "g.kcrc", feature="hub:someone/encoder") as gallery:
        assert len(gallery) == len(pictures)
    asked = len(hub.asked)
    with Gallery.open(tmp_path / "g.kcrc") as gallery:
        found = restore_feature(gallery, None).options()
        assert found["source"].startswith(f"hub:someone/encoder@{COMMIT}")
        assert len(found["sha256"]) == 64
    assert len(hub.asked) == asked


@pytest.mark.parametrize(
    ("address", "options", "error", "words"),
    [
        ("hub:encoder", {}, ParameterError, "hub:OWNER/NAME"),
        ("hub:../../etc/passwd", {}, ParameterError, "hub:OWNER/NAME"),
        ("hub:someone/missing", {}, DataError, "no repository 'someone/missing'"),
        ("hub:someone/encoder@v9", {}, DataError, "no revision 'v9'"),
        ("hub:someone/several", {}, ParameterError, "several networks: a.onnx, b.onnx"),
        ("hub:someone/several", {"file": "c.onnx"}, ParameterError, "no file 'c.onnx'"),
        ("hub:someone/none", {}, DataError, "no ONNX file"),
        ("hub:someone/broken", {}, DataError, "must be a JSON object"),
        ("hub:someone/odd", {}, DataError, "it must be a number, shortest_edge"),
        ("hub:someone/list", {}, DataError, "it must be a number, shortest_edge"),
        ("hub:someone/deep", {}, DataError, "must be a JSON object"),
        ("hub:someone/nan", {}, DataError, "must be a JSON object"),
        ("hub:someone/faint", {}, DataError, "rescale_factor 1e-320; it must be 1e-06 to 1"),
        ("hub:someone/narrow", {}, DataError, "it must be at least 1e-06"),
        ("hub:someone/encoder@..", {}, ParameterError, "hub:OWNER/NAME"),
        ("hub:someone/encoder@../../x", {}, ParameterError, "hub:OWNER/NAME"),
        ("hub:someone/encoder@a/../b", {}, ParameterError, "hub:OWNER/NAME"),
        ("hub:someone/encoder@/etc", {}, ParameterError, "hub:OWNER/NAME"),
        ("hub:someone/encoder@refs/pr/1", {}, DataError, "no revision 'refs/pr/1'"),
        ("hub:someone/encoder", {"pooling": "max"}, ParameterError, "pooling is None, 'auto'"),
    ],
)
def test_what_is_wrong_is_said(hub, address, options, error, words):
    with pytest.raises(error, match=words):
        make(address, **options)


def test_what_is_too_large_is_not_fetched(hub):
    hub.lies["onnx/model.onnx"] = {"size": 1 << 40}
    with pytest.raises(DataError, match=r"onnx/model.onnx has 1099511627776 bytes; at most 2147483647 are fetched"):
        make("hub:someone/encoder")
    assert not any("resolve" in path and "onnx/model.onnx" in path for path in hub.asked)


LONG = b" " * (40 << 20)


@pytest.mark.parametrize(("lie", "words"), [({"size": None}, "41943040 bytes"), ({"size": 9, "head": 9}, "more than")])
def test_where_the_hub_tells_no_size_or_another_no_more_than_the_limit_is_fetched(hub, tmp_path, lie, words):
    hub.repositories["someone/encoder"]["preprocessor_config.json"] = LONG
    hub.lies["preprocessor_config.json"] = lie
    hub.endless.add("preprocessor_config.json")
    with pytest.raises(DataError, match=rf"preprocessor_config.json has {words}.*; at most 1048576 are fetched"):
        make("hub:someone/encoder")
    assert hub.sent < len(LONG)
    assert sum(path.stat().st_size for path in (tmp_path / "hub").rglob("*") if path.is_file()) < 10_000
    assert not any("onnx/model.onnx" in path for path in hub.asked)


def test_what_is_not_as_the_hub_describes_it_is_refused(hub):
    hub.lies["onnx/model.onnx"] = {"sha256": "0" * 64}
    with pytest.raises(DataError, match=r"that the hub gives, 000000000000"):
        make("hub:someone/encoder")
    hub.lies.clear()
    assert make("hub:someone/encoder").options()["source"].endswith("/onnx/model.onnx")


def test_without_the_package_the_command_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ParameterError, match=r"pip install 'kcrc\[hub\]'"):
        make("hub:someone/encoder")


def test_a_library_that_cannot_be_stopped_fetches_nothing(hub, monkeypatch):
    import huggingface_hub

    def download(repo_id, filename, *, revision=None, cache_dir=None, endpoint=None):
        raise AssertionError("fetched without a limit")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    with pytest.raises(ParameterError, match=r"pip install 'huggingface_hub>=1\.1'"):
        make("hub:someone/encoder")


def test_without_a_connection_and_nothing_from_before(hub, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(DataError, match="is not in the cache"):
        make("hub:someone/encoder")


def test_the_pooling_that_tells_examples_apart_is_chosen():
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c"], 20)
    tokens = rng.normal(size=(60, 10, 6))
    tokens[:, 1:] += 3 * rng.normal(size=(3, 6))[np.repeat([0, 1, 2], 20)][:, None]  # only the patches tell
    assert choose_pooling(pool_tokens([tokens[:25], tokens[25:]]), list(labels)) != "cls"
    first = rng.normal(size=(60, 10, 6))
    first[:, 0] += 6 * rng.normal(size=(3, 6))[np.repeat([0, 1, 2], 20)]  # only the first tells
    assert choose_pooling(pool_tokens([first]), list(labels)) == "cls"


def two_outputs(first: str) -> bytes:
    """Tokens of the last channel, which tells nothing, or a map, and beside them the mean of each channel."""
    nodes = [
        node("ReduceMean", ["images"], ["map"], attribute("axes", [3], 7), attribute("keepdims", 1, 2)),
        node("Gather", ["map", "two"], ["last"], attribute("axis", 1, 2)),
        node("MatMul", ["last", "rows"], ["tokens"]),
        node("GlobalAveragePool", ["images"], ["pooler_output"]),
    ]
    outputs = {"tokens": described("tokens", "n", 8, 2), "map": described("map", "n", 3, 8, 1)}
    weights = [tensor("two", np.array(2), 7), tensor("rows", np.ones((1, 2)))]
    return encoded(model(nodes, weights, [outputs[first], described("pooler_output", "n", 3, 1, 1)]))


@pytest.mark.parametrize("first", ["tokens", "map"])
def test_an_output_that_the_network_pools_itself_is_taken_where_it_tells_more(tmp_path, first):
    path = tmp_path / "two.onnx"
    path.write_bytes(two_outputs(first))
    pictures, labels = striped()
    feature = make("onnx", path=path, size=(8, 8), pooling="auto").fit(list(pictures), list(labels))
    assert feature.options()["output"] == "pooler_output"
    assert "pooling" not in feature.options()
    vectors = feature.transform(list(pictures))
    assert vectors.shape == (24, 3)
    again = restore(feature.state(), model=path)
    np.testing.assert_array_equal(again.transform(list(pictures)), vectors)
    named = make("onnx", path=path, size=(8, 8), pooling="auto", output="pooler_output")
    assert named.fit(list(pictures), list(labels)).fingerprint == feature.fingerprint


def test_the_first_output_stays_where_it_tells_as_much(tmp_path):
    path = tmp_path / "same.onnx"
    nodes = [node("GlobalAveragePool", ["images"], ["a"]), node("Neg", ["a"], ["b"])]
    path.write_bytes(encoded(model(nodes, [], [described("a", "n", 3, 1, 1), described("b", "n", 3, 1, 1)])))
    pictures, labels = striped()
    feature = make("onnx", path=path, size=(8, 8), pooling="auto").fit(list(pictures), list(labels))
    assert feature.options()["output"] is None
