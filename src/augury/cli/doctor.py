"""`augury doctor`: is this machine ready, and if not, what to do.

What is missing but optional is a warning; what is there but cannot work is a failure. Packages are
looked up by their metadata and never imported, so the doctor can see a patient who cannot start.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import click

Status = Literal["ok", "warn", "fail"]

JAVA_ADVICE = (
    "install Java 17 or later (Debian: apt-get install openjdk-17-jre-headless) "
    "or set JAVA_HOME to where it is"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: what was found, whether it will do, and what to do if not."""

    name: str
    status: Status
    found: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Package:
    """A package and the versions that work; `extra` names the optional extra it belongs to.

    `needed_by` says who does not do without it.
    """

    name: str
    at_least: tuple[int, ...]
    below: tuple[int, ...] | None = None
    extra: str | None = None
    needed_by: str = "the Spark engine"

    @property
    def requirement(self) -> str:
        upper = f",<{_dotted(self.below)}" if self.below else ""
        return f"{self.name}>={_dotted(self.at_least)}{upper}"


PACKAGES = (
    Package("pyspark", (4, 0), (5,), extra="spark"),
    Package("pandas", (2, 2), (3,), extra="spark"),
    Package("protobuf", (6, 33, 5), extra="spark"),
    Package("pyarrow", (15,)),
    Package("numba", (0, 60)),
    Package("numpy", (1, 26)),
    Package("lark", (1, 2)),
    Package("sqlalchemy", (2,), (3,)),
    Package("pyspark-client", (4, 0), (5,), "connect", "Spark Connect without Java here"),
    Package("psycopg", (3, 1), (4,), "postgres", "stores in PostgreSQL"),
    Package("highspy", (1, 10), None, "privacy", "policies over more than 12 types"),
    Package("ipython", (8,), None, "notebook", "notebooks"),
)


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", text)[:3])


def installed(name: str) -> str | None:
    """Return the installed version of a package, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def look_at_python(found: str) -> Finding:
    """Judge the running interpreter by its version."""
    if _numbers(found) < (3, 11):
        return Finding("python", "fail", found, "install Python 3.11 or later")
    return Finding("python", "ok", found)


def look_at_package(package: Package, found: str | None) -> Finding:
    """Judge the version `found` (None: absent) of a package.

    >>> look_at_package(Package("pandas", (2, 2), (3,)), "3.0.1").status
    'fail'
    """
    if found is None and package.extra:
        advice = f"needed by {package.needed_by} only: pip install 'augury[{package.extra}]'"
        return Finding(package.name, "warn", "not installed", advice)
    advice = f"pip install '{package.requirement}'"
    if found is None:
        return Finding(package.name, "fail", "not installed", advice)
    numbers = _numbers(found)
    fits = numbers >= package.at_least and (package.below is None or numbers < package.below)
    return Finding(package.name, "ok" if fits else "fail", found, "" if fits else advice)


def java_version() -> str | None:
    """Return the version of the Java that Spark would start, or None."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home, "bin", "java")) if home else "java")
    if java is None:
        return None
    try:
        shown = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=30, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "([^"]+)"', shown)
    return match.group(1) if match else None


def look_at_java(found: str | None, *, spark_installed: bool) -> Finding:
    """Judge Java: only the Spark engine needs it, and Spark 4 needs 17 or later."""
    if found is None:
        status: Status = "fail" if spark_installed else "warn"
        advice = f"needed by the Spark engine only: {JAVA_ADVICE}"
        return Finding("java", status, "not found", advice)
    if _numbers(found) < (17,):
        return Finding("java", "fail", found, JAVA_ADVICE)
    return Finding("java", "ok", found)


def look_at_worker_python(setting: str | None) -> Finding:
    """Judge PYSPARK_PYTHON: workers that run another environment's Python miss the packages."""
    from augury.runners.process.worker_python import is_of_this_environment

    found = setting or f"unset: Spark's workers run {shutil.which('python3') or 'python3'}"
    if is_of_this_environment(setting):
        return Finding("PYSPARK_PYTHON", "ok", found)
    return Finding("PYSPARK_PYTHON", "warn", found, f"export PYSPARK_PYTHON={sys.executable}")


def memory_bytes() -> int | None:
    """Return the machine's memory, or None where it cannot be told."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def look_at_memory(found: int | None) -> Finding:
    """Judge the memory: a local Spark with Python workers wants four gigabytes."""
    if found is None:
        return Finding("memory", "warn", "unknown", "4 GB or more are comfortable for Spark")
    shown = f"{found / 2**30:.1f} GB"
    if found < 3.5 * 2**30:
        return Finding("memory", "warn", shown, "Spark wants 4 GB or more; use the local engine")
    return Finding("memory", "ok", shown)


def look_at_cores(found: int | None) -> Finding:
    """Judge the number of cores."""
    if found is None or found < 2:
        return Finding("cores", "warn", str(found or "unknown"), "two or more let Spark overlap")
    return Finding("cores", "ok", str(found))


def _looked_up() -> Iterator[tuple[Package, str | None]]:
    """Yield packages and their versions; of the two that are one library, the one that is there."""
    for package in PACKAGES:
        other = {"pyspark": "pyspark-client", "pyspark-client": "pyspark"}.get(package.name)
        found = installed(package.name)
        if found is not None or other is None or installed(other) is None:
            yield package, found


def examine() -> list[Finding]:
    """Look at everything, in the order in which a repair would go."""
    return [
        look_at_python(platform.python_version()),
        *(look_at_package(package, found) for package, found in _looked_up()),
        look_at_java(java_version(), spark_installed=installed("pyspark") is not None),
        look_at_worker_python(os.environ.get("PYSPARK_PYTHON")),
        look_at_memory(memory_bytes()),
        look_at_cores(os.cpu_count()),
    ]


@click.command(short_help="Look at this machine: is it ready?")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Look at this machine: Python, packages, Java, memory and cores.

    Says what will do, what will not, and what to do about it. Only the Spark engine needs Java;
    checking, explaining and the local engine do not.
    """
    findings = examine()
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        show(findings)
    ctx.exit(1 if any(finding.status == "fail" for finding in findings) else 0)


_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}
_WIDE_ENOUGH = 400


def show(findings: list[Finding]) -> None:
    """Print the findings as a table, and a last line that sums them up."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for finding in findings:
        status = Text(finding.status, style=_COLOURS[finding.status])
        table.add_row(status, finding.name, Text(finding.found), Text(finding.advice))
    # Only a terminal has a width that lines must be folded to.
    console = Console(width=None if sys.stdout.isatty() else _WIDE_ENOUGH)
    with console.capture() as drawn:
        console.print(table)
    # A table fills its cells up with blanks, which are in the way of who copies a line.
    click.echo("\n".join(line.rstrip() for line in drawn.get().splitlines()))
    failed = sum(finding.status == "fail" for finding in findings)
    warned = sum(finding.status == "warn" for finding in findings)
    console.print(f"\n{failed or 'nothing'} to repair, {warned or 'nothing'} to consider")
