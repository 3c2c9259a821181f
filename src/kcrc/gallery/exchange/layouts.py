"""Labelled pictures in the shapes that people have them in; ``read_layout`` says which it saw.

A folder of class folders; train, val and test above class folders; a table of labels, alone or beside its pictures;
COCO and YOLO; a zip of any of these folders, or one zip per class as Teachable Machine saves samples; and pictures
whose names begin with their class (ant_001.jpg). Examples come from train, or from all if there are no splits.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Self

from kcrc._base.words import plural, some_of
from kcrc.errors import DataError, FileError, KCRCError
from kcrc.gallery.exchange import format_of, name_for
from kcrc.gallery.exchange.coco import is_coco_file, read_boxes
from kcrc.gallery.exchange.contract import Labelled, LabelledBox, limit_rows
from kcrc.gallery.exchange.picture_files import find_file
from kcrc.gallery.exchange.yolo import read_yolo, yolo_root
from kcrc.images.datasets import EXTENSIONS, SPLITS, ClassFolders, class_folders, image_files, split_folders
from kcrc.images.decoding.limits import Content, ImageError, Limits, fetch, too_many_bytes

Source = str | os.PathLike[str]
_FOLDERS = {
    "datumaro": "Datumaro's items",
    "imagefolder": "Hugging Face's metadata and pictures",
    "fiftyone": "FiftyOne's data and labels",
}
TABLES = (".csv", ".tsv", ".csv.gz", ".jsonl", ".ndjson", ".parquet", ".json")
_MEMBERS = 1_000_000  # files in a zip
_CAMERA = {
    "img", "image", "dsc", "dscn", "dscf", "dscm", "pic", "pict", "picture", "photo", "p", "pxl", "mvimg", "mvi",
    "screenshot", "scan", "frame", "gopr", "wp", "cimg", "sam", "whatsapp", "signal", "file", "untitled", "download",
}  # fmt: skip
_NUMBERED = re.compile(r"(.+)-!-\d+|(.*?[^\W\d_])[ _(.-]*\d+\)?")  # ant_001, ant-1, "ant (1)", ant1, Class 1-!-1
_SMALL, _LARGE = 1, 100  # a class of one picture beside a class of a hundred is likely a slip


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Pictures with their classes.

    Attributes
    ----------
    paths, labels : tuples
        The pictures, and the class of each.
    shape : str
        What was seen, in words; "" for plain class folders.
    splits : mapping of str to LabelledImages
        The splits by name, if there are some; the pictures are those of train.
    folders : tuple of ClassFolders
        The class folders that were listed, with what else is in them.
    in_several : mapping of str to tuple of str
        Pictures that stand in several classes, and those; they are not among ``paths``.
    unlabelled : int
        Pictures without a class.
    problems : tuple of str
        Pictures that could not be found, in sentences.
    """

    paths: tuple[Source, ...]
    labels: tuple[str, ...]
    shape: str = ""
    splits: Mapping[str, LabelledImages] = field(default_factory=dict)
    folders: tuple[ClassFolders, ...] = ()
    in_several: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unlabelled: int = 0
    problems: tuple[str, ...] = ()

    @classmethod
    def of(cls, pairs: Iterable[tuple[Source, str]], shape: str) -> Self:
        """Those of (picture, class) pairs."""
        both = list(pairs)
        return cls(tuple(path for path, _ in both), tuple(label for _, label in both), shape)

    def doubts(self) -> Iterator[str]:
        """Why it is likely that the pictures were not meant so, a sentence each."""
        counts = Counter(self.labels)
        if len(counts) > 1 and all(label.casefold() in SPLITS for label in counts):
            names = " and ".join(f"'{label}'" for label in sorted(counts))
            yield (
                f"The classes would be called {names}, which are usually the parts of a data set, not classes. Give a "
                "folder that has a folder for each class."
            )
        small = sorted(label for label, number in counts.items() if number <= _SMALL)
        if small and max(counts.values()) >= _LARGE:
            largest, number = counts.most_common(1)[0]
            classes = plural(len(small), "class has", "classes have")
            yield f"{classes} one picture ({some_of(small)}), and '{largest}' has {number}."


def read_layout(source: Source, *, label_column: str | None = None, crops: bool = False) -> LabelledImages:
    """Return the labelled pictures of a folder, a table of labels or a zip; nothing is decoded.

    Parameters
    ----------
    source : str or path
        The folder or file.
    label_column : str or None, default=None
        The column of the class in a table; None chooses it by its name.
    crops : bool, default=False
        Take each box of COCO or YOLO as a picture, instead of pictures that show one class.

    Returns
    -------
    LabelledImages
        With the splits and the shape that were seen.

    Raises
    ------
    DataError
        If there are no labelled pictures, with what was found instead.
    """
    path = Path(source)
    if path.is_file():
        found = _of_zip(path) if zipfile.is_zipfile(path) else _of_rows(path, label_column, crops)
    elif path.is_dir():
        found = _of_folder(path, label_column, crops)
    else:
        raise DataError(f"There is no '{path}'. Give a folder with a folder of images for each class, or a table.")
    if not (found.paths or found.splits or found.in_several):
        why = f" {found.problems[0]}" if found.problems else ""
        raise DataError(f"{path} has no pictures with labels that could be found.{why}")
    return _without_ambiguous(found)


def _of_folder(path: Path, label_column: str | None, crops: bool) -> LabelledImages:
    if (root := yolo_root(path)) is not None:
        return _of_boxes(read_yolo(root), f"YOLO's images and labels in {path.name}", crops)
    documents = _coco_files(path)
    if documents:
        boxes = (box for name, file in documents for box in _in_split(read_boxes(file, path), name))
        return _of_boxes(boxes, f"COCO's images and annotations in {path.name}", crops)
    form = name_for(path)
    if form in ("datumaro", "imagefolder", "fiftyone"):
        rows = limit_rows(format_of(form).read(path), path)
        return _collect(((row, path) for row in rows), f"{_FOLDERS[form]} in {path.name}")
    splits = split_folders(path)
    if splits:
        parts = {name: _of_folder(folder, label_column, crops) for name, folder in splits.items()}
        names = ", ".join(folder.name for folder in splits.values())
        shape = f"{path.name} is divided into {names}"
        inner = next((part.shape for part in parts.values() if part.shape), "")
        return replace(parts["train"], shape=f"{shape}: {inner}" if inner else shape, splits=parts)
    loose = image_files(path, deep=False)
    has_folders = any(image_files(child) for child in path.iterdir() if child.is_dir() and child.name[0] != ".")
    tables = [] if has_folders and len(_picture_folders(path)) > 1 else _tables_in(path)
    if len(tables) == 1 and (loose or has_folders):
        return _of_rows(tables[0], label_column, crops)
    if tables and (loose or has_folders) and not (has_folders and not loose):
        names = some_of([table.name for table in tables])
        raise DataError(f"{path} has several tables ({names}). Give the one with the labels: kcrc build {tables[0]}.")
    if not has_folders and (zips := sorted(path.glob("*.zip"))):
        return _of_class_zips(path, zips)
    if not has_folders and loose and (labels := labels_in_names([file.name for file in loose])) is not None:
        shape = f"The names in {path.name} begin with their class, such as {loose[0].name}"
        return LabelledImages(tuple(loose), tuple(labels), shape)
    contents = class_folders(path)
    return LabelledImages(contents.paths, contents.labels, folders=(contents,))


def _picture_folders(path: Path) -> list[Path]:
    return [child for child in path.iterdir() if child.is_dir() and child.name[0] != "." and image_files(child)]


def _tables_in(path: Path) -> list[Path]:
    return sorted(file for file in path.iterdir() if file.is_file() and file.name.lower().endswith(TABLES))


def labels_in_names(names: Sequence[str]) -> list[str] | None:
    """Return the class with which each file name begins, as in ant_001.jpg; None if the names do not show classes.

    Names that cameras and programs give (IMG_0001.jpg) show none, nor do names that hardly ever share their beginning.
    """
    labels = []
    for name in names:
        match = _NUMBERED.fullmatch(PurePosixPath(name).stem)
        if match is None:
            return None
        labels.append((match[1] or match[2]).strip(" _.-"))
    counts = Counter(labels)
    is_plain = len(counts) > 1 and min(counts.values()) > 1 and 3 * len(counts) <= len(names)
    return labels if is_plain and not any(label.casefold() in _CAMERA for label in counts) else None


# Tables, COCO and YOLO: rows that name a picture and its class.


def _of_rows(path: Path, label_column: str | None, crops: bool) -> LabelledImages:
    form = name_for(path)
    if form is None:
        raise DataError(
            f"{path} is neither a folder nor a table of labels ({', '.join(TABLES)}) nor a zip. Give a folder with a "
            "folder of images for each class."
        )
    if form == "coco":
        return _of_boxes(read_boxes(path, path.parent), f"COCO's annotations in {path.name}", crops)
    rows = limit_rows(format_of(form).read(path, label_column), path)
    return _collect(((row, path.parent) for row in rows), f"{path.name} names the pictures and their classes")


def _of_boxes(boxes: Iterable[LabelledBox], shape: str, crops: bool) -> LabelledImages:
    """Pictures by the one class that their boxes have; with ``crops``, a picture for each box."""
    pictures: dict[Path, list[LabelledBox]] = {}
    for box in boxes:
        pictures.setdefault(box.path, []).append(box)
    groups: dict[str, list[tuple[Source, str]]] = {}
    several = unlabelled = 0
    for path, own in pictures.items():
        classes = {box.label for box in own if box.label}
        group = groups.setdefault(own[0].split, [])
        if crops:
            group += [(Crop(box, number), box.label) for number, box in enumerate(own, 1) if box.label and box.area]
        elif len(classes) == 1:
            group.append((path, next(iter(classes))))
        several += len(classes) > 1
        unlabelled += not classes
    problems: tuple[str, ...] = ()
    if several and not crops:
        problems = (
            f"{plural(several, 'picture')} with several classes left out; --crops takes each box as a picture.",
        )
    parts = {name: LabelledImages.of(group, shape) for name, group in groups.items()}
    return replace(_join_splits(parts, shape), unlabelled=unlabelled, problems=problems)


def _collect(rows: Iterable[tuple[Labelled, Path]], shape: str) -> LabelledImages:
    groups: dict[str, dict[str, tuple[Source, list[str]]]] = {}
    unlabelled, problems = 0, list[str]()
    for row, root in rows:
        if not row.label.strip():
            unlabelled += 1
            continue
        try:
            named = row.content is None
            file: Source = find_file(root, row.image) if named else Content(row.image or "image", row.content or b"")
        except KCRCError as problem:
            problems.append(str(problem))
            continue
        key = os.fspath(file) if row.content is None else hashlib.sha256(row.content).hexdigest()
        labels = groups.setdefault(row.split, {}).setdefault(key, (file, []))[1]
        if row.label not in labels:
            labels.append(row.label)
    parts = {}
    for name, files in groups.items():
        pairs = [(file, labels[0]) for file, labels in files.values() if len(labels) == 1]
        several = {os.fspath(file): tuple(labels) for file, labels in files.values() if len(labels) > 1}
        parts[name] = replace(LabelledImages.of(pairs, shape), in_several=several)
    return replace(_join_splits(parts, shape), unlabelled=unlabelled, problems=tuple(problems))


def _join_splits(parts: Mapping[str, LabelledImages], shape: str) -> LabelledImages:
    """The split for training, with the others beside it; all together if there is none."""
    if "train" in parts and len(parts) > 1:
        return replace(parts["train"], splits=parts)
    return LabelledImages(
        tuple(path for part in parts.values() for path in part.paths),
        tuple(label for part in parts.values() for label in part.labels),
        shape,
        in_several={name: labels for part in parts.values() for name, labels in part.in_several.items()},
    )


def _coco_files(path: Path) -> list[tuple[str, Path]]:
    """The COCO documents of a folder, each with the name of its split, "" if it has none."""
    places = [path, path / "annotations", *(child for child in path.iterdir() if child.name.casefold() in SPLITS)]
    files = [file for place in places if place.is_dir() for file in sorted(place.glob("*.json"))]
    documents = [file for file in files if name_for(file) == "coco" and is_coco_file(file)]
    return [(_split_in_name(file), file) for file in documents]


def _split_in_name(file: Path) -> str:
    """The split that a file's name or folder says: instances_val2017.json, train/_annotations.coco.json."""
    words = [*re.findall(r"[a-z]+", file.stem.casefold()), file.parent.name.casefold()]
    return next((SPLITS[word] for word in words if word in SPLITS), "")


def _in_split(boxes: Iterable[LabelledBox], name: str) -> Iterator[LabelledBox]:
    return (replace(box, split=box.split or name) for box in boxes)


# Zips: one of a folder, or one for each class.


class ZippedPicture(Content):
    """A picture in a zip, which is read when it is needed."""

    def __init__(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "_archive", archive)
        object.__setattr__(self, "member", member)

    member: zipfile.ZipInfo
    _archive: zipfile.ZipFile

    @property
    def data(self) -> bytes:
        limits = Limits.usual()
        if self.member.file_size > limits.max_bytes:
            raise too_many_bytes(self.name, self.member.file_size, limits)
        try:
            with self._archive.open(self.member) as file:
                content = file.read(limits.max_bytes + 1)
        except (zipfile.BadZipFile, zlib.error, RuntimeError, OSError, EOFError) as problem:
            raise ImageError(self.name, "broken", f"cannot be read from the zip ({problem}).") from None
        if len(content) > limits.max_bytes:
            raise too_many_bytes(self.name, len(content), limits)
        return content


def _pictures_in(path: Path) -> list[tuple[tuple[str, ...], ZippedPicture]]:
    """The pictures of a zip, with the parts of their names, without hidden ones. Nothing is written to the disk."""
    try:
        archive = zipfile.ZipFile(path)
        members = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError) as problem:
        raise FileError(f"'{path}' cannot be read as a zip: {problem}.") from None
    if len(members) > _MEMBERS:
        raise FileError(f"'{path}' holds {len(members)} files; at most {_MEMBERS} are read. Give it in parts.")
    pictures = []
    for member in members:
        parts = PurePosixPath(member.filename.replace("\\", "/")).parts
        is_plain = not any(part.startswith((".", "__MACOSX", "/")) for part in parts)
        if parts and is_plain and not member.is_dir() and os.path.splitext(parts[-1])[1].lower() in EXTENSIONS:
            pictures.append((parts, ZippedPicture(archive, member, f"{path}/{'/'.join(parts)}")))
    return sorted(pictures, key=lambda pair: pair[0])


def _of_zip(path: Path) -> LabelledImages:
    pictures = _pictures_in(path)
    while pictures and len({parts[0] for parts, _ in pictures}) == 1 and all(len(parts) > 2 for parts, _ in pictures):
        pictures = [(parts[1:], picture) for parts, picture in pictures]  # one folder around all of it
    tops = {parts[0].casefold() for parts, _ in pictures if len(parts) > 2}
    depth = 0
    if "train" in {SPLITS.get(top) for top in tops} and tops <= SPLITS.keys():
        depth = 1
    groups: dict[str, list[tuple[Source, str]]] = {}
    loose = []
    for parts, picture in pictures:
        if len(parts) > depth + 1:
            split = SPLITS[parts[0].casefold()] if depth else ""
            groups.setdefault(split, []).append((picture, parts[depth]))
        else:
            loose.append((parts[-1], picture))
    shape = f"{path.name} has a folder for each class"
    if not groups and (labels := labels_in_names([name for name, _ in loose])) is not None:
        groups[""] = [(picture, label) for (_, picture), label in zip(loose, labels, strict=True)]
        shape = f"The names in {path.name} begin with their class, such as {loose[0][0]}"
    elif loose and not groups:
        raise DataError(
            f"{path} holds {plural(len(loose), 'picture')} and no folders. Put the zips of all classes into one "
            "folder and give that, or make a zip with a folder for each class."
        )
    return _join_splits({name: LabelledImages.of(group, shape) for name, group in groups.items()}, shape)


def _of_class_zips(path: Path, zips: Sequence[Path]) -> LabelledImages:
    """One zip for each class, named after it, as Teachable Machine saves samples: "Class 1-samples.zip"."""
    pairs = [
        (picture, re.sub(r"[-_ ]samples( ?\(\d+\))?$", "", file.stem, flags=re.IGNORECASE))
        for file in zips
        for _, picture in _pictures_in(file)
    ]
    return LabelledImages.of(pairs, f"{path.name} has a zip for each class")


# Boxes as pictures, and pictures that stand in several classes.


class Crop(Content):
    """What is inside a box of a picture, cut out when it is needed."""

    def __init__(self, box: LabelledBox, number: int) -> None:
        object.__setattr__(self, "name", f"{box.path}#{number}")
        object.__setattr__(self, "box", box)

    box: LabelledBox

    @property
    def data(self) -> bytes:
        from PIL import Image

        from kcrc.images.decoding.reading import read

        pixels = read(self.box.path).pixels
        left, top, right, bottom = self.box.inside(pixels.shape[1], pixels.shape[0])
        if right <= left or bottom <= top:
            raise ImageError(self.name, "empty box", "has a box without a pixel.")
        packed = io.BytesIO()
        Image.fromarray(pixels[top:bottom, left:right]).save(packed, "PNG")
        return packed.getvalue()


def _without_ambiguous(found: LabelledImages) -> LabelledImages:
    """Leave out the pictures whose bytes stand in several classes: which class is right cannot be known."""
    by_size: dict[tuple[int, int], list[int]] = {}
    for place, path in enumerate(found.paths):
        if (size := _size_of(path)) is not None:
            by_size.setdefault(size, []).append(place)
    labels_of: dict[str, dict[str, list[int]]] = {}
    for places in by_size.values():
        if len({found.labels[place] for place in places}) > 1:
            for place in places:
                try:
                    digest = hashlib.sha256(fetch(found.paths[place])).hexdigest()
                except ImageError:
                    continue  # who decodes it says why
                labels_of.setdefault(digest, {}).setdefault(found.labels[place], []).append(place)
    several = dict(found.in_several)
    left_out: set[int] = set()
    for labels in labels_of.values():
        if len(labels) > 1:
            for places in labels.values():
                left_out.update(places)
                several |= {os.fspath(found.paths[place]): tuple(sorted(labels)) for place in places}
    if not left_out:
        return found
    kept = [place for place in range(len(found.paths)) if place not in left_out]
    paths, labels_left = tuple(found.paths[p] for p in kept), tuple(found.labels[p] for p in kept)
    return replace(found, paths=paths, labels=labels_left, in_several=several)


def _size_of(path: Source) -> tuple[int, int] | None:
    """What two pictures with the same bytes share, at hardly any cost; None if it is not known."""
    if isinstance(path, ZippedPicture):
        return path.member.file_size, path.member.CRC
    if isinstance(path, Crop):
        return None
    if isinstance(path, Content):
        return len(path.data), 0
    try:
        return os.stat(path).st_size, 0
    except OSError:
        return None
