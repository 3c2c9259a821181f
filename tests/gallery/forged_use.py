"""Everything that can be done with a forged file, and a program that does it: only the library's own errors come out.

``python tests/gallery/forged_use.py FOLDER FIRST LAST`` forges and uses the cases of these seeds in little memory.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / name) for name in ("support", ".")]

from disks import wait_for_no_disk  # noqa: E402
from photos import small_picture  # noqa: E402

from gallery.forged_files import originals  # noqa: E402
from gallery.forging import cases  # noqa: E402
from kcrc import Gallery, KCRCClassifier  # noqa: E402
from kcrc.cli import main as command  # noqa: E402
from kcrc.cli.endings import FAULT  # noqa: E402
from kcrc.errors import KCRCError  # noqa: E402
from kcrc.gallery import restore, verify  # noqa: E402

MEMORY = 3 << 30  # bytes of address space; half of it is taken by the libraries
SECONDS = 60  # for one case, on a busy machine


def use(path: Path) -> None:
    """Everything that can be done with a file; the library's own errors are answers too."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if path.suffix == ".kcrc":
            _use_gallery(path)
        elif path.suffix == ".kcrcmodel":
            _use_classifier(path)
        else:
            _use_export(path)


def _try(step: Callable[[], Any]) -> Any:
    try:
        return step()
    except KCRCError as problem:
        _check_memory(str(problem))
    return None


def _check_memory(said: str) -> None:
    """Memory that ran out is no answer, also where the library has words for it: without a limit it would be taken."""
    if "more memory than there is" in said or "Unable to allocate" in said or "not enough memory" in said:
        raise AssertionError(said)


def _command(*arguments: object) -> None:
    with contextlib.redirect_stderr(io.StringIO()) as told:
        code = command([str(argument) for argument in arguments])
    _check_memory(told.getvalue())
    if code == FAULT:
        raise AssertionError(f"kcrc {arguments[0]} ended in a fault")


def _use_gallery(path: Path) -> None:
    _check_memory(" ".join(verify(path).problems))
    for name in ("info", "history", "verify"):
        _command(name, path)
    gallery = _try(lambda: Gallery.open(path))
    if gallery is None:
        return
    with gallery:
        picture = [small_picture(3, 40)]
        steps: list[Callable[[], Any]] = [
            lambda: (len(gallery), gallery.counts, gallery.classes, gallery.retune_due, repr(gallery)),
            gallery.history,
            lambda: [gallery.example(i) for i in gallery.find()],
            lambda: [gallery.thumbnail(i) for i in gallery.find()],
            lambda: gallery.answering.feature().fingerprint,
            lambda: gallery.predict(picture),
            lambda: gallery.predict(picture, reject=0.1),
            lambda: gallery.explain(picture).to_dict(),
            lambda: gallery.predict_set(picture),
            lambda: _ask(gallery.classifier(), gallery.vectors()[1][:2]),
            lambda: repr(gallery.classifier().tuning_),
            gallery.audit,
            lambda: gallery.export(path.with_name(f"{path.stem}.out")),
            lambda: restore(path.with_name(f"{path.stem}.out"), path.with_name(f"{path.stem}.again")).close(),
            lambda: gallery.import_(path.with_name(f"{path.stem}.out")),
            lambda: gallery.add("new", [[0.5] * gallery.dim]),
            lambda: gallery.relabel([1], "other"),
            lambda: gallery.remove([2]),
            gallery.undo,
            gallery.undo,
            lambda: gallery.erase([1]),
            gallery.compact,
            gallery.verify,
        ]
        for step in steps:
            _try(step)


def _use_classifier(path: Path) -> None:
    classifier = _try(lambda: KCRCClassifier.load(path))
    if classifier is None:
        return
    X = np.array(classifier.model_.raw[:2], float)
    _ask(classifier, X)
    for step in (
        lambda: classifier.partial_fit(X + 0.01, classifier.classes_[:2][[0] * len(X)]),
        lambda: classifier.forget(classifier.model_.ids[:1]),
        lambda: classifier.predict(X),
        lambda: classifier.audit(),
        lambda: repr(classifier.tuning_),
        lambda: classifier.save(path.with_name(f"{path.stem}.again")),
        lambda: KCRCClassifier.load(path.with_name(f"{path.stem}.again")).predict(X),
    ):
        _try(step)


def _ask(classifier: KCRCClassifier, X: np.ndarray) -> None:
    for step in (
        lambda: classifier.predict(X),
        lambda: classifier.predict_proba(X),
        lambda: classifier.decision_function(X),
        lambda: classifier.explain(X).to_dict(),
        lambda: str(classifier.explain(X)),
        lambda: classifier.predict(X, reject=0.1),
        lambda: classifier.predict_set(X),
    ):
        _try(step)


def _use_export(path: Path) -> None:
    made = _try(lambda: restore(path, path.with_name(f"{path.stem}.kcrc")))
    if made is not None:
        made.close()
        _use_gallery(path.with_name(f"{path.stem}.kcrc"))
    target = path.with_name(f"{path.stem}.target.kcrc")
    shutil.copy(path.parent / "originals" / "fixed.kcrc", target)
    _command("import", target, path)
    with Gallery.open(target) as gallery:
        _try(lambda: gallery.import_(path))


def main(folder: Path, first: int, last: int) -> None:
    """Forge and use; each fault is told, and the exit code says whether there was one."""
    import resource
    import signal
    import time
    import traceback
    import warnings

    wait_for_no_disk()
    originals(folder)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    wrong, slowest, began = 0, (0.0, ""), time.perf_counter()

    def too_long(*_: object) -> None:
        raise TimeoutError(f"it took longer than {SECONDS} s")

    signal.signal(signal.SIGALRM, too_long)
    warnings.simplefilter("ignore")
    for name, path in cases(folder, seed=first, count=last - first):
        start = time.perf_counter()
        signal.alarm(SECONDS)
        try:
            use(path)
        except Exception:
            wrong += 1
            print(f"FAULT {name}\n{traceback.format_exc()}", flush=True)
        signal.alarm(0)
        slowest = max(slowest, (time.perf_counter() - start, name))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    seconds = time.perf_counter() - began
    print(f"{last - first} cases, {wrong} faults, {seconds:.0f} s, {memory} MB; {slowest[0]:.1f} s for {slowest[1]}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
