"""A live page of the ward: who wears which badge, and the alarms, as the chain commits them.

    python examples/hospital/page/live.py                # plays a ward, sixty times as fast
    python examples/hospital/page/live.py --store URL    # shows the store of a run elsewhere

The page reads the tables of the store and nothing else, so it is the same whether rows are pushed
in this process or come from Kafka on Spark (`CREATE STORE station AT 'postgresql://...'`).
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
import warnings
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click
import sqlalchemy as sa

from augury.demo.hospital.pipelines import script
from augury.demo.hospital.ward import Care, Ward, simulate
from augury.session import Session

PAGE = (Path(__file__).parent / "live.html").read_text(encoding="utf-8")
ALARMS = 12


@dataclass(frozen=True)
class Board:
    """What a store holds of a ward."""

    url: str

    def now(self) -> dict[str, Any]:
        """Return the badges by person, and the last alarms, the last first."""
        engine = sa.create_engine(self.url.replace("postgresql://", "postgresql+psycopg://"))
        try:
            with engine.connect() as store:
                badges = store.exec_driver_sql("SELECT person, state FROM badges ORDER BY person")
                found = {row.person: row.state for row in badges}
                last = "SELECT at, person, room FROM alarms ORDER BY at DESC, id LIMIT "
                alarms = [
                    (str(at)[11:19], person, room)
                    for at, person, room in store.exec_driver_sql(f"{last}{ALARMS}")
                ]
        except sa.exc.SQLAlchemyError:
            # The first commit makes the tables.
            return {"badges": {}, "alarms": []}
        finally:
            engine.dispose()
        return {"badges": found, "alarms": alarms}


def opened(ward: Ward, url: str) -> Session:
    """Return a session over a ward whose badges and alarms lie in a store."""
    text = script("ward.sql")
    for key in ("KEY corridor, person;", "KEY id;"):
        text = text.replace(key, key.replace(";", " STORE station;"))
    session = Session(engine="local")
    session.sql(f"CREATE STORE station AT '{url}';\n{text}")
    session.bind("staff", ward.staff)
    session.bind("contagious", [{"room": f"R{k + 1}"} for k in range(ward.care.contagious)])
    return session


def play(ward: Ward, session: Session, speed: float) -> None:
    """Push what the readers tell, as it comes; what is done about it is committed at once."""
    begins, began = ward.told[0].at, time.monotonic()
    for act in ward.told:
        due = (act.at - begins).total_seconds() / speed if speed else 0.0
        time.sleep(max(0.0, due - (time.monotonic() - began)))
        row = asdict(act)
        session.push("doors", row)
        if act.person is not None:
            session.push("seen", row)


def served(board: Board, people: list[str], port: int = 0) -> ThreadingHTTPServer:
    """Return a server of the page, on this machine alone; `people` are shown from the beginning."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/now":
                self._answer("application/json", json.dumps(board.now() | {"people": people}))
            else:
                self._answer("text/html; charset=utf-8", PAGE)

        def _answer(self, kind: str, text: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing of every request."""

    return ThreadingHTTPServer(("127.0.0.1", port), Page)


@click.command()
@click.option("--store", help="The store of a run that is elsewhere; otherwise a ward is played.")
@click.option("--port", default=8000, show_default=True)
@click.option("--speed", default=60.0, show_default=True, help="0 is as fast as it goes.")
def main(store: str | None, port: int, speed: float) -> None:
    """Serve the page until it is stopped."""
    warnings.simplefilter("ignore")
    ward = simulate(4, Care(corridors=2, hours=1.0))
    url = store or f"sqlite:///{tempfile.mkdtemp()}/ward.db"
    if store is None:
        session = opened(ward, url)
        threading.Thread(target=play, args=(ward, session, speed), daemon=True).start()
    people = [] if store else sorted(each["person"] for each in ward.staff)
    with served(Board(url), people, port) as server:
        click.echo(f"http://127.0.0.1:{server.server_port} shows {url}")
        server.serve_forever()


if __name__ == "__main__":
    main()
