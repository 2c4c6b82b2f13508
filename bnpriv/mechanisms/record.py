"""A calibration as plain values, as it is stored, and read again."""

from __future__ import annotations

import json
from typing import cast

from bnpriv import checks, mechanisms
from bnpriv.errors import CertificateError, ParameterError, QueryError
from bnpriv.frameworks.framework import Framework
from bnpriv.frameworks.question import own_query
from bnpriv.mechanisms.base import Calibration, Mechanism
from bnpriv.mechanisms.calibrated import Calibrated
from bnpriv.mechanisms.facts import model_facts, query_facts
from bnpriv.mechanisms.stored import Record, differences, field_of, inner, read_record
from bnpriv.noise.channel import Channel
from bnpriv.noise.continuous import Noise
from bnpriv.noise.correlated import CorrelatedGaussian
from bnpriv.noise.directional import DirectionalLaplace
from bnpriv.queries.base import Query
from bnpriv.render.text import Json
from bnpriv.services import service

CALIBRATION_FORMAT = "bnpriv calibration 1"


def calibration_record(calibration: Calibrated) -> Json:
    """Return everything as plain values; weights and parts only for an answer of several parts."""
    shape = calibration.shape
    weights: Json = {}
    if shape is not None and not shape.is_equal and not isinstance(calibration.noise, CorrelatedGaussian):
        weights = {"weights": list(shape.number_weights)}
    return {
        "format": CALIBRATION_FORMAT,
        "mechanism": {"name": type(calibration.mechanism).__name__, "options": calibration.mechanism.options()},
        "framework": calibration.framework.fingerprint(),
        "query": str(calibration.query),
        "epsilon": calibration.epsilon,
        "delta": calibration.delta,
        "noise": {
            "law": type(calibration.noise).__name__,
            "scale": calibration.scale,
            "dimension": calibration.noise.dimension,
            **weights,
            "expected_error": calibration.expected_error,
            **_drawn_facts(calibration.noise),
        },
        "useful": {"verdict": calibration.useful.verdict, "text": str(calibration.useful)},
        **({} if shape is None else {"shape": shape.to_json()}),
        "guarantee": calibration.guarantee.to_json(),
        "certificate": calibration.certificate.to_json(),
        "form": query_facts(calibration.query, calibration.framework.schema),
        "model": model_facts(calibration.framework, calibration.query),
    }


def _drawn_facts(noise: Noise) -> Json:
    """Return exactly what noise is drawn with, and what tells it from others of the same scale, as plain values."""
    if isinstance(noise, Channel):
        return {"channel": noise.to_json()}
    scale: Json = {"exact_scale": max(noise.scales).hex()}
    if isinstance(noise, CorrelatedGaussian):
        return {**scale, "covariance": noise.needed}
    return {**scale, "directions": noise.directions} if isinstance(noise, DirectionalLaplace) else scale


def restored_calibration(text: str, framework: Framework, query: Query | None) -> Calibration:
    """Recompute a stored calibration from its framework, as `Calibration.from_json` says.

    Raises
    ------
    CertificateError
        If the text is not a calibration, or anything in it differs from what the framework yields.
    """
    stored = read_record(text, CALIBRATION_FORMAT)
    mechanism = _mechanism(stored)
    asked = field_of(stored, "query", str)
    query = own_query(framework) if query is None else query
    if query is None or str(query) != asked:
        try:
            query = cast(Query, service("query.parse")(asked))
        except QueryError as error:
            raise CertificateError(
                "the stored query must be readable", found=repr(asked[:200]), remedy="Pass the custom query itself."
            ) from error
    epsilon, delta = field_of(stored, "epsilon", float), field_of(stored, "delta", float)
    try:
        fresh = mechanism.restored(stored, framework, query, epsilon, delta)
    except ParameterError as error:
        raise CertificateError(error.required, found=error.found, remedy=error.remedy) from error
    different = differences(stored, json.loads(fresh.to_json()))
    if different:
        raise CertificateError(
            "a stored calibration must be what its framework yields",
            found=f"other values of {checks.listing(different)}",
            remedy="Calibrate again from the framework; do not edit stored calibrations.",
        )
    return fresh


def _mechanism(record: Record) -> Mechanism:
    """The mechanism of a stored calibration: one of ours, or another that was defined since.

    Raises
    ------
    CertificateError
        If it is none of them, or its options are not.
    """
    for name in mechanisms.__all__:
        getattr(mechanisms, name)  # which loads it, and so makes it known as a subclass
    known = {cls.__name__: cls for cls in Mechanism.__subclasses__()}
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
