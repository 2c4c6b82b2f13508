"""Every refusal of bnpriv is one of these, and says what was required, what was found and what to do.

No message ever holds a value of the protected data: only what the user declared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class BnprivError(Exception):
    """Base of everything that bnpriv raises on purpose.

    Parameters
    ----------
    required : str
        What had to hold, as a clause.
    found : str
        What was there instead.
    remedy : str
        What the user can do about it, as a sentence.

    Examples
    --------
    >>> import bnpriv as bp
    >>> try:
    ...     bp.Integer(120, 0)
    ... except bp.BnprivError as error:
    ...     error.required
    'lower must be below upper'
    """

    def __init__(self, required: str, *, found: str, remedy: str) -> None:
        super().__init__(f"{required}; found {found}. {remedy}")
        self.required = required
        self.found = found
        self.remedy = remedy


class DeclarationError(BnprivError, ValueError):
    """Something that the user declares is not well formed."""


class ParameterError(DeclarationError):
    """A number such as epsilon, delta, a scale or a limit is out of range."""


class NetworkError(DeclarationError):
    """A Bayesian network is not well formed, or does not have what was asked of it."""


class SeparationError(NetworkError):
    """A claimed Markov quilt leaves a path open; ``path`` names it."""

    def __init__(self, required: str, *, path: Sequence[str], remedy: str) -> None:
        super().__init__(required, found=f"the open path {' - '.join(path)}", remedy=remedy)
        self.path = tuple(path)


class SchemaError(DeclarationError):
    """A column, its bounds or the number of records is not well formed."""


class SecretError(DeclarationError):
    """Secrets or secret pairs are not well formed."""


class FrameworkError(DeclarationError):
    """Network, schema and secrets do not fit together."""


class LawError(DeclarationError):
    """The law of an answer is not well formed, or two laws cannot be compared."""


class QueryError(DeclarationError):
    """A query does not fit its schema, or its text is outside the grammar."""


class FileError(BnprivError, ValueError):
    """A model, framework or data file is not what its name says."""


class FileProblemsError(FileError):
    """Several things are wrong with one file; the text lists them all.

    Parameters
    ----------
    label : str
        The file.
    problems : sequence of BnprivError
        At least one, kept as a tuple in ``problems``.

    Examples
    --------
    >>> print(
    ...     FileProblemsError(
    ...         "f.toml", [FileError("f.toml, line 2: count is needed", found="none", remedy="Write it.")]
    ...     )
    ... )
    f.toml: a framework file must have no problem; found 1. Mend each of them:
    1. line 2: count is needed; found none. Write it.
    """

    def __init__(self, label: str, problems: Sequence[BnprivError]) -> None:
        listed = [" ".join(str(problem).removeprefix(label).lstrip(",: ").split()) for problem in problems]
        text = "\n".join(f"{number}. {line}" for number, line in enumerate(listed, start=1))
        super().__init__(
            f"{label}: a framework file must have no problem",
            found=str(len(listed)),
            remedy=f"Mend each of them:\n{text}",
        )
        self.problems = tuple(problems)


class SizeError(BnprivError, MemoryError):
    """A table would be larger than the limit; found out before it is allocated."""


class RefusedError(BnprivError):
    """A mechanism does not support what was asked of it; `headline` is what a plan says of it first, if anything."""

    headline: str = ""


class CertificateError(BnprivError, ValueError):
    """A stored calibration is not what its framework yields."""


class LedgerError(BnprivError, ValueError):
    """A ledger cannot be used as it is: it is unreadable, was changed, or does not fit what is asked of it."""


class BudgetError(RefusedError):
    """A release would cost more than is left of a budget."""


class DataError(BnprivError, ValueError):
    """A table does not fit its schema; says nothing about the values in it."""


class MissingExtraError(BnprivError, ImportError):
    """An optional dependency is not installed; the message names the extra."""


class InstallationError(BnprivError, ImportError):
    """Installed libraries do not fit each other, or one is missing that a table needs; the message names them."""


@dataclass(frozen=True)
class Refusal:
    """Why something is not supported, as a value: what was required, what was found, what to do.

    Parameters
    ----------
    required, found, remedy : str
        The parts of the message.
    headline : str
        What is said before all else where this keeps the better mechanisms out; empty where it is a reason among
        others.
    """

    required: str
    found: str
    remedy: str
    headline: str = ""

    @classmethod
    def of(cls, error: BnprivError) -> Refusal:
        """What an exception says as a refusal."""
        said = error.headline if isinstance(error, RefusedError) else ""
        return cls(required=error.required, found=error.found, remedy=error.remedy, headline=said)

    def error(self) -> RefusedError:
        """The exception that says the same."""
        error = RefusedError(self.required, found=self.found, remedy=self.remedy)
        error.headline = self.headline
        return error

    def __str__(self) -> str:
        return str(self.error())


class LongDrawingWarning(UserWarning):
    """Tables will take long to draw, or what columns tell long to work out; said before most of it is done.

    Parameters
    ----------
    what : str
        What takes how long, a sentence without its full stop.
    seconds : float
        How long, about.
    remedy : str
        What takes less in Python, a sentence without its full stop; empty where nothing does. The shell says what does
        there.
    """

    def __init__(self, what: str, *, seconds: float, remedy: str = "") -> None:
        super().__init__(f"{what}. {remedy}" if remedy else what)
        self.what = what
        self.seconds = seconds
        self.remedy = remedy


class ManyStatesWarning(UserWarning):
    """A node that is learned from a table has so many states that few records show each, as one of fractions has.

    Parameters
    ----------
    message : str
    attribute : str
        The node.
    states, records : int
        How many states it has, and how many records the table.
    """

    def __init__(self, message: str, *, attribute: str, states: int, records: int) -> None:
        super().__init__(message)
        self.attribute = attribute
        self.states = states
        self.records = records


class FewRecordsWarning(UserWarning):
    """A network is learned from so few public records that they say little of how its columns depend."""


class FoundInPublicWarning(UserWarning):
    """What was found in a public table, and what was made of it: dates, codes, ids, single numbers with much mass."""


class UselessAnswerWarning(UserWarning):
    """A released number is taken whose noise is as large as all that the answer could be; its message says how large.

    What it says was known before any data were touched.
    """
