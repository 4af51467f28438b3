"""What `import augury` gives, and what it does not load."""

from __future__ import annotations

import subprocess
import sys

import pytest

import augury


def modules_after(code: str) -> set[str]:
    """Return the modules that a new interpreter has loaded after `code`."""
    script = f"{code}\nimport sys\nsys.stderr.write(' '.join(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    return set(run.stderr.split())


def test_the_public_interface_is_these_names() -> None:
    assert sorted(augury.__all__) == [
        "AuguryError",
        "DataError",
        "ModelError",
        "QueryError",
        "Session",
        "StateError",
        "__version__",
        "warm_up",
    ]


def test_every_public_name_can_be_loaded() -> None:
    assert all(getattr(augury, name) is not None for name in augury.__all__)
    assert set(dir(augury)) >= set(augury.__all__)


def test_every_error_is_an_augury_error() -> None:
    errors = (augury.QueryError, augury.ModelError, augury.DataError, augury.StateError)
    assert all(issubclass(error, augury.AuguryError) for error in errors)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="sessoin"):
        augury.sessoin  # noqa: B018


HEAVY = {"pyspark", "numba", "pandas", "numpy", "pyarrow", "lark", "click", "rich"}


def test_importing_augury_loads_nothing_heavy_and_little_of_itself() -> None:
    loaded = modules_after("import augury")
    assert not loaded & HEAVY
    assert {name for name in loaded if name.startswith("augury")} == {"augury"}


def test_a_session_needs_no_engine_to_check_and_explain() -> None:
    loaded = modules_after(
        "import augury\n"
        "ag = augury.Session(engine='local')\n"
        "ag.sql('CREATE STREAM r (k STRING, t LONG) KEY k TIME t;'\n"
        "       'CREATE QUERY q ON r PATTERN SEQ(a, b) WHERE [k] WITHIN 5 RETURN a.k;')\n"
        "ag.explain('q')"
    )
    assert not loaded & {"pyspark", "numba", "pandas", "click", "rich"}


def test_the_help_of_the_command_line_loads_neither_engine_nor_language() -> None:
    loaded = modules_after(
        "import sys\n"
        "from augury.cli.main import main\n"
        "sys.argv = ['augury', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass"
    )
    assert not loaded & (HEAVY - {"click"})
    assert not any(name.startswith(("augury.language", "augury.planning")) for name in loaded)
