"""Fields of a form: what was sent, what is refused beside which field, and names that mean harm."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from bnpriv.app.forms import FieldError, SentForm, at, choice, entry, paragraphs, refusal, sending, shown, ticks
from bnpriv.errors import FileProblemsError, ParameterError

HOSTILE = "\"><script>alert('1')</script>\u202e=1+1"


class Read(HTMLParser):
    """The elements of markup, with their attributes."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [given for each, given in self.found if each == tag]


def refused() -> ParameterError:
    return ParameterError("a number above 0", found="-1", remedy="Write one.")


@pytest.mark.parametrize(
    ("text", "number"), [("", None), ("5", 5.0), (" 5_000 ", 5000.0), ("5\u202f000", 5000.0), ("1e3", 1000.0)]
)
def test_a_number_is_read(text: str, number: float | None) -> None:
    assert SentForm(values={"n": [text]}).number("n") == number
    assert SentForm(values={"n": [text]}).whole("n") == (None if number is None else int(number))


@pytest.mark.parametrize("text", ["1,5", "one", "0x10", "nan", "inf", "-inf", "0.5", "1e400", "9" * 400])
def test_what_is_no_whole_number_is_refused_at_its_field(text: str) -> None:
    with pytest.raises(FieldError) as wrong:
        SentForm(values={"n": [text]}).whole("n")
    assert wrong.value.field == "n"
    assert isinstance(wrong.value.error, ParameterError)


def test_a_refusal_is_kept_with_its_field() -> None:
    form = SentForm(values={"n": ["-1"]})
    with pytest.raises(FieldError) as wrong, at("n"):
        raise refused()
    assert form.refused(wrong.value).problems == {"n": wrong.value.error}
    assert form.refused(wrong.value).values == form.values
    assert list(form.refused(refused()).problems) == [""]
    assert form.problems == {}


def test_a_refused_field_is_told_of_to_those_who_do_not_see_it() -> None:
    form = SentForm(values={"n": ["-1"]}).refused(FieldError("n", refused()))
    for made in (entry(form, "n", "Number", 5, "A hint."), choice(form, "n", "Number", [("-1", "one")], "", "A hint.")):
        read = Read(made)
        control = (read.all("input") or read.all("select"))[0]
        assert control["aria-invalid"] == "true"
        assert read.all("label")[0]["for"] == control["id"] == "n"
        ids = {given.get("id") for _, given in read.found}
        assert set((control["aria-describedby"] or "").split()) == {"n-hint", "n-refusal"} <= ids
        assert "a number above 0; found -1" in made
    assert Read(entry(form, "n", "Number", 5)).all("input")[0]["value"] == "-1"
    assert "aria-invalid" not in entry(SentForm(), "n", "Number", 5)


def test_boxes_are_as_they_were_sent_after_a_refusal() -> None:
    options = [("a", "A"), ("b", "B")]
    first = Read(ticks(SentForm(), "t", "Which?", options, ["a"], "checkbox")).all("input")
    assert ["checked" in each for each in first] == [True, False]
    again = SentForm(values={"t": ["b"]}).refused(FieldError("t", refused()))
    made = ticks(again, "t", "Which?", options, ["a"], "checkbox", "A hint.")
    assert ["checked" in each for each in Read(made).all("input")] == [False, True]
    assert 'id="t-refusal"' in made
    assert Read(made).all("fieldset")[0]["id"] == "t"


def test_names_cannot_break_out() -> None:
    form = SentForm(values={HOSTILE: [HOSTILE]}).refused(
        FieldError(HOSTILE, ParameterError(HOSTILE, found=HOSTILE, remedy=HOSTILE))
    )
    parts = [
        entry(form, HOSTILE, HOSTILE, HOSTILE, HOSTILE),
        choice(form, HOSTILE, HOSTILE, [(HOSTILE, HOSTILE)], HOSTILE, HOSTILE),
        ticks(form, HOSTILE, HOSTILE, [(HOSTILE, HOSTILE)], [HOSTILE], "radio", HOSTILE),
        paragraphs(HOSTILE),
    ]
    made = sending("table", *parts, button=HOSTILE, waits=HOSTILE)
    assert Read(made).all("script") == []
    assert "<script" not in made
    assert "\u202e" not in made


def test_a_refusal_has_its_three_parts_and_several_are_listed() -> None:
    assert "a number above 0; found -1" in refusal(refused())
    assert "Write one." in refusal(refused())
    several = refusal(FileProblemsError("file.toml", [refused(), refused()]))
    assert len(Read(several).all("li")) == 2


def test_a_document_is_shown_without_what_a_script_moves() -> None:
    import bnpriv as bp

    plan = bp.plan(bp.example("hospital"), "count(days >= 8)", 0.5)
    made = shown(plan)
    assert len(Read(made).all("h2")) == 1
    assert "TightMechanism" in made
    assert Read(made).all("script") == Read(made).all("style") == []
    assert Read(shown(plan, folded=False)).all("h3")
