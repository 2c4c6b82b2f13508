"""A document: what a report, a plan, a calibration or a release says, apart from the form in which it is shown.

Every text is data. A renderer escapes it once, so a text may hold any name; markup occurs in drawings only, and
those are built by `bnpriv.render` itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar, cast

from bnpriv.render.figures import HeatCell
from bnpriv.render.html import Html
from bnpriv.text import Json

T = TypeVar("T")

Tone: TypeAlias = Literal["good", "fair", "poor", "plain"]


@dataclass(frozen=True)
class Name:
    """A name, which is shortened to `most` letters; a page shows a long one in full to whoever points at it."""

    text: str
    most: int = 40


@dataclass(frozen=True)
class Names:
    """Names in a row, sorted; after `most` of them how many more there are, and `nothing` where there is none."""

    texts: tuple[str, ...]
    most: int = 12
    nothing: str = "none"


@dataclass(frozen=True)
class Code:
    """A query or a call."""

    text: str


@dataclass(frozen=True)
class Strong:
    """Words that stand out."""

    text: str


class Kept(str):
    """A line that is printed of a result whatever else has no room: what it promises."""

    __slots__ = ()


@dataclass(frozen=True)
class Badge:
    """A word in a coloured box; the word says all, the colour only helps."""

    text: str
    tone: Tone = "plain"


Inline: TypeAlias = "str | Name | Names | Code | Strong | Badge"
Text: TypeAlias = "str | tuple[Inline, ...]"


def parts_of(text: Text) -> tuple[Inline, ...]:
    """Return the parts of a text.

    Examples
    --------
    >>> parts_of("a"), parts_of(("a ", Name("b")))
    (('a',), ('a ', Name(text='b', most=40)))
    """
    return (text,) if isinstance(text, str) else text


@dataclass(frozen=True)
class Fact:
    """A question with its answer, one line after the other."""

    question: str
    lines: tuple[Text, ...]


def fact(question: str, *lines: Text) -> Fact:
    """Return a question with its answer."""
    return Fact(question, lines)


@dataclass(frozen=True)
class Paragraph:
    """Sentences; soft ones matter less."""

    text: Text
    soft: bool = False


@dataclass(frozen=True)
class Big:
    """A number that is the answer, larger than all around it; `words` say it where there are no large letters."""

    text: str
    words: str = ""


@dataclass(frozen=True)
class Items:
    """A list."""

    items: tuple[Text, ...]


@dataclass(frozen=True)
class Quote:
    """Words that hold as they stand, such as a guarantee."""

    text: Text


@dataclass(frozen=True)
class Facts:
    """Questions with answers."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Cell:
    """A cell of a table with more than its text.

    Parameters
    ----------
    text : Text
    note : Text
        What stands below it in small letters; plain text says it below the table.
    drawing : Html
        What is drawn below it; only pages and cards show it.
    """

    text: Text
    note: Text = ""
    drawing: Html = field(default_factory=Html)


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table.

    Parameters
    ----------
    caption : str
        What it shows.
    header : tuple of Text
    rows : sequence of sequence of Text or Cell
        The first cell of a row is its heading.
    numbers : tuple of int
        The columns that hold numbers.
    more : str
        What was left out.
    drawn : str
        What the drawings in the cells are; said where they are drawn, on a page.
    """

    caption: str
    header: tuple[Text, ...]
    rows: Sequence[Sequence[Text | Cell]]
    numbers: tuple[int, ...] = ()
    more: str = ""
    drawn: str = ""


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """A table of coloured cells with names as headings.

    Parameters
    ----------
    caption : str
        What it shows.
    corner : str
        What the rows are.
    columns : tuple of str
        Names.
    rows : sequence of (str, sequence of HeatCell)
        A name and its cells.
    legend : tuple of (str, str)
        Levels of colour with what they mean.
    more : str
        What was left out.
    """

    caption: str
    corner: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, Sequence[HeatCell]]]
    legend: tuple[tuple[str, str], ...] = ()
    more: str = ""


@dataclass(frozen=True)
class Figure:
    """A drawing.

    Parameters
    ----------
    drawing : Html
        Built by `bnpriv.render`.
    caption : Text
        What stands below it.
    words : Text
        What it shows, for forms without drawings; "" leaves it out there.
    """

    drawing: Html
    caption: Text = ""
    words: Text = ""


@dataclass(frozen=True)
class Live:
    """Something that moves on a page of its own; cards and other forms show its words.

    Parameters
    ----------
    body : Html
        Built by `bnpriv.render`.
    script : str
        JavaScript of ours.
    words : Text
        What stands in its place elsewhere; "" leaves it out there.
    """

    body: Html
    script: str
    words: Text = ""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part with a heading; a section inside a section has a smaller one.

    Parameters
    ----------
    title : Text
    blocks : tuple of Block
    id : str, optional
        Name by which a page finds it.
    folded : bool
        Whether pages and cards show the heading alone until it is opened.
    explained : bool
        Whether `explain`, which fills one screen, shows it too.
    in_short : tuple of Block
        What `explain` shows of it; by default all of it.
    answers : tuple of str
        Questions of facts that it answers too; `explain` leaves these facts out.
    """

    title: Text
    blocks: tuple[Block, ...]
    id: str | None = None
    folded: bool = False
    explained: bool = False
    in_short: tuple[Block, ...] = ()
    answers: tuple[str, ...] = ()


Block: TypeAlias = "Paragraph | Big | Items | Quote | Facts | Table | HeatMap | Figure | Live | Section"


def json_number(value: float) -> float | str | None:
    """A number for JSON, which has no infinite ones: "inf" stands for it, and None for what is no number."""
    return None if math.isnan(value) else "inf" if math.isinf(value) else value


@dataclass(frozen=True, kw_only=True)
class Document:
    """What is said, apart from its form.

    Parameters
    ----------
    kind : str
        What it is, such as "plan"; the field "document" of its JSON.
    headline : Text
        The finding as a sentence, without a full stop.
    kicker : Text, optional
        A line above it: what this is and how large; by default what it is.
    verdict : str
        The finding in one word, shown in the colour of `tone`; "" shows none.
    tone : {"good", "fair", "poor", "plain"}
    lead : Text
        What stands behind the headline, in a sentence or two.
    short : tuple of Text
        What is printed below the headline: the verdict, what is protected from whom at what strength, the model, and
        last what to do next; a line or two each. By default the lead and the first facts.
    number : str
        The finding as a bare number, for those who asked for nothing else; by default the headline.
    answer : tuple of Block
        What belongs to the answer and is seen first, such as a bar or what to try next.
    facts : tuple of Fact
        Questions that everybody has.
    beside : tuple of Block
        What a wide screen shows beside all this, such as the drawing of the network.
    sections : tuple of Section
    data : Json
        The same for machines; docs/report-schema.md names every field.
    title : str
        The title of its page; by default the headline.
    """

    kind: str
    headline: Text
    kicker: Text | None = None
    verdict: str = ""
    tone: Tone = "plain"
    lead: Text = ""
    short: tuple[Text, ...] = ()
    number: str = ""
    answer: tuple[Block, ...] = ()
    facts: tuple[Fact, ...] = ()
    beside: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()
    data: Json = field(default_factory=dict[str, object])
    title: str = ""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if type(found) is _Later:
            found = found.work()
            object.__setattr__(self, name, found)
        return found


@dataclass(frozen=True)
class _Later:
    work: Callable[[], Any]


def later(work: Callable[[], T]) -> T:
    """A part of a document that is worked out when it is read: of what is printed short, most never is.

    Examples
    --------
    >>> Document(kind="count", headline="Two", number=later(lambda: "2")).number
    '2'
    """
    return cast(T, _Later(work))
