"""`augury doctor`: what will do, what will not, and what to do about it."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

from augury.cli import doctor
from augury.cli.doctor import Finding, Package
from cli.terminal import augury

PANDAS = Package("pandas", (2, 2), (3,), extra="spark")
PROTOBUF = Package("protobuf", (6, 33, 5), extra="spark")
NUMBA = Package("numba", (0, 60))


@pytest.mark.parametrize(
    ("package", "found", "status"),
    [
        (PANDAS, "2.2.0", "ok"),
        (PANDAS, "2.3.3", "ok"),
        (PANDAS, "3.0.0", "fail"),
        (PANDAS, "2.1.4", "fail"),
        (PANDAS, None, "warn"),
        (PROTOBUF, "6.33.4", "fail"),
        (PROTOBUF, "6.33.5", "ok"),
        (PROTOBUF, "7.0.0rc1", "ok"),
        (NUMBA, None, "fail"),
    ],
)
def test_versions_out_of_range_fail_and_absent_extras_warn(
    package: Package, found: str | None, status: str
) -> None:
    finding = doctor.look_at_package(package, found)
    assert finding.status == status
    assert bool(finding.advice) is (status != "ok")


@pytest.mark.parametrize(
    ("found", "spark_installed", "status"),
    [
        ("17.0.15", True, "ok"),
        ("21", True, "ok"),
        ("11.0.2", True, "fail"),
        ("1.8.0_402", True, "fail"),
        (None, True, "fail"),
        (None, False, "warn"),
    ],
)
def test_java_must_be_17_where_spark_is_used(
    found: str | None, spark_installed: bool, status: str
) -> None:
    assert doctor.look_at_java(found, spark_installed=spark_installed).status == status


def test_missing_java_says_how_to_install_it() -> None:
    assert "openjdk-17-jre-headless" in doctor.look_at_java(None, spark_installed=True).advice


def test_an_old_python_fails() -> None:
    assert doctor.look_at_python("3.10.13").status == "fail"
    assert doctor.look_at_python("3.11.0").status == "ok"


def test_workers_must_run_this_python() -> None:
    assert doctor.look_at_worker_python(sys.executable).status == "ok"
    assert doctor.look_at_worker_python("/nowhere/python").status == "warn"


def test_little_memory_and_one_core_are_warnings() -> None:
    assert doctor.look_at_memory(2**30).status == "warn"
    assert doctor.look_at_memory(8 * 2**30) == Finding("memory", "ok", "8.0 GB")
    assert doctor.look_at_cores(1).status == "warn"


def test_java_is_looked_for_where_spark_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert doctor.java_version() is None


def test_a_failure_is_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: [Finding("java", "fail", "8", "install 17")])
    shown = augury("doctor")
    assert shown.exit_code == 1
    assert "install 17" in shown.output
    assert "1 to repair" in shown.output


def test_the_doctor_knows_every_package_that_is_declared(repository: Path) -> None:
    declared = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {k: v for k, v in declared["optional-dependencies"].items() if k != "dev"}
    known = {package.name: package for package in doctor.PACKAGES}
    for extra, wanted in {"": declared["dependencies"], **extras}.items():
        for each in wanted:
            name = re.split(r"[\[<>=]", each)[0]
            if name in ("click", "rich"):
                continue  # without them there is no doctor
            package = known[name]
            bounds = re.sub(r"\[.*\]", "", each).removeprefix(name)
            assert package.requirement.removeprefix(name) == bounds
            # The extra delta has what spark has.
            assert extra in ("delta", package.extra or "")


def test_of_two_packages_that_exclude_each_other_one_will_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor, "installed", {"pyspark-client": "4.1.0"}.get)
    named = {finding.name for finding in doctor.examine()}
    assert "pyspark-client" in named
    assert "pyspark" not in named


def test_json_lists_every_finding() -> None:
    found = {finding["name"]: finding for finding in json.loads(augury("doctor", "--json").output)}
    assert {"python", "java", "pyspark", "pandas", "protobuf", "memory", "cores"} <= set(found)
    assert found["python"]["status"] == "ok"
