"""Image sets by name: ``names()``, ``load(name, data=None)``, ``from_folder(path)``, ``split_per_class``."""

from kcrc.datasets.base import Dataset, Provenance
from kcrc.datasets.catalogue import available, load, locate, names, source
from kcrc.datasets.folders import class_folders, from_folder, image_files
from kcrc.datasets.splits import split_per_class, subset_per_class

__all__ = [
    "Dataset",
    "Provenance",
    "available",
    "class_folders",
    "from_folder",
    "image_files",
    "load",
    "locate",
    "names",
    "source",
    "split_per_class",
    "subset_per_class",
]
