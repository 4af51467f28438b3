"""Builds the wheel with kernels that are compiled (docs/decisions/0022-kernels-come-compiled.md).

An installation in place has none: it compiles once for its own processor, and keeps that.
"""

import os
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

TOOL = Path(__file__).parent / "tools" / "ship-kernels"


class WithKernels(build_py):
    """Copies the package, and compiles its kernels beside their sources."""

    def run(self) -> None:
        """Run in a process of its own, which imports what was copied."""
        super().run()
        if not self.editable_mode:
            built = Path(self.build_lib).resolve()
            subprocess.run(
                [sys.executable, TOOL, built / "augury" / "kernels" / "compiled"],
                env=os.environ | {"PYTHONPATH": str(built)},
                check=True,
            )


class ForOnePlatform(bdist_wheel):
    """Names the wheel by Python and platform, because of what is compiled in it."""

    def finalize_options(self) -> None:
        """Let setuptools take it for a package with compiled parts."""
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> tuple[str, str, str]:
        """Return Python's version and the platform; no code is linked to Python's own."""
        python, _, platform = super().get_tag()
        return python, "none", platform


setup(cmdclass={"build_py": WithKernels, "bdist_wheel": ForOnePlatform})
