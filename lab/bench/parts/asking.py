"""CPU time of ``kcrc predict`` from a cold start, beside what no program that looks at an image can save.

Made-up images of 10 classes, 100 each, become a gallery of each feature; then one image is asked about by a process of
its own, several times, and the least CPU time counts. The bare cost is that of a process which imports NumPy, Pillow
and onnxruntime and runs the embedding's network once; without the extra ``embedding``, that of NumPy and Pillow, and
the embedding is left out.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from kcrc.errors import ParameterError
from kcrc.gallery import Gallery
from kcrc.images.features.embedding import network
from kcrc.images.network.onnx_runtime import onnxruntime
from kcrc.report.tables import text_table
from lab.bench.parts import PartRun
from lab.bench.results import Requirement

MOST = 0.3  # CPU seconds above the bare cost
PREDICT = "import sys; from kcrc.cli import main; sys.exit(main(['predict', *sys.argv[1:]]))"
IMAGES = "import numpy, PIL.Image"
NETWORK = """
import numpy, PIL.Image, onnxruntime
from kcrc.images.features.embedding import network
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(network(), options)
session.run(None, {session.get_inputs()[0].name: numpy.zeros((1, 3, 224, 224), "float32")})
"""


def measure(run: PartRun) -> None:
    each, times = (3, 1) if run.quick else (100, 5)
    with tempfile.TemporaryDirectory() as folder:
        photos = photographs(Path(folder) / "photos", each)
        features, bare_program = ["hog"], IMAGES
        try:
            onnxruntime()
            network()
        except ParameterError as missing:
            run.say(f"The embedding is left out. {missing}")
        else:
            features, bare_program = [*features, "embedding"], NETWORK
        bare = cpu_seconds([bare_program], times)
        lines = [["bare", f"{bare:.2f}", ""]]
        for feature in features:
            gallery = Path(folder) / f"{feature}.kcrc"
            Gallery.from_folder(photos, gallery, feature=feature).close()
            spent = cpu_seconds([PREDICT, str(gallery), str(photos / "c3" / "0.png")], times)
            lines.append([feature, f"{spent:.2f}", f"{spent - bare:.2f}"])
            run.results.ratios[f"kcrc predict, {feature} / bare"] = spent / bare
            text = f"CPU seconds of kcrc predict above the bare cost, {feature}"
            run.results.claims.append(Requirement(text, spent - bare, MOST))
    run.say(text_table(f"\nOne image, {10 * each:,} examples", ["", "CPU seconds", "above"], lines))


def photographs(folder: Path, each: int) -> Path:
    """A folder with a folder for each of 10 classes."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for c, centre in enumerate(rng.uniform(0, 255, (10, 32, 32, 3))):
        (folder / f"c{c}").mkdir(parents=True)
        for i in range(each):
            pixels = (centre + rng.uniform(0, 255, centre.shape)) / 2
            Image.fromarray(pixels.astype(np.uint8)).save(folder / f"c{c}" / f"{i}.png")
    return folder


def cpu_seconds(arguments: list[str], times: int) -> float:
    """CPU seconds of a Python program of its own, the least of several runs."""
    used = []
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", *arguments], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(used)
