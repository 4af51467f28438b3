"""Takes letters from the outbox of a store to where they go, beside the run, and again if need be.

A target gets its letters one after another, in the order of firings. One that does not answer is
asked again with growing pauses, while others get theirs. It may get a letter twice, if it took one
and nobody heard of that: the id of the firing stands in `Idempotency-Key`.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from threading import Event, Thread
from typing import Any

from augury.config import value_of
from augury.errors import StoreError
from augury.stores import outbox
from augury.stores.letter import Letter
from augury.stores.place import FIRST_PAUSE, LONGEST_PAUSE, StoreAddress

_SECRET = re.compile(r"\$\{([^}]*)\}")
SIGNATURE, KEY = "X-Augury-Signature", "Idempotency-Key"
# Answers that may be others the next time; of those in the four hundreds.
_NOT_NOW = {408, 409, 425, 429}
AT_A_TIME = 100


class _Unmoved(urllib.request.HTTPRedirectHandler):
    """Follows nobody: what was posted would be asked for elsewhere, without its body."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_Unmoved)


@dataclass(frozen=True)
class Target:
    """Where letters go: an address, and the secret that signs them, as they were written.

    `${NAME}` in either is of the environment.
    """

    address: str
    secret: str | None = None

    def filled(self, text: str) -> str:
        """Return a text with what the environment has."""
        for name in _SECRET.findall(text):
            if name not in os.environ:
                raise StoreError(
                    f"webhook {self.address} needs {name}, which the environment lacks; set {name}"
                )
        return _SECRET.sub(lambda found: os.environ[found[1]], text)

    def request(self, letter: Letter) -> urllib.request.Request:
        """Return the request that brings a letter."""
        body = letter.body.encode()
        made = urllib.request.Request(self.filled(self.address), body, method="POST")
        made.add_header("Content-Type", "application/json")
        made.add_header(KEY, letter.firing_id)
        if self.secret is not None:
            key = self.filled(self.secret).encode()
            digest = hmac.new(key, body, hashlib.sha256).hexdigest()
            made.add_header(SIGNATURE, f"sha256={digest}")
        return made


@dataclass
class Postman:
    """Brings the letters of one store to its targets until it is closed.

    `left` says what could not be brought, by target.
    """

    place: StoreAddress
    targets: Mapping[str, Target]
    left: dict[str, str] = field(default_factory=dict)
    _new: Event = field(default_factory=Event, repr=False)
    _ends: Event = field(default_factory=Event, repr=False)
    _failed: dict[str, tuple[int, float]] = field(default_factory=dict, repr=False)
    _thread: Thread | None = field(default=None, repr=False)
    _retries: int = field(default=0, repr=False)

    def wake(self) -> None:
        """There may be new letters."""
        if self._thread is None:
            for target in self.targets.values():
                # What the environment lacks is said before anything fires.
                target.filled(target.address + (target.secret or ""))
            self._thread = Thread(target=self._go, name="augury-postman", daemon=True)
            self._thread.start()
        self._new.set()

    def close(self, retries: int | None = None) -> None:
        """Bring what is left, asking again so often or as the setting says, and stop."""
        if self._thread is not None:
            self._retries = value_of("webhook_retries") if retries is None else retries
            self._ends.set()
            self._new.set()
            self._thread.join()
            self._thread = None

    def _go(self) -> None:
        while True:
            self._new.clear()
            ends = self._ends.is_set()
            try:
                brought = self._round()
            except StoreError as error:
                # The run finds out by itself, and says so.
                self.left[self.place.name] = str(error)
                if ends:
                    return
                brought = 0
            if brought == AT_A_TIME:
                continue
            if ends and not self._tries_again():
                return
            if not self._new.is_set():
                self._new.wait(self._pause())

    def _tries_again(self) -> bool:
        """Return whether a target that failed is to be asked again, though all ends."""
        return any(count <= self._retries for count, _ in self._failed.values())

    def _pause(self) -> float | None:
        """Return after how many seconds a target that failed is asked again."""
        after = [at for _, at in self._failed.values()]
        return max(0.0, min(after) - time.monotonic()) if after else None

    def _round(self) -> int:
        """Bring what can be brought now; return how many letters were looked at.

        Those of a target that is silent, or of none of this run, are in nobody's way.
        """
        silent = {name for name, (_, at) in self._failed.items() if at > time.monotonic()}
        asked = self.targets.keys() - silent
        letters = self.place.ask(lambda c: outbox.waiting(c, AT_A_TIME, asked))
        if len(letters) < AT_A_TIME:
            for name in asked - {letter.target for letter in letters}:
                self._failed.pop(name, None)
        for letter in letters:
            if letter.target not in silent and not self._bring(letter):
                silent.add(letter.target)
        self.left = {name: why for name, why in self.left.items() if name in silent}
        return len(letters)

    def _bring(self, letter: Letter) -> bool:
        """Bring a letter; return whether its target answers."""
        target = self.targets[letter.target]
        try:
            seconds = value_of("webhook_timeout_seconds")
            with _OPENER.open(target.request(letter), timeout=seconds):
                pass
        except urllib.error.HTTPError as error:
            said = f"{error.code} {error.reason}"
            error.close()
            if not 400 <= error.code < 500 or error.code in _NOT_NOW:
                return self._not_now(letter.target, said)
            self.place.ask(lambda c: outbox.refused(c, letter, said))
        except OSError as error:
            return self._not_now(letter.target, str(getattr(error, "reason", error)))
        except (HTTPException, ValueError) as error:
            # What is wrong with an address or an answer may have a secret in its text.
            return self._not_now(letter.target, type(error).__name__)
        else:
            self.place.ask(lambda c: outbox.taken(c, letter))
        self._failed.pop(letter.target, None)
        return True

    def _not_now(self, target: str, said: str) -> bool:
        count = self._failed.get(target, (0, 0.0))[0] + 1
        pause = min(FIRST_PAUSE * 2 ** min(count, 20), LONGEST_PAUSE)
        self._failed[target] = count, time.monotonic() + pause
        self.left[target] = said
        return False
