"""The server: loopback only, one token, one session, nothing loaded from elsewhere."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import sqlite3
import threading
import webbrowser
from collections.abc import Callable, Generator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from bnpriv.app import columns, model, question, release
from bnpriv.app.forms import FieldError, SentForm, refusal
from bnpriv.app.state import Draft, Place, folder_of, forget, lacking, on_disk, read_state, write_kept, write_state
from bnpriv.app.uploads import MOST_UPLOAD, form_of
from bnpriv.errors import BnprivError, FileError
from bnpriv.io.framework_file import read_framework
from bnpriv.ledger.ledger import Ledger
from bnpriv.ledger.store import ledger_file
from bnpriv.paths import user_path
from bnpriv.render import html
from bnpriv.render.html import Html, element, join
from bnpriv.text import visible

Show = Callable[[Place, Draft, SentForm], Html]
Take = Callable[[Place, Draft, SentForm], Draft]


@dataclass(frozen=True)
class RoadStep:
    """A page of the road: how it is called, what it shows, what becomes of what it sends, and where it goes then."""

    name: str
    title: str
    show: Show
    take: Take
    then: str


ROAD: tuple[RoadStep, ...] = (
    RoadStep("table", "Table", columns.show_table, columns.take_table, "columns"),
    RoadStep("columns", "Columns", columns.show_columns, columns.take_columns, "secret"),
    RoadStep("secret", "Secret", model.show_secret, model.take_secret, "model"),
    RoadStep("model", "Model", model.show_model, model.take_model, "model"),
    RoadStep("question", "Question", question.show_question, question.take_question, "question"),
    RoadStep("strength", "Strength", question.show_strength, question.take_strength, "release"),
    RoadStep("release", "Release", release.show_release, release.take_release, "release"),
    RoadStep("downloads", "Downloads", release.show_downloads, lambda place, state, form: state, "downloads"),
)
BY_NAME = {step.name: step for step in ROAD}

HEADERS = {
    b"content-security-policy": b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    b"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    b"referrer-policy": b"same-origin",
    b"x-content-type-options": b"nosniff",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}


class Desk:
    """The one session: a page is made of the state as it is, and one form at a time may change it.

    A state is frozen, so that who looks at a page does not wait for what another tab asked for.
    """

    def __init__(self, place: Place, framework: Path | None = None) -> None:
        self.place = place
        self.state = read_state(place.kept)
        self._changing = threading.Lock()
        if framework is not None:
            read_framework(framework)
            given = str(user_path(framework).resolve())
            if self.state.framework != given:
                old = self.state
                self.keep(Draft(framework=given, given=True, table=old.table, releases=old.releases))

    def keep(self, state: Draft) -> None:
        """Take a new state, once it is on the disk."""
        if state != self.state:
            write_state(state, self.place.kept)
            self.state = state

    def page(self, name: str, form: SentForm | None = None) -> Html | str:
        """A page of the road, or the name of the step that must come first."""
        step, state, form = BY_NAME[name], self.state, form or SentForm()
        if first := lacking(state, name):
            return first
        try:
            body = step.show(self.place, state, form)
        except BnprivError as error:
            body = refusal(error)
        return whole_page(step, state, body, form)

    def take(self, name: str, form: SentForm) -> Html | str:
        """What a form sent: the page again with what was refused, or the name of the step that comes next."""
        step = BY_NAME[name]
        with self._changing:
            before = self.state
            try:
                if not form.problems and not lacking(before, name):
                    with on_disk():
                        self.keep(step.take(self.place, before, form))
            except (BnprivError, FieldError) as wrong:
                form = form.refused(wrong)
            finally:
                self.state = read_state(self.place.kept)  # a step may have kept more than it returned
                forget((self.place.handed(before) | {*form.files.values()}) - self.place.handed(self.state))
        if form.problems:
            return self.page(name, form)
        return name if form.text("act") else step.then  # a button with an act stays on its page


def whole_page(step: RoadStep, state: Draft, body: Html, form: SentForm) -> Html:
    """A page with the road above it, and what was refused before all else."""
    links: list[Html] = []
    for each in ROAD:
        if each is step or not lacking(state, each.name):
            here = "step" if each is step else None
            links.append(element("a", each.title, href=f"/{each.name}", aria_current=here))
        else:
            links.append(element("span", each.title, class_="soft"))
    alerts: list[Html] = []
    for field, error in form.problems.items():
        where = element("a", f"{error.required}; found {error.found}.", href=f"#{field}") if field else refusal(error)
        told = element("div", element("strong", "Refused. "), where)
        alerts.append(element("div", told, role="alert", class_="alert", tabindex="-1", id="alert"))
    after = ROAD[ROAD.index(step) + 1] if state.given and step.name in ("columns", "secret", "model") else None
    if after:  # as the framework file says: there is no form to send
        body = join(body, element("p", element("a", f"Go on: {after.title}", href=f"/{after.name}", class_="go")))
    skip = element("a", "Skip to the page", href="#main", class_="skip")
    road = element("ol", *(element("li", link) for link in links), class_="road")
    return bare_page(
        f"{step.title}{' (refused)' if form.problems else ''}",
        skip,
        element("nav", road, aria_label="Steps"),
        element("main", element("h1", step.title), *alerts, body, id="main"),
    )


def plain_page(title: str, said: Html | str, status: int = 200) -> Response:
    """A page that is no step of the road."""
    told = said if isinstance(said, Html) else element("p", said)
    return HTMLResponse(bare_page(title, element("main", element("h1", title), told)), status)


PAGE_HEAD = Html(
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark"><link rel="stylesheet" href="/static/app.css">'
    '<script src="/static/app.js" defer></script><link rel="icon" href="data:,">'
)


def bare_page(title: str, *body: str) -> Html:
    """A page with our style and script, which are files of the server."""
    head = element("head", PAGE_HEAD, element("title", f"{title} - bnpriv"))
    inner = element("body", element("div", *body, class_="bnpriv page app"))
    return Html(f"<!doctype html>\n{element('html', head, inner, lang='en')}\n")


# --------------------------------------------------------------------------------------------------
# Who may ask: the right host, the right origin, the right token.
# --------------------------------------------------------------------------------------------------


class Guard:
    """Refuses what does not come from the page itself, and sends every answer with its policy."""

    def __init__(self, app: Any, *, token: str, port: int) -> None:
        self.app = app
        self.token = token.encode()
        self.cookie = f"bnpriv-{port}"
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or refuse it; there are no sockets."""

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = list({**HEADERS, **dict(message["headers"])}.items())
            await send(message)

        if scope["type"] == "http":
            await self.answer(Request(scope))(scope, receive, sent)

    def answer(self, request: Request) -> Any:
        """What answers a request: the application only where it has the cookie."""
        host, site = request.headers.get("host", ""), request.headers.get("sec-fetch-site", "none")
        if host not in self.hosts:
            return plain_page("Refused", "The host of the address must be 127.0.0.1 or localhost.", 403)
        if request.method not in ("GET", "HEAD") and request.headers.get("origin") != f"http://{host}":
            return plain_page("Refused", "A form must be sent from the page itself.", 403)
        if request.url.path == "/" and self.is_token(request.query_params.get("token", "")):
            # not a redirect: a browser that another program opened sends our cookie only to what our own page asks for
            answer = plain_page("Opened", element("p", element("a", "Go to the first step", href="/table")))
            answer.headers.update({"refresh": "0; url=/table", "referrer-policy": "no-referrer"})
            answer.set_cookie(self.cookie, self.token.decode(), httponly=True, samesite="strict")
            return answer
        if site not in ("same-origin", "none"):
            return plain_page("Refused", "The page must be asked for by itself.", 403)
        if not self.is_token(request.cookies.get(self.cookie, "")):
            return plain_page("Refused", "Open the address that bnpriv serve printed: it holds the token.", 403)
        return self.app

    def is_token(self, given: str) -> bool:
        """Whether it is the token, found out without telling how much of it is right."""
        return secrets.compare_digest(given.encode("utf-8", "replace"), self.token)


# --------------------------------------------------------------------------------------------------
# The application.
# --------------------------------------------------------------------------------------------------

STATIC = {"app.css": "text/css", "app.js": "text/javascript"}


def application(desk: Desk, *, token: str, port: int, most_bytes: int = MOST_UPLOAD) -> Guard:
    """The application of one session."""

    def known(request: Request) -> str:
        if (name := request.path_params.get("step", "table")) not in BY_NAME:
            raise HTTPException(404)
        return name

    def answered(made: Html | str, status: int = 200) -> Response:
        return HTMLResponse(made, status) if isinstance(made, Html) else RedirectResponse(f"/{made}", 303)

    def show(request: Request) -> Response:
        return answered(desk.page(known(request)))

    async def take(request: Request) -> Response:
        name, kind = known(request), request.headers.get("content-type", "")
        form = await form_of(request.stream(), kind, desk.place.uploads, most_bytes)
        return answered(await run_in_threadpool(desk.take, name, form), 422)

    def live(request: Request) -> Response:
        sent = SentForm(values={name: [value] for name, value in request.query_params.items()})
        return answered(question.live_strength(desk.state, sent))

    def download(request: Request) -> Response:
        name, content = release.download(desk.place, desk.state, **request.path_params)
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type="application/octet-stream", headers=headers)

    def static(request: Request) -> Response:
        if (name := request.path_params["name"]) not in STATIC:
            raise HTTPException(404)
        text = files("bnpriv.app").joinpath(name).read_text(encoding="utf-8")
        first = f"body{{margin:0}}\n{html.style()}\n" if name == "app.css" else ""
        return Response(first + text, media_type=STATIC[name])

    def refused(request: Request, error: Any) -> Response:
        return plain_page("Refused", refusal(error), 404)

    def missing(request: Request, error: Any) -> Response:
        return plain_page("Not found", "There is no such page.", error.status_code)

    def failed(request: Request, error: Any) -> Response:
        # what it says may hold a value of the table: only its kind is told
        told = f"Something went wrong that bnpriv does not know: {visible(type(error).__name__)}. "
        return plain_page("Failed", f"{told}What was charged stands in the ledger.", 500)

    routes = [
        Route("/", show),
        Route("/static/{name}", static),
        Route("/strength/live", live),
        Route("/download/{which}/{name}", download),
        Route("/{step}", show),
        Route("/{step}", take, methods=["POST"]),
    ]
    handlers: Any = {BnprivError: refused, HTTPException: missing, Exception: failed}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), token=token, port=port)


# --------------------------------------------------------------------------------------------------
# From the start to the end.
# --------------------------------------------------------------------------------------------------


def serve(framework: Path | None, ledger: str, port: int, *, told: Callable[[str], None], browser: bool = True) -> None:
    """Serve the page until Ctrl-C, or until its terminal or another program ends it.

    Raises
    ------
    FileError
        If the port is taken, another page serves the ledger, its folder cannot be written, or a file is not what it
        should be.
    """
    for name in ("SIGTERM", "SIGHUP"):  # handled as Ctrl-C: what was handed over must not stay behind
        if signal.getsignal(number := getattr(signal, name, signal.SIGINT)) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    with contextlib.ExitStack() as end:
        kept = folder_of(ledger).absolute()
        uploads, opening = kept / "uploads", kept / "open.html"
        with on_disk():
            kept.mkdir(mode=0o700, exist_ok=True)
            if kept.is_symlink():  # of somebody else, to a folder in which we would clear up
                raise FileError(
                    f"{kept}: must be a folder", found="a link", remedy="Remove it, or name another ledger."
                )
            os.chmod(kept, 0o700)
            end.enter_context(alone(kept))
            shutil.rmtree(uploads, ignore_errors=True)  # of one that was ended by force
            uploads.mkdir(mode=0o700)
        end.callback(shutil.rmtree, uploads, ignore_errors=True)
        if (file := ledger_file(ledger)) is not None and file.exists():
            Ledger.open(ledger)  # what is no ledger is refused now, and not when something is to be charged
        desk = Desk(Place(folder=Path.cwd(), kept=kept, uploads=uploads, ledger=ledger), framework)
        listening = end.enter_context(bound(port))
        port, token = listening.getsockname()[1], secrets.token_urlsafe(24)
        address = f"http://127.0.0.1:{port}/?token={token}"
        told(f"Open {address}\nCtrl-C ends it; what was charged stays in the ledger.")
        if browser:
            # by a file, because every user of the machine sees the words that a browser is started with
            write_kept(opening, f'<!doctype html><meta http-equiv="refresh" content="0;url={address}">')
            end.callback(opening.unlink, missing_ok=True)
            threading.Thread(target=webbrowser.open, args=(opening.as_uri(),), daemon=True).start()
        # no log: the first address holds the token, and an error may hold a value
        config = uvicorn.Config(
            application(desk, token=token, port=port), http="h11", ws="none", lifespan="off", log_level="critical",
            access_log=False, server_header=False, proxy_headers=False, timeout_graceful_shutdown=2,
        )  # fmt: skip
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])


@contextlib.contextmanager
def alone(kept: Path) -> Generator[None]:
    """Keep a session for this process, however it ends: SQLite gives up its lock with the process."""
    with contextlib.closing(sqlite3.connect(kept / "lock", timeout=0, isolation_level=None)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            found = "another that is open" if "locked" in str(error) else str(error)
            remedy = "Use that one, or end it; or name another ledger: --ledger."
            raise FileError("one page serves a ledger, from a folder to write in", found=found, remedy=remedy) from None
        yield


def bound(port: int) -> socket.socket:
    """A socket that only this machine reaches."""
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        remedy = "Name another: --port; 0 takes any."
        raise FileError(f"the port {port} must be free", found=error.strerror or "an error", remedy=remedy) from None
