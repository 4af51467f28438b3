"""pyarrow without its stubs: one place that says why.

The stubs describe every compute kernel by dozens of overloads over array, chunked array and scalar;
code that works on whole arrays of types known only at run time cannot satisfy them.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import pyarrow
import pyarrow.compute

pa: Any = pyarrow
pc: Any = pyarrow.compute

Column: TypeAlias = Any
