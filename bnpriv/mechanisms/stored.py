"""Reading stored records and comparing them with fresh ones."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar, cast

from bnpriv import checks
from bnpriv.errors import CertificateError, ParameterError

Record = dict[str, Any]
T = TypeVar("T")


class Optioned(Protocol):
    """What has options."""

    def options(self) -> dict[str, object]:
        """Return the constructor arguments."""
        ...


M = TypeVar("M", bound=Optioned)

STORED_TOLERANCE = 1e-9
"""Relative difference of two numbers that are computed on different machines."""


def read_record(text: str, form: str) -> Record:
    """Return the JSON object in `text`, whose field "format" must be `form`.

    Raises
    ------
    CertificateError
        If the text is anything else.
    """
    try:
        record: object = json.loads(text, parse_constant=_refused)
    except (TypeError, ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or cast(Record, record).get("format") != form:
        raise CertificateError(
            f"a stored calibration has the format {form!r}",
            found="something else",
            remedy="Pass the text that Calibration.to_json returned.",
        )
    return cast(Record, record)


def _refused(constant: str) -> object:
    raise ValueError(f"{constant} is no JSON")


def field_of(record: Record, name: str, kind: type[T]) -> T:
    """Return a field of a record, which must be of the given type.

    Raises
    ------
    CertificateError
        If it is missing or of another type.
    """
    value: object = record.get(name)
    if not isinstance(value, kind):
        raise CertificateError(
            f"a stored calibration has a {kind.__name__} {name!r}",
            found=f"a {type(value).__name__}",
            remedy="Store it again.",
        )
    return value


def inner(record: Record, name: str) -> Record:
    """Return a field of a record that is a record itself.

    Raises
    ------
    CertificateError
        If it is missing or of another type.
    """
    return cast(Record, field_of(record, name, dict))


def differences(stored: object, fresh: object, place: str = "") -> list[str]:
    """Return where two JSON values differ; numbers may differ by rounding."""
    if isinstance(stored, dict) and isinstance(fresh, dict):
        left, right = cast(Record, stored), cast(Record, fresh)
        return [
            found
            for name in sorted(left.keys() | right.keys())
            for found in differences(left.get(name), right.get(name), f"{place}.{name}" if place else name)
        ]
    if isinstance(stored, list) and isinstance(fresh, list):
        before, after = cast(list[object], stored), cast(list[object], fresh)
        if len(before) != len(after):
            return [place]
        pairs = enumerate(zip(before, after, strict=True))
        return [found for k, (a, b) in pairs for found in differences(a, b, f"{place}[{k}]")]
    if isinstance(stored, float) and isinstance(fresh, float):
        return [] if math.isclose(stored, fresh, rel_tol=STORED_TOLERANCE) else [place]
    return [] if json.dumps(stored) == json.dumps(fresh) else [place]


def stored_mechanism(record: Record, known: Mapping[str, Callable[..., M]]) -> M:
    """Return the mechanism of a stored calibration, one of those that are known by their names.

    Raises
    ------
    CertificateError
        If it is none of them, or its options are not.
    """
    declared = inner(record, "mechanism")
    name, options = field_of(declared, "name", str), inner(declared, "options")
    if name not in known:
        raise CertificateError(
            f"the mechanism must be one of {checks.listing(sorted(known))}", found=repr(name), remedy="Store it again."
        )
    usual = known[name]().options()
    weights = options.get("weights")
    if isinstance(weights, list):
        usual["weights"] = weights
    # mechanisms check options whose default has no type
    if any(name not in usual or type(usual[name]) not in (type(None), type(value)) for name, value in options.items()):
        raise CertificateError(
            f"the options must be those of {name}",
            found=checks.listing(sorted(map(repr, options))),
            remedy="Store it again.",
        )
    try:
        return known[name](**options)
    except ParameterError as error:
        raise CertificateError(error.required, found=error.found, remedy=error.remedy) from error
