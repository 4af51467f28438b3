"""Which Python do Spark's workers run? One of another environment lacks the packages.

Spark takes `python3` of the path unless `PYSPARK_PYTHON` says otherwise, so a script that is run by
the Python of an environment that is not active meets workers that know nothing of augury.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any


def is_of_this_environment(worker: str | None) -> bool:
    """Whether an interpreter lies where this one lies.

    Not whether both are one file: the Python of a virtual environment is a link to one that lacks
    its packages.
    """
    found = shutil.which(worker or "python3")
    here = Path(sys.executable).parent.resolve()
    return found is not None and Path(found).parent.resolve() == here


def notice_of(spark: Any) -> str | None:
    """Return what to do where the workers of a local session run another Python; else None.

    On a cluster other paths are right, and a session over Spark Connect does not tell.
    """
    context = getattr(spark, "sparkContext", None)
    if context is None or not str(context.master).startswith("local"):
        return None
    worker = str(context.pythonExec)
    if is_of_this_environment(worker):
        return None
    return (
        f"Spark's Python workers run {shutil.which(worker) or worker}, which is not of this "
        "environment and may lack augury; set PYSPARK_PYTHON before Spark starts: "
        f"export PYSPARK_PYTHON={sys.executable}"
    )
