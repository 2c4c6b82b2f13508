"""Reading stored records and comparing them with fresh ones."""

from __future__ import annotations

import json
import math
from typing import Any, TypeVar, cast

from bnpriv.errors import CertificateError

Record = dict[str, Any]
T = TypeVar("T")


STORED_TOLERANCE = 1e-9
"""Relative difference of two numbers that are computed on different machines."""


SENTENCES = frozenset(
    {"assumptions", "notes", "reasons", "rule", "secret", "sentence", "text", "theorem", "why", "zero_noise_reason"}
)
"""Fields of sentences, which another version words in another way; what is restored has those of this one."""


def read_record(text: str, form: str) -> Record:
    """Return the JSON object in `text`, or the calibration in it if it is a release: its "format" must be `form`.

    Raises
    ------
    CertificateError
        If the text is anything else.
    """
    try:
        record: object = json.loads(text, parse_constant=_refused)
    except (TypeError, ValueError, RecursionError):
        record = None
    if isinstance(record, dict) and cast(Record, record).get("format") == "bnpriv release 1":
        record = cast(Record, record).get("calibration")
    if not isinstance(record, dict) or cast(Record, record).get("format") != form:
        raise CertificateError(
            f"a stored calibration has the format {form!r}",
            found="something else",
            remedy="Pass what Calibration.to_json, a release's to_json or release --json wrote.",
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
    """Where two JSON values differ; numbers may differ by rounding, and sentences in their words."""
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
    if isinstance(stored, str) and isinstance(fresh, str) and place.split(".")[-1].split("[")[0] in SENTENCES:
        return []
    return [] if json.dumps(stored) == json.dumps(fresh) else [place]
