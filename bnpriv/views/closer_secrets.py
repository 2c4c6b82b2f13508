"""What a release would be if values of a property had to stay apart by less: a weaker promise, never made by itself."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

from bnpriv.core.frameworks.question import Framework
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.queries.builtin import Count, Difference
from bnpriv.core.queries.sensitivity import answer_range
from bnpriv.core.schema import Schema
from bnpriv.core.secrets import Apart, Secret, apart
from bnpriv.errors import BnprivError
from bnpriv.mechanisms.usefulness import LEVEL, POOR_ANSWERS
from bnpriv.render.document import Items, Section
from bnpriv.text import Json, and_text
from bnpriv.toml import toml_key
from bnpriv.views.calibration import errors_text

TRIED_SHARES = (0.1, 0.01)
"""Distances that are tried, as shares of that which is protected now."""

LESS = 0.8
"""An error that is not smaller by this factor is no gain."""


@final
@dataclass(frozen=True, kw_only=True)
class CloserStep:
    """What a mechanism would do if only values so close to each other were protected.

    Parameters
    ----------
    distances : mapping from str to float
        For every protected attribute how far apart values that must not be told apart would be at most.
    calibration : Calibration
    """

    distances: Mapping[str, float]
    calibration: Calibration

    @property
    def sentence(self) -> str:
        """What would be protected, and how far releases would err."""
        found = self.calibration
        secrets = {each.attribute: each.secret for each in found.guarantee.secrets}
        values = [f"{secrets[name]} at most {_written(far)} apart" for name, far in self.distances.items()]
        reach = found.quantile(LEVEL)
        err = f"err by at most {errors_text(found)} ({found.useful.verdict})" if reach else "be exact"
        return f"Were only values of {and_text(values)} protected, 19 of 20 releases by {found.mechanism} would {err}."

    def to_json(self) -> Json:
        """Return it as plain values."""
        found = self.calibration
        return {
            "apart": [{"attribute": name, "at_most": far} for name, far in self.distances.items()],
            "mechanism": str(found.mechanism),
            "expected_error": found.expected_error,
            "verdict": found.useful.verdict,
        }


@final
@dataclass(frozen=True, kw_only=True)
class CloserSecrets:
    """What the best mechanism would do if only closer values of the properties were protected.

    Parameters
    ----------
    steps : tuple of CloserStep
        The largest distances first, up to those at which the answer is useful.
    """

    steps: tuple[CloserStep, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What would be gained, and what is given up for it."""
        places = [
            f"pairs=bp.apart(at_most={far}), in a file at_most = {far} under [protect.{toml_key(name)}]"
            for name, far in ((name, _written(far)) for name, far in self.steps[0].distances.items())
        ]
        return (
            *(step.sentence for step in self.steps),
            "That is a weaker promise: values farther apart could be told apart better. What is protected is your "
            f"choice, made before any noise, and never made for you: {'; '.join(places)}.",
        )

    @property
    def section(self) -> Section:
        """Return it as a section of a document."""
        return Section(title="If less were protected", id="closer-secrets", blocks=(Items(self.sentences),))


def closer_secrets(calibrations: Sequence[Calibration]) -> CloserSecrets | None:
    """Return what closer secrets would gain for the best noise that looks at secrets at all; None if nothing.

    Parameters
    ----------
    calibrations : sequence of Calibration
        Those of a plan, least expected error first.
    """
    # errors of channels are averaged over the laws of the pairs, which are others where secrets are closer
    added = (each for each in calibrations if each.averaged_over is None)
    best = next((each for each in added if not isinstance(each.mechanism, ColumnMechanism)), None)
    if best is None or best.guarantee.kind == "estimate" or best.certificate.confidence is not None:
        return None
    found = list[CloserStep]()
    for distances, framework in _frameworks(best):
        try:
            closer = best.mechanism.calibrate(framework, best.query, epsilon=best.epsilon, delta=best.delta)
        except BnprivError:
            break
        if closer.ranked_error < LESS * best.ranked_error:
            found.append(CloserStep(distances=distances, calibration=closer))
        if closer.useful.verdict not in POOR_ANSWERS:
            break
    return CloserSecrets(steps=tuple(found)) if found else None


def _written(far: float) -> str:
    """Return a distance as code and files write it."""
    return f"{far:.15g}"


def _frameworks(best: Calibration) -> Iterator[tuple[dict[str, float], Framework]]:
    """Yield the framework with closer and closer secrets."""
    framework = best.framework
    secrets = {name: each for name, each in framework.chosen_secrets.items() if isinstance(each, Secret)}
    if not secrets:
        return
    tried: dict[str, float] = {}
    for share in TRIED_SHARES:
        distances = {name: _distance(secret, framework.schema, share) for name, secret in secrets.items()}
        known = {name: far for name, far in distances.items() if far is not None}
        if len(known) < len(distances) or known == tried:
            return
        tried = known
        protect = {name: replace(secrets[name], pairs=apart(at_most=far)) for name, far in known.items()}
        yield known, replace(framework, protect=protect)


def _distance(secret: Secret, schema: Schema, share: float) -> float | None:
    """Return a share of the distance up to which values are protected; None where pairs were chosen one by one."""
    if not (secret.pairs is None or isinstance(secret.pairs, Apart)):
        return None
    lower, upper = answer_range(secret.property, schema)
    width = float(upper[0] - lower[0])
    most = min(width, secret.pairs.at_most) if isinstance(secret.pairs, Apart) else width
    far = share * most
    counted = secret.property.parts[0] if isinstance(secret.property, Difference) else secret.property
    if secret.of_cells or isinstance(counted, Count):
        return float(max(1, math.floor(far))) if most > 1 else None
    return float(f"{far:.1g}") if 0 < far < math.inf else None
