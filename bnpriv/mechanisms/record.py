"""A calibration as plain values, as it is stored."""

from __future__ import annotations

from bnpriv.mechanisms.calibrated import Calibrated
from bnpriv.mechanisms.facts import model_facts, query_facts
from bnpriv.noise.channel import Channel
from bnpriv.noise.continuous import Noise
from bnpriv.noise.correlated import CorrelatedGaussian
from bnpriv.noise.directional import DirectionalLaplace
from bnpriv.render import Json

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
