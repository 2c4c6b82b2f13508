"""The server: loopback only, one token, one session, nothing loaded from elsewhere."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnpriv.app import columns, model, question, release
from bnpriv.app.forms import FieldError, Form, refusal
from bnpriv.app.state import Place, State, folder_of, lacking, read_state, write_state
from bnpriv.app.uploads import MOST_BYTES, form_with_files, plain_form
from bnpriv.errors import BnprivError, FileError, MissingExtraError
from bnpriv.render import html
from bnpriv.render.html import Html, element
from bnpriv.text import visible

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

Show = Callable[[Place, State, Form], Html]
Take = Callable[[Place, State, Form], State]


@dataclass(frozen=True)
class Step:
    """A page of the road: how it is called, what it shows, what becomes of what it sends, and where it goes then."""

    name: str
    title: str
    show: Show
    take: Take
    then: str


STEPS: tuple[Step, ...] = (
    Step("table", "Table", columns.show_table, columns.take_table, "columns"),
    Step("columns", "Columns", columns.show_columns, columns.take_columns, "secret"),
    Step("secret", "Secret", model.show_secret, model.take_secret, "model"),
    Step("model", "Model", model.show_model, model.take_model, "model"),
    Step("question", "Question", question.show_question, question.take_question, "question"),
    Step("strength", "Strength", question.show_strength, question.take_strength, "release"),
    Step("release", "Release", release.show_release, lambda place, state, form: state, "release"),
    Step("downloads", "Downloads", release.show_downloads, release.take_downloads, "downloads"),
)
BY_NAME = {step.name: step for step in STEPS}

HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Desk:
    """The one session: its state, which one request at a time may change."""

    def __init__(self, place: Place, state: State) -> None:
        self.place = place
        self.state = state
        self.lock = threading.Lock()

    def keep(self, state: State) -> None:
        """Take a new state, once it is on the disk."""
        if state != self.state:
            write_state(state, self.place.kept)
            self.state = state

    def page(self, name: str) -> Html | str:
        """A page of the road, or the name of the step that must come first."""
        with self.lock:
            first = lacking(self.state, name)
            return first or self._page(BY_NAME[name], Form())

    def take(self, name: str, form: Form) -> Html | str:
        """What a form sent: the page again with what was refused, or the name of the step that comes next."""
        step = BY_NAME[name]
        with self.lock:
            first = lacking(self.state, name)
            if first:
                return first
            try:
                if name == "release":
                    self.keep(release.take_release(self.place, self.state, form, self.keep))
                else:
                    self.keep(step.take(self.place, self.state, form))
            except FieldError as wrong:
                return self._page(step, replace(form, problems={wrong.field: wrong.error}))
            except BnprivError as error:
                return self._page(step, replace(form, problems={"": error}))
            return name if form.text("act") else step.then  # a button with an act stays on its page

    def _page(self, step: Step, form: Form) -> Html:
        try:
            body = step.show(self.place, self.state, form)
        except BnprivError as error:
            body = refusal(error)
        return whole_page(step, self.state, body, form)


def whole_page(step: Step, state: State, body: Html, form: Form) -> Html:
    """A page with the road above it, and what was refused before all else."""
    links = [
        element(
            "li",
            element("a", each.title, href=f"/{each.name}", aria_current="step" if each is step else None)
            if each is step or not lacking(state, each.name)
            else element("span", each.title, class_="soft"),
        )
        for each in STEPS
    ]
    alert = [_alert(name, error) for name, error in form.problems.items()]
    main = element("main", element("h1", step.title), *alert, body, id="main")
    skip = element("a", "Skip to the page", href="#main", class_="skip")
    road = element("nav", element("ol", *links, class_="road"), aria_label="Steps")
    return bare_page(f"{step.title}{' (refused)' if form.problems else ''} - bnpriv", skip, road, main)


def _alert(field: str, error: BnprivError) -> Html:
    """That something was refused: a link to its field, or the refusal itself where no field caused it."""
    link = element("a", "Go to the field", href=f"#{field}") if field else refusal(error)
    told = element("div", element("strong", "Refused. "), link)
    return element("div", told, role="alert", class_="alert", tabindex="-1", id="alert")


def bare_page(title: str, *body: str) -> Html:
    """A page with our style and script, which are files of the server."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        Html('<link rel="stylesheet" href="/static/app.css">'),
        Html('<script src="/static/app.js" defer></script>'),
        Html('<link rel="icon" href="data:,">'),
    )
    inner = element("body", element("div", *body, class_="bnpriv page app"))
    return Html(f"<!doctype html>\n{element('html', head, inner, lang='en')}\n")


# --------------------------------------------------------------------------------------------------
# Who may ask: the right host, the right origin, the right token.
# --------------------------------------------------------------------------------------------------


class Guard:
    """Refuses what does not come from the page itself, and sends every answer with its policy."""

    def __init__(self, app: Any, *, token: str, port: int) -> None:
        self.app = app
        self.token = token
        self.cookie = f"bnpriv-{port}"
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or refuse it."""
        from starlette.requests import Request
        from starlette.responses import HTMLResponse, RedirectResponse

        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        request = Request(scope)

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start":
                known = {key.lower() for key, _ in message["headers"]}
                extra = [(key.encode(), value.encode()) for key, value in HEADERS.items() if key.encode() not in known]
                message["headers"] = [*message["headers"], *extra]
            await send(message)

        why = self.refused(request)
        given = request.query_params.get("token") if request.url.path == "/" else None
        if why is None and given is not None and secrets.compare_digest(given.encode(), self.token.encode()):
            answer = RedirectResponse("/table", 303)
            answer.set_cookie(self.cookie, self.token, httponly=True, samesite="strict", path="/")
        elif why is None and self.known(request):
            await self.app(scope, receive, sent)
            return
        else:
            told = why or "Open the address that bnpriv serve printed: it holds the token."
            page = bare_page("Refused - bnpriv", element("main", element("h1", "Refused"), element("p", told)))
            answer = HTMLResponse(page, 403)
        await answer(scope, receive, sent)

    def refused(self, request: Request) -> str | None:
        """Why a request comes from elsewhere; None where it does not."""
        host = request.headers.get("host", "")
        if host not in self.hosts:
            return "The host of the address must be 127.0.0.1 or localhost."
        origin = request.headers.get("origin")
        if request.method not in ("GET", "HEAD") and origin != f"http://{host}":
            return "A form must be sent from the page itself."
        if request.headers.get("sec-fetch-site", "none") in ("cross-site", "same-site") and request.url.path != "/":
            return "The page must be asked for by itself."
        return None

    def known(self, request: Request) -> bool:
        """Whether the request has the token."""
        return secrets.compare_digest(request.cookies.get(self.cookie, "").encode(), self.token.encode())


# --------------------------------------------------------------------------------------------------
# The application.
# --------------------------------------------------------------------------------------------------


def application(desk: Desk, *, token: str, port: int, most_bytes: int = MOST_BYTES) -> Starlette:
    """The application of one session."""
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.middleware import Middleware
        from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
        from starlette.routing import Route
    except ImportError:
        raise missing() from None

    def answered(made: Html | str, status: int = 200) -> Response:
        return HTMLResponse(made, status) if isinstance(made, Html) else RedirectResponse(f"/{made}", 303)

    async def step(request: Request) -> Response:
        name = request.path_params["step"]
        if name not in BY_NAME:
            return PlainTextResponse("There is no such page.", 404)
        if request.method in ("GET", "HEAD"):
            return answered(await run_in_threadpool(desk.page, name))
        kind = request.headers.get("content-type", "")
        try:
            if kind.startswith("multipart/form-data"):
                length = request.headers.get("content-length")
                form = await form_with_files(request.stream(), kind, length, desk.place.uploads, most_bytes)
            else:
                form = await plain_form(request.stream())
        except FileError as error:
            with desk.lock:
                page = desk._page(BY_NAME[name], Form(problems={"table" if name == "table" else "": error}))
            return HTMLResponse(page, 413, headers={"connection": "close"})
        made = await run_in_threadpool(desk.take, name, form)
        return answered(made, 422)

    async def live(request: Request) -> Response:
        sent = Form(values={key: [value] for key, value in request.query_params.items()})
        # without the lock: a state is frozen, and a slow plan must not keep other pages waiting
        return HTMLResponse(await run_in_threadpool(question.live_strength, desk.state, sent))

    async def download(request: Request) -> Response:
        def work() -> tuple[str, bytes]:
            with desk.lock:
                return release.download(
                    desk.place, desk.state, request.path_params["which"], request.path_params["name"]
                )

        try:
            name, content = await run_in_threadpool(work)
        except BnprivError as error:
            return HTMLResponse(
                bare_page("Refused - bnpriv", element("main", element("h1", "Refused"), refusal(error))), 404
            )
        plain = "".join(each if each.isascii() and (each.isalnum() or each in "-_.") else "_" for each in name)
        headers = {"content-disposition": f'attachment; filename="{plain}"'}
        return Response(content, media_type="application/octet-stream", headers=headers)

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name == "app.css":
            return Response(f"body{{margin:0}}\n{html.style()}\n{_file('app.css')}", media_type="text/css")
        if name == "app.js":
            return Response(_file("app.js"), media_type="text/javascript")
        return PlainTextResponse("There is no such file.", 404)

    async def home(request: Request) -> Response:
        return RedirectResponse("/table", 303)

    async def failed(request: Request, error: Exception) -> Response:
        # what it says may hold a value of the table: only its kind is told
        told = f"Something went wrong that bnpriv does not know: {visible(type(error).__name__)}. "
        told += "What was charged stands in the ledger."
        return HTMLResponse(
            bare_page("Failed - bnpriv", element("main", element("h1", "Failed"), element("p", told))), 500
        )

    return Starlette(
        routes=[
            Route("/", home),
            Route("/static/{name}", static),
            Route("/strength/live", live),
            Route("/download/{which}/{name}", download),
            Route("/{step}", step, methods=["GET", "POST"]),
        ],
        middleware=[Middleware(Guard, token=token, port=port)],
        exception_handlers={Exception: failed},
    )


def _file(name: str) -> str:
    return files("bnpriv.app").joinpath(name).read_text(encoding="utf-8")


def missing() -> MissingExtraError:
    """What is said where the extra is not installed."""
    return MissingExtraError(
        "the page in the browser needs starlette, uvicorn and python-multipart",
        found="one of them missing",
        remedy='Install them: pip install "bnpriv[app]".',
    )


def opened_desk(place: Place, framework: Path | None) -> Desk:
    """The session of a folder, with a framework file that is given or the one it had."""
    state = read_state(place.kept)
    if framework is not None:
        from bnpriv.io.framework_file import read_framework

        given = str(framework.resolve())
        read_framework(given)
        if state.framework != given:
            state = State(framework=given, given=True, table=state.table, releases=state.releases)
    return Desk(place, state)


def serve(framework: Path | None, ledger: str, port: int, *, told: Callable[[str], None], browser: bool = True) -> None:
    """Serve the page until Ctrl-C.

    Raises
    ------
    MissingExtraError
        If the extra is not installed.
    FileError
        If the port is taken, or a file is not what it should be.
    """
    try:
        import uvicorn
    except ImportError:
        raise missing() from None
    kept = folder_of(ledger)
    kept.mkdir(mode=0o700, exist_ok=True)
    os.chmod(kept, 0o700)
    uploads = Path(tempfile.mkdtemp(prefix="bnpriv-"))
    try:
        desk = opened_desk(Place(folder=Path.cwd(), kept=kept, uploads=uploads, ledger=ledger), framework)
        with bound(port) as listening:
            number = listening.getsockname()[1]
            token = secrets.token_urlsafe(24)
            app = application(desk, token=token, port=number)
            address = f"http://127.0.0.1:{number}/?token={token}"
            told(f"Open {address}\nCtrl-C ends it; what was charged stays in the ledger.")
            if browser:
                import webbrowser

                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
            # no log of requests: the first address holds the token
            config = uvicorn.Config(
                app, log_level="critical", access_log=False, server_header=False, timeout_graceful_shutdown=3
            )
            with contextlib.suppress(KeyboardInterrupt):
                uvicorn.Server(config).run(sockets=[listening])
    finally:
        shutil.rmtree(uploads, ignore_errors=True)


@contextlib.contextmanager
def bound(port: int) -> Any:
    """A socket that only this machine reaches."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
        except OSError:
            raise FileError(
                "the port must be free", found=f"{port} taken", remedy="Name another: --port; 0 takes any."
            ) from None
        yield listening
