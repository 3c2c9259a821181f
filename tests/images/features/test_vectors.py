from __future__ import annotations

import tracemalloc
import zipfile

import numpy as np
import pytest

from kcrc.errors import DataError, ParameterError, StateError
from kcrc.images.features import make, resolve, restore
from kcrc.images.features.vectors import read_vectors

X = np.array([[1.0, 2.5], [3.0, -4.0], [0.5, 0.25]], np.float32)


def test_npy(tmp_path):
    np.save(tmp_path / "a.npy", X.astype(np.float64))
    table = read_vectors(tmp_path / "a.npy")
    assert table.X.dtype == np.float32
    np.testing.assert_array_equal(table.X, X)
    assert table.labels is None


@pytest.mark.parametrize("key", ["vectors", "features", "embeddings", "X", "anything"])
def test_npz_with_numbered_labels(tmp_path, key):
    np.savez(tmp_path / "a.npz", **{key: X}, labels=[1, 0, 1], classes=["owl", "wren"])
    table = read_vectors(tmp_path / "a.npz")
    np.testing.assert_array_equal(table.X, X)
    assert table.labels is not None
    assert table.labels.tolist() == ["wren", "owl", "wren"]


def test_csv_with_labels_and_names(tmp_path):
    (tmp_path / "a.csv").write_text('path,Label,f0,f1\n"a,b.jpg",wren,1,2.5\nc.jpg,"o ""w"" l",3,-4e0\nd,wren,.5,.25\n')
    table = read_vectors(tmp_path / "a.csv")
    np.testing.assert_array_equal(table.X, X)
    assert table.labels is not None
    assert table.names is not None
    assert table.labels.tolist() == ["wren", 'o "w" l', "wren"]
    assert table.names[0] == "a,b.jpg"


@pytest.mark.parametrize("as_list", [True, False])
def test_parquet(tmp_path, as_list):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"vector": X.tolist()} if as_list else {"f0": X[:, 0], "f1": X[:, 1]}
    parquet.write_table(pyarrow.table({"label": ["a", "b", "a"], **columns}), tmp_path / "a.parquet")
    table = read_vectors(tmp_path / "a.parquet")
    np.testing.assert_array_equal(table.X, X)
    assert table.labels is not None
    assert table.labels.tolist() == ["a", "b", "a"]


def test_damaged_or_odd_parquet_is_named(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    whole = tmp_path / "whole.parquet"
    parquet.write_table(pyarrow.table({"vector": X.tolist()}), whole)
    content = whole.read_bytes()
    odd = {"uneven": [[1.0], [1.0, 2.0]], "holes": [[1.0, None], [1.0, 2.0]], "texts": ["a", "b"]}
    for name, values in odd.items():
        parquet.write_table(pyarrow.table({"vector": values}), tmp_path / f"{name}.parquet")
    for name, cut in (("head", content[:60]), ("tail", content[60:]), ("empty", b""), ("text", b"PAR1 nothing PAR1")):
        (tmp_path / f"{name}.parquet").write_bytes(cut)
    wrong = [path for path in tmp_path.glob("*.parquet") if path != whole]
    assert len(wrong) == 7
    for path in wrong:
        with pytest.raises(DataError) as caught:
            read_vectors(path)
        assert str(path) in str(caught.value)


def test_names_in_parquet_become_a_gallery(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    from kcrc.gallery import Gallery

    columns = {"path": ["a.jpg", "b.jpg", "c.jpg"], "label": ["wren", "owl", "wren"], "vector": X.tolist()}
    parquet.write_table(pyarrow.table(columns), tmp_path / "v.parquet")
    table = read_vectors(tmp_path / "v.parquet")
    with Gallery.create(tmp_path / "g.kcrc", dim=2) as gallery:
        gallery.add(table.labels, table.X, sources=table.names)
        assert gallery.counts == {"owl": 1, "wren": 2}
        np.testing.assert_array_equal(gallery.vectors()[1], X)
        assert gallery.example(2).source == "b.jpg"


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(ParameterError, match=r"pip install 'kcrc\[tables\]'"):
        read_vectors(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", b"", "no columns"),
        ("a.csv", b"label\nx\n", "no columns"),
        ("a.csv", b"f0,f1\n", "shape"),
        ("a.csv", b"f0,f1\n1,2\n3\n", "line 3 must have 2 cells"),
        ("a.csv", b"f0,f1\n1,two\n", "line 2"),
        ("a.csv", b"f0,f1\n1,2\n1,inf\n", "row 1"),
        ("a.csv", b"f0\n\xff\xfe\n", "cannot be read"),
        ("a.npy", b"\x93NUMPY", "cannot be read"),
        ("a.npz", b"PK", "cannot be read"),
    ],
)
def test_damaged_files_are_named(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said) as caught:
        read_vectors(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)


def test_pickled_objects_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="cannot be read"):
        read_vectors(tmp_path / "a.npy")


def claiming(shape: tuple[int, ...]) -> bytes:
    """An ``.npy`` file of three numbers that says it has more."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(12)


@pytest.mark.parametrize("shape", [(10**6, 1000), (2**40, 2**30), (4, 1), (2, 1)])
def test_claims_are_compared_with_what_follows(tmp_path, shape):
    (tmp_path / "a.npy").write_bytes(claiming(shape))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", claiming(shape))
    for path in (tmp_path / "a.npy", tmp_path / "a.npz"):
        tracemalloc.start()
        with pytest.raises(DataError, match=r"a\.np.*claims shape"):
            read_vectors(path)
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert held < 1_000_000


@pytest.mark.parametrize("header", ["(" * 500, "{'descr': '<f4', 'shape': [", "__import__('os')"])
def test_a_header_is_not_python(tmp_path, header):
    text = header.encode() + b"\n"
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
    with pytest.raises(DataError, match=r"a\.npy cannot be read"):
        read_vectors(tmp_path / "a.npy")


def test_an_archive_that_unpacks_to_very_much_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "packed.npz", X=np.zeros((30, 1_000_000), np.float32))
    with pytest.raises(DataError, match="times its size"):
        read_vectors(tmp_path / "packed.npz")
    np.savez_compressed(tmp_path / "fine.npz", X=X, labels=["a", "b", "a"])
    np.testing.assert_array_equal(read_vectors(tmp_path / "fine.npz").X, X)


def test_other_kinds_of_file(tmp_path):
    with pytest.raises(ParameterError, match=r"\.npy, \.npz, \.csv, \.parquet"):
        read_vectors(tmp_path / "a.pkl")
    with pytest.raises(DataError, match="cannot be read"):
        read_vectors(tmp_path / "missing.npy")


def test_labels_that_do_not_fit(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, labels=[1, 0])
    with pytest.raises(DataError, match="labels of shape"):
        read_vectors(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", X=X, labels=[1, 0, 5], classes=["owl", "wren"])
    with pytest.raises(DataError, match="below the number of classes, 2"):
        read_vectors(tmp_path / "a.npz")


def test_ready_vectors_pass_through_and_are_known_by_their_source():
    feature = make("vectors", length=2, source="clip")
    np.testing.assert_array_equal(feature.fit(X).transform(X), X)
    assert feature.fingerprint != make("vectors", length=2, source="dino").fingerprint
    assert restore(feature.state()).fingerprint == feature.fingerprint
    with pytest.raises(DataError, match=r"\(n, 2\)"):
        feature.transform(np.zeros((3, 3)))
    with pytest.raises(DataError, match="finite"):
        feature.transform(np.full((3, 2), np.nan))
    with pytest.raises(DataError, match="several shapes"):
        feature.transform([np.zeros((2, 3, 3)), np.zeros((4, 3, 3))])


def test_ready_vectors_need_their_length():
    for options in ({}, {"source": "clip"}):
        with pytest.raises(ParameterError, match="The feature 'vectors' needs length="):
            make("vectors", **options)


def mean_colour(pictures):
    return [picture.mean(axis=(0, 1)) for picture in pictures]


def test_a_function_is_a_feature(pictures):
    feature = resolve(mean_colour, size=(4, 4), name="mean colour, first version")
    assert feature.dim == 3
    vectors = feature.fit(pictures).transform(pictures)
    assert vectors.shape == (12, 3)
    assert vectors.max() > 1  # the function sees 0 to 255
    other = resolve(mean_colour, size=(4, 4), name="mean colour, second version")
    assert other.fingerprint != feature.fingerprint
    again = restore(feature.state(), function=mean_colour)
    assert again.fingerprint == feature.fingerprint
    np.testing.assert_array_equal(again.transform(pictures), vectors)
    with pytest.raises(StateError, match="first version"):
        restore(feature.state())


@pytest.mark.parametrize("bad", [lambda p: [1.0], lambda p: [["a"]] * len(p), lambda p: [[1.0]] * 3])
def test_a_function_that_returns_no_vectors(bad, pictures):
    with pytest.raises(DataError, match=r"vectors|numbers"):
        resolve(bad).transform(pictures)


def write_parquet(path, metadata=None, **columns):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns).replace_schema_metadata(metadata), path)


@pytest.mark.parametrize("name", ["embedding", "vector", "clip", "of_my_own"])
def test_columns_beside_one_of_lists_are_passed_over(tmp_path, name):
    pictures = [{"bytes": b"abc", "path": "a.jpg"}] * 3
    beside = {"umap_x": [0.1, 0.2, 0.3], "split": ["train"] * 3, "image": pictures, "tags": [["a"], [], ["b"]]}
    columns = {"filename": ["a", "b", "c"], **beside, name: X.tolist(), "category": ["wren", "owl", "wren"]}
    write_parquet(tmp_path / "v.parquet", **columns)
    table = read_vectors(tmp_path / "v.parquet")
    np.testing.assert_array_equal(table.X, X)
    assert (table.names.tolist(), table.labels.tolist()) == (["a", "b", "c"], ["wren", "owl", "wren"])


def test_of_several_columns_of_lists_one_is_known_by_its_name(tmp_path):
    boxes = [[0.0, 0.0, 1.0]] * 3
    write_parquet(tmp_path / "v.parquet", box=boxes, Embedding=X.tolist())
    np.testing.assert_array_equal(read_vectors(tmp_path / "v.parquet").X, X)
    write_parquet(tmp_path / "v.parquet", box=boxes, dino=X.tolist())
    with pytest.raises(DataError, match=r"one column of lists of numbers; got box, dino"):
        read_vectors(tmp_path / "v.parquet")


def test_class_numbers_in_parquet_get_their_names(tmp_path):
    said = '{"info": {"features": {"label": {"names": ["owl", "wren"], "_type": "ClassLabel"}}}}'
    write_parquet(tmp_path / "v.parquet", {"huggingface": said}, label=[1, 0, 1], vector=X.tolist())
    assert read_vectors(tmp_path / "v.parquet").labels.tolist() == ["wren", "owl", "wren"]
    write_parquet(tmp_path / "v.parquet", {"huggingface": said}, label=[1, 0, 2], vector=X.tolist())
    with pytest.raises(DataError, match="has the class number 2; it must be 0 to 1"):
        read_vectors(tmp_path / "v.parquet")
