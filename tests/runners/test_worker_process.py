"""What a worker frees it gets again without asking the system for it."""

import gc
import subprocess
import sys

import pytest

# Page faults while 64 MB are filled, the second time: what was freed before is at hand or not.
FAULTS = """
import resource
import numpy as np
from augury.runners.process.worker_process import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.ones(2**23)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
by_itself = faults()
if not keep_freed_memory():
    raise SystemExit(3)
faults()
print(by_itself, faults())
"""


def test_freed_memory_is_used_again() -> None:
    command = [sys.executable, "-c", FAULTS]
    told = subprocess.run(command, check=False, capture_output=True, text=True)
    if told.returncode == 3:
        pytest.skip("the C library of this system has no mallopt")
    by_itself, kept = map(int, told.stdout.split())
    assert kept * 10 < by_itself


# Objects that the collector looks at after each of some tasks, which forget a thousand each; the
# sixth loads more modules.
LOOKED_AT = """
import gc
from augury.runners.process.worker_process import settle_in

forgotten = []
for task in range(12):
    settle_in()
    forgotten.append([[] for _ in range(1000)])
    print(len(gc.get_objects()))
    if task == 5:
        import unittest.mock, xml.dom.minidom
"""


def test_what_is_loaded_is_not_looked_at_again() -> None:
    command = [sys.executable, "-c", LOOKED_AT]
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    found = list(map(int, told.stdout.split()))
    # This process has loaded as much, and other tests may have frozen it.
    assert len(gc.get_objects()) + gc.get_freeze_count() > 20_000
    # The first tasks, and the first after more was loaded: nothing but what they made themselves.
    assert all(1000 <= count < 1100 for count in found[:4] + found[6:10])
    # Later tasks are not frozen: what they forget has to be found.
    assert all(count > 2000 for count in found[4:6] + found[10:])
