"""The study selftuned, with the data of ../shared/data where $KCRC_DATA names no others.

python lab/benchmarks/selftuned.py --splits 5 --rivals 0 --compare lab/benchmarks/selftuned-27effd8.csv
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lab.experiments.studies.selftuned import main  # noqa: E402: of this folder's project

if __name__ == "__main__":
    os.environ.setdefault("KCRC_DATA", str(Path(__file__).resolve().parents[3] / "shared" / "data"))
    sys.exit(main())
