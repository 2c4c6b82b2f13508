"""A PostgreSQL server of the tests' own on the loopback address, and a wire to it that can be cut."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

NAME = "bnpriv_tests"


def folder_of_programs() -> Path | None:
    """Return where initdb and pg_ctl are, the newest version first, or None."""
    known = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True)
    found = shutil.which("pg_ctl")
    places = [*known, *([Path(found).resolve().parent] if found else [])]
    return next((place for place in places if (place / "initdb").exists() and (place / "pg_ctl").exists()), None)


def why_none() -> str:
    """Return why no server can be started here; empty if one can."""
    if find_spec("psycopg") is None:
        return "no psycopg: pip install psycopg[binary]"
    if os.name != "posix" or folder_of_programs() is None:
        return "no PostgreSQL server: apt-get install postgresql"
    if os.geteuid() == 0 and subprocess.run(["id", "postgres"], capture_output=True, check=False).returncode:
        return "a PostgreSQL server does not run as the superuser, and there is no user postgres"
    return ""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server:
    """A server that has begun."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.schemas = 0
        self.run("initdb", "-A", "trust", "-U", NAME, "-N", "--no-instructions", "--no-locale", "-E", "UTF8")
        self.start()

    def run(self, program: str, *arguments: str) -> None:
        programs = folder_of_programs()
        assert programs is not None
        user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        command = [str(programs / program), "-D", str(self.folder / "data"), *arguments]
        # a server keeps the streams of who starts it
        with (self.folder / "said").open("a") as said:
            subprocess.run(command, check=True, stdout=said, stderr=said, cwd="/", timeout=120, **user)

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c shared_buffers=16MB"
        self.run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop; "immediate" is a crash."""
        self.run("pg_ctl", "-w", "-m", mode, "stop")

    def url(self, schema: str, *, port: int | None = None, options: str = "") -> str:
        path = f"options=-csearch_path%3D{schema}{options}"
        return f"postgresql://{NAME}@127.0.0.1:{port or self.port}/postgres?{path}"

    def place(self) -> str:
        """Return the URL of a place without tables."""
        self.schemas += 1
        self.do(f"CREATE SCHEMA s{self.schemas}")
        return self.url(f"s{self.schemas}")

    def do(self, *statements: str) -> None:
        """Do something as the one who owns the server."""
        import psycopg

        address = f"postgresql://{NAME}@127.0.0.1:{self.port}/postgres"
        with psycopg.connect(address, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def cut_all(self) -> None:
        """End every connection of others."""
        self.do("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' "
                "AND pid <> pg_backend_pid()")  # fmt: skip


@contextlib.contextmanager
def server() -> Iterator[Server]:
    """Start a server, and stop it at the end."""
    folder = Path(tempfile.mkdtemp(prefix="bnpriv-postgres-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        started = Server(folder)
        try:
            yield started
        finally:
            started.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Wire:
    """A port that leads to a server until a word is on its way for a given time; then it is cut.

    Parameters
    ----------
    server : Server
    word : bytes
        In what the client says.
    deliver : bool
        Whether the server still gets it; the client never gets the reply.

    Attributes
    ----------
    times : int
        At which occurrence from now on it is cut; never while it is 0.
    """

    def __init__(self, server: Server, word: bytes, *, deliver: bool) -> None:
        self.server, self.word, self.times, self.deliver = server, word, 0, deliver
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                there = socket.create_connection(("127.0.0.1", self.server.port))
                threading.Thread(target=self._forward, args=(client, there, True), daemon=True).start()
                threading.Thread(target=self._forward, args=(there, client, False), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket, asking: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if asking and self.times and self.word in data:
                    self.times -= 1
                    if self.times == 0:
                        self._cut(source, target, data)
                        return
                target.sendall(data)
        for each in (source, target):
            each.close()

    def _cut(self, client: socket.socket, there: socket.socket, data: bytes) -> None:
        client.shutdown(socket.SHUT_RDWR)
        if self.deliver:
            there.sendall(data)
            time.sleep(0.2)
        # closing alone is not enough while the other thread waits for the socket
        there.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.listener.close()
