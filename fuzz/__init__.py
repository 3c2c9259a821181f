"""Attacks on kcrc from a seed: hostile files, pictures, models, numbers, names, and kills, each in a watched process.

``python -m fuzz`` runs all areas; ``make fuzz`` the full number. One file in ``areas/`` is one area.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))  # this checkout, whatever is installed
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # before NumPy: workers are forked, and threads do not come along
