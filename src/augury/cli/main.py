"""The `augury` command: its subcommands, its exit codes, and what happens when something breaks.

Exit codes: 0 all is well; 1 a file, the data or the environment is at fault; 2 the query (or the
command line) is; 130 Ctrl-C. A crash is our fault, says so, and prints the command that reproduces
it.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import warnings
from typing import Any, NoReturn

import click

import augury
from augury.cli import findings
from augury.cli.check import check
from augury.cli.demo import demo
from augury.cli.doctor import doctor
from augury.cli.explain import explain
from augury.cli.init import init
from augury.cli.past.backtest import backtest, diff
from augury.cli.past.score import score
from augury.cli.report import report
from augury.cli.run import run
from augury.cli.testing import run_cases
from augury.cli.why import why, why_not
from augury.errors import AuguryError, QueryError

EXIT_ENVIRONMENT = 1
EXIT_QUERY = 2
EXIT_INTERRUPTED = 128 + signal.SIGINT


def _show_version(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        click.echo(f"augury {augury.__version__}")
        ctx.exit()


class Guarded(click.Group):
    """A group whose commands may raise augury's errors: they become a line and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except AuguryError as error:
            click.echo(findings.printable(f"error: {error}"), err=True)
            ctx.exit(EXIT_QUERY if isinstance(error, QueryError) else EXIT_ENVIRONMENT)
        except OSError as error:
            # A full disk, a folder that nobody may write: no fault of ours. Pipes have no name.
            if error.filename is None or os.environ.get("AUGURY_TRACEBACK"):
                raise
            text = f"error: {error.filename} cannot be used: {error.strerror}"
            click.echo(findings.printable(text), err=True)
            ctx.exit(EXIT_ENVIRONMENT)
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
            ctx.exit(EXIT_INTERRUPTED)


@click.group(
    cls=Guarded,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 all is well, 1 a file or the environment is at fault, 2 the query is.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Complex events over streams that cannot be fully trusted.

    \b
    augury init shop                        a folder to begin with
    augury check store.sql                  find every mistake in a script
    augury explain store.sql shoplifting    how a query will be evaluated, and why
    augury run store.sql                    run its queries, here or on Spark
    augury backtest ward.sql doors.parquet  what its rules would do, over rows of the past
    augury diff old.sql new.sql doors.csv   what two versions of a script do not share
    augury score logins.sql break_in        how good a forecast is, on rows kept apart
    augury report store.sql reads.csv       a page about rows and answers
    augury why store.sql ID reads.csv       why a match was found
    augury why-not store.sql theft          why there is none, and what would change that
    augury test                             do scripts find what is expected of them?
    augury doctor                           is this machine ready?
    augury demo                             a simulated store, and a report to look at
    """
    if os.environ.get("NO_COLOR"):
        ctx.color = False
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


cli.add_command(init)
cli.add_command(check)
cli.add_command(explain)
cli.add_command(run)
cli.add_command(backtest)
cli.add_command(diff)
cli.add_command(score)
cli.add_command(report)
cli.add_command(why)
cli.add_command(why_not)
cli.add_command(run_cases)
cli.add_command(doctor)
cli.add_command(demo)


def main() -> None:
    """Run the command line of this process."""
    _never_fail_to_print()
    warnings.showwarning = _tell_warning
    try:
        cli.main(prog_name="augury")
    except Exception as error:
        _own_up(error)


def _never_fail_to_print() -> None:
    # A terminal without UTF-8, or a file name that is not text, must not end in a traceback.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _tell_warning(message: Warning | str, *_: object, **__: object) -> None:
    # Where in the program it came up says nothing to who runs a command.
    click.echo(findings.printable(f"warning: {message}"), err=True)


def _own_up(error: Exception) -> NoReturn:
    if os.environ.get("AUGURY_TRACEBACK"):
        raise error
    command = shlex.join(["augury", *sys.argv[1:]])
    click.echo(
        f"augury broke: {type(error).__name__}: {str(error)[:500]}\n"
        "This is a fault in augury, not in your script. It can be reproduced with:\n"
        f"  AUGURY_TRACEBACK=1 {command}",
        err=True,
    )
    sys.exit(EXIT_ENVIRONMENT)
