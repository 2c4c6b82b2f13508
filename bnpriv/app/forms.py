"""Fields of a form, each with its label, its hint and the refusal that it caused; and what a form sent."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

from bnpriv.errors import BnprivError, ParameterError
from bnpriv.render.as_html import block, inline
from bnpriv.render.document import Block, Document, Facts, Live, Section
from bnpriv.render.html import Html, badge, element, join


@final
@dataclass(frozen=True)
class SentForm:
    """What a form sent: the values of its fields, and the files that were handed over with it."""

    values: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    files: Mapping[str, Path] = field(default_factory=dict[str, Path])
    problems: Mapping[str, BnprivError] = field(default_factory=dict[str, BnprivError])

    def text(self, name: str, other: object = "") -> str:
        """The value of a field; `other` where it was not sent."""
        sent = self.values.get(name)
        return sent[-1].strip() if sent else "" if other is None else str(other)

    def every(self, name: str) -> list[str]:
        """All values of a field that can have several."""
        return list(self.values.get(name, ()))

    def refused(self, wrong: BnprivError | FieldError) -> SentForm:
        """The same, with what was refused of it."""
        field_, error = (wrong.field, wrong.error) if isinstance(wrong, FieldError) else ("", wrong)
        return replace(self, problems={field_: error})

    def number(self, name: str) -> float | None:
        """The number in a field, or None where it is empty.

        Raises
        ------
        FieldError
            If it is none.
        """
        text = self.text(name).replace("\u202f", "").replace("_", "")
        with at(name):
            try:
                return float(text) if text else None
            except ValueError:
                required, remedy = "a number is written with digits and a point", "Write it as 5000 or 0.5."
                raise ParameterError(required, found="something else", remedy=remedy) from None

    def whole(self, name: str) -> int | None:
        """The whole number in a field, or None where it is empty."""
        number = self.number(name)
        with at(name):
            if number is not None and not (abs(number) <= 2**53 and number == int(number)):
                raise ParameterError("a whole number is needed", found=f"{number:g}", remedy="Leave out the decimals.")
        return None if number is None else int(number)


class FieldError(Exception):
    """A refusal of the library, and the field that caused it."""

    def __init__(self, field_: str, error: BnprivError) -> None:
        super().__init__(field_)
        self.field = field_
        self.error = error


@contextmanager
def at(name: str) -> Generator[None]:
    """Say of every refusal in the block that a field caused it."""
    try:
        yield
    except BnprivError as error:
        raise FieldError(name, error) from error


# --------------------------------------------------------------------------------------------------
# Markup.
# --------------------------------------------------------------------------------------------------


def refusal(error: BnprivError, id_: str | None = None) -> Html:
    """A refusal in three parts: what had to hold, what was found, what to do; several in a list."""
    said = getattr(error, "headline", "")
    parts = [element("strong", said, " ")] if said else []
    told = [element("p", *parts, f"{error.required}; found {error.found}. "), element("p", error.remedy)]
    if problems := getattr(error, "problems", ()):
        lines = [f"{each.required}; found {each.found}. {each.remedy}" for each in problems]
        told = [element("ul", *(element("li", line) for line in lines))]
    return element("div", *told, class_="refusal", id=id_)


def beside(form: SentForm, name: str) -> Html:
    """What was refused of a field, to stand beside it; nothing where nothing was."""
    return refusal(form.problems[name], f"{name}-refusal") if name in form.problems else Html()


def labelled(form: SentForm, name: str, label: str, control: Html, hint: str = "") -> Html:
    """A control under its label, with a hint and the refusal that it caused."""
    told = [element("p", hint, class_="hint", id=f"{name}-hint")] if hint else []
    return element("div", element("label", label, for_=name), *told, control, beside(form, name), class_="field")


def _told(form: SentForm, name: str, hint: str) -> dict[str, str | None]:
    """What describes a field to those who do not see where it stands."""
    ids = [f"{name}-hint"] * bool(hint) + [f"{name}-refusal"] * (name in form.problems)
    return {"aria_describedby": " ".join(ids) or None, "aria_invalid": "true" if name in form.problems else None}


def entry(
    form: SentForm, name: str, label: str, value: object = "", hint: str = "", *, type_: str = "text", **more: str
) -> Html:
    """A field to write in."""
    written = None if type_ == "file" else form.text(name, value)
    options = {**_told(form, name, hint), "autocomplete": "off", **more}
    control = element("input", type=type_, name=name, id=name, value=written, **options)
    return labelled(form, name, label, control, hint)


def choice(
    form: SentForm, name: str, label: str, options: Iterable[tuple[str, str]], value: str = "", hint: str = ""
) -> Html:
    """A list to choose one of."""
    picked = form.text(name, value)
    inner = [element("option", shown, value=each, selected=each == picked) for each, shown in options]
    control = element("select", *inner, name=name, id=name, **_told(form, name, hint))
    return labelled(form, name, label, control, hint)


def ticks(
    form: SentForm, name: str, legend: str, options: Iterable[tuple[str, str | Html]], picked: Sequence[str],
    type_: str, hint: str = "",
) -> Html:  # fmt: skip
    """Boxes or radio buttons in a group; after a refusal as they were sent."""
    on = form.every(name) if form.values else picked
    rows = [element("p", hint, class_="hint", id=f"{name}-hint")] if hint else []
    for k, (value, shown) in enumerate(options):
        box = element("input", type=type_, name=name, id=f"{name}-{k}", value=value, checked=value in on)
        rows.append(element("div", box, element("label", shown, for_=f"{name}-{k}"), class_="tick"))
    return group(legend, *rows, beside(form, name), id_=name, **_told(form, name, hint))


def group(legend: str, *parts: str, id_: str | None = None, **told: str | None) -> Html:
    """Fields that belong together."""
    return element("fieldset", element("legend", legend), *parts, id=id_, tabindex="-1" if id_ else None, **told)


def sending(step: str, *parts: str, button: str, files: bool = False, waits: str = "Working ...") -> Html:
    """A form with its button; what it sends goes to its own page."""
    pressed = element("button", button, type="submit", class_="go", data_waits=waits)
    last = element("p", pressed, element("span", role="status", class_="waits"), class_="send")
    kind = "multipart/form-data" if files else None
    return element("form", *parts, last, method="post", action=f"/{step}", enctype=kind)


def paragraphs(*texts: str) -> Html:
    """Texts, each in a paragraph."""
    return join(*(element("p", text) for text in texts if text))


# --------------------------------------------------------------------------------------------------
# What the library shows as a document, as a part of a page.
# --------------------------------------------------------------------------------------------------


def shown(made: Any, *, folded: bool = True) -> Html:
    """The document of something that can be shown; its sections folded, where they are many."""
    document: Document = made if isinstance(made, Document) else made.document
    lead = [badge(document.verdict, document.tone), " "] if document.verdict else []
    parts = [element("h2", inline(document.headline))]
    if document.lead or document.verdict:
        parts.append(element("p", *lead, inline(document.lead), class_="lead"))
    parts += [block(each) for each in _still((*document.answer, *document.beside))]
    parts += [block(Facts(document.facts))] if document.facts else []
    sections = [block(each, 3) for each in _still(document.sections)]
    if sections and folded:
        sections = [element("details", element("summary", "All of it"), *sections)]
    return element("div", *parts, *sections, class_=f"answer {document.tone}")


def _still(blocks: Iterable[Block]) -> Iterable[Block]:
    """Blocks without those that a script moves."""
    for each in blocks:
        if isinstance(each, Section):
            yield replace(each, blocks=tuple(_still(each.blocks)))
        elif not isinstance(each, Live):
            yield each
