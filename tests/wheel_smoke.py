"""What an installed wheel must do by itself: run by the environment it is installed in, from a folder of its own.

No development package, no compiler, no sources: ``.ci/wheel`` sees to that.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

import kcrc
from kcrc import KCRCClassifier
from kcrc.native import native


def command(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-I", "-m", "kcrc", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, f"kcrc {' '.join(arguments)}: {done.stderr}"
    return done.stdout


def library(folder: Path) -> None:
    X, y = load_digits(return_X_y=True)
    clf = KCRCClassifier(tuning_seconds=1, verbose=False).fit(X[:500], y[:500])
    right = float(np.mean(clf.predict(X[500:900]) == y[500:900]))
    assert right > 0.9, right
    clf.save(folder / "digits.kcrc")
    again = KCRCClassifier.load(folder / "digits.kcrc")
    assert (again.predict(X[500:600]) == clf.predict(X[500:600])).all()
    assert again.explain(X[500:501]).to_dict()["neighbours"]


def command_line(folder: Path) -> None:
    X, y = load_digits(return_X_y=True)
    for at in range(60):
        into = folder / "pictures" / f"digit {y[at]}"
        into.mkdir(parents=True, exist_ok=True)
        Image.fromarray((X[at].reshape(8, 8) * 15).astype(np.uint8)).resize((32, 32)).save(into / f"{at}.png")
    query = folder / "query.png"
    Image.fromarray((X[60].reshape(8, 8) * 15).astype(np.uint8)).resize((32, 32)).save(query)
    gallery = str(folder / "gallery.kcrc")
    command("build", str(folder / "pictures"), "-o", gallery, "-f", "hog")
    assert "digit" in command("predict", gallery, str(query))
    command("explain", gallery, str(query), "--html", str(folder / "why.html"))
    assert "digit" in (folder / "why.html").read_text()
    assert kcrc.__version__ in command("info", "--system")
    assert "A typical right answer" in command("demo", str(folder / "demo"))
    assert (folder / "demo" / "why.png").is_file()


if __name__ == "__main__":
    assert "site-packages" in kcrc.__file__, kcrc.__file__
    assert (Path(kcrc.__file__).parent / "files" / "style.mplstyle").is_file(), "the style of the examples is missing"
    assert native is not None or os.environ.get("KCRC_EXPECT_COMPILED") != "1", "the compiled path is missing"
    with tempfile.TemporaryDirectory() as place:
        library(Path(place))
        command_line(Path(place))
    print(f"kcrc {kcrc.__version__} from a wheel: library and command line answer")
