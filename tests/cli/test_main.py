"""The command itself: help, version, exit codes, and how it owns up to its own faults."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import pytest

import augury as package
from augury.cli import main as main_module
from cli.terminal import augury


def test_augury_alone_shows_its_commands() -> None:
    shown = augury()
    assert shown.exit_code == 0
    assert all(command in shown.output for command in ("check", "explain", "doctor"))


def test_the_version_is_the_packages() -> None:
    assert augury("--version").output == f"augury {package.__version__}\n"


def test_an_unknown_command_is_a_usage_error() -> None:
    shown = augury("chekc")
    assert shown.exit_code == 2
    assert "chekc" in shown.output


@pytest.mark.parametrize("command", ["check", "explain", "doctor", "demo"])
def test_every_command_has_help(command: str) -> None:
    shown = augury(command, "--help")
    assert shown.exit_code == 0
    assert "Usage: " in shown.output


def test_a_crash_owns_up_and_tells_how_to_reproduce_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash(**_: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr(main_module.cli, "main", crash)
    monkeypatch.setattr(sys, "argv", ["augury", "check", "my script.sql"])
    with pytest.raises(SystemExit) as exit_:
        main_module.main()
    shown = capsys.readouterr().err
    assert exit_.value.code == 1
    assert "RecursionError: too deep" in shown
    assert "AUGURY_TRACEBACK=1 augury check 'my script.sql'" in shown


def test_a_warning_is_a_line_that_says_nothing_of_the_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        main_module.cli, "main", lambda **_: warnings.warn("two ties", UserWarning, stacklevel=2)
    )
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        main_module.main()
    assert capsys.readouterr().err == "warning: two ties\n"


def test_an_interrupted_command_has_the_exit_code_of_shells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main_module.doctor, "callback", interrupt)
    shown = augury("doctor")
    assert shown.exit_code == 130
    assert shown.output == "stopped\n"


def test_a_terminal_without_utf8_is_no_reason_to_crash() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "augury", "check", "-"],
        input="CREATE STREAM \N{GREEK SMALL LETTER SIGMA};".encode(),
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 2
    assert b"Traceback" not in run.stderr
    assert b"broke" not in run.stderr
