"""Why tight calibration does not serve a constraint, and with how many atoms its curves are computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from bnpriv.divergences.gaussian_mixture import too_many_atoms
from bnpriv.divergences.product import MOST_PRODUCT_CELLS, grid_size
from bnpriv.errors import Refusal
from bnpriv.evidence.constraints import Constraint, LawPair, Laws
from bnpriv.laws.atoms import Atoms
from bnpriv.mechanisms.departures import are_normal
from bnpriv.mechanisms.from_draws import coarser

GAUSSIAN_ATOMS = 150
"""Atoms of a law that was learned from draws, with Gaussian noise: its curve costs as much as points times atoms."""


def coarse_enough(constraint: Constraint, noise: str) -> Constraint:
    """Return a constraint with as many atoms of learned laws as the curve of a law of noise can take."""
    pairs = constraint.pairs
    if noise != "gaussian" or isinstance(pairs, Refusal) or not on_line(pairs):
        return constraint
    return replace(constraint, pairs=tuple(coarser(pair, GAUSSIAN_ATOMS) for pair in pairs))


def unsupported(constraint: Constraint, evidence: Laws, noise: str) -> Refusal | None:
    """Return why neither rule serves a constraint, or None if one does."""
    if are_normal(constraint.pairs):
        from bnpriv.mechanisms.tight_normal import normal_refusal

        return normal_refusal(cast("Sequence[LawPair]", constraint.pairs), noise)
    if noise == "discrete_laplace" and (evidence.rounding > 0 or not _whole(constraint)):
        return Refusal(
            required="discrete Laplace noise needs an answer of whole numbers",
            found="fractions",
            remedy="Use Laplace noise, or ask for a count.",
        )
    if constraint.record is not None:
        first, second = constraint.record.first, constraint.record.second
        # the curve of one record of several numbers takes a grid; Gaussian noise asks for no such curve
        size = 0 if noise == "gaussian" or first.dimension == 1 else grid_size(first, second)
        if size <= MOST_PRODUCT_CELLS:
            return None
        return Refusal(
            required=f"the grid of one record's answer may have at most {MOST_PRODUCT_CELLS:,} points times atoms",
            found=f"{size:,} for {first.dimension} numbers",
            remedy="Ask for fewer numbers at once, or use WassersteinMechanism.",
        )
    if isinstance(constraint.pairs, Refusal):
        return constraint.pairs
    if evidence.dimension > 1:
        return Refusal(
            required="several numbers at once are calibrated record by record",
            found=f"{evidence.dimension} numbers",
            remedy="Use WassersteinMechanism, or ask for one number.",
        )
    return atoms_refusal(constraint.pairs) if noise == "gaussian" else None


def atoms_refusal(pairs: Sequence[LawPair]) -> Refusal | None:
    """Return why the curve of laws on the line with Gaussian noise takes too long, or None if it does not."""
    most = max(len(np.union1d(*(law.support for law in atoms_of(pair)))) for pair in pairs)
    if not too_many_atoms(most):
        return None
    return Refusal(
        required="the curve with Gaussian noise is computed for laws with few atoms",
        found=f"{most:,} atoms",
        remedy="Use Laplace noise, or WassersteinMechanism with Gaussian noise.",
    )


def _whole(constraint: Constraint) -> bool:
    """Return whether all atoms that decide a constraint are whole numbers."""
    laws_of = [] if constraint.record is None else [constraint.record.first, constraint.record.second]
    if not isinstance(constraint.pairs, Refusal):
        laws_of += [law for pair in constraint.pairs for law in (pair.first, pair.second) if isinstance(law, Atoms)]
    return all(bool(np.all(law.points == np.rint(law.points))) for law in laws_of)


def on_line(pairs: Sequence[LawPair]) -> bool:
    """Return whether all laws have atoms that are single numbers."""
    return all(isinstance(law, Atoms) and law.dimension == 1 for pair in pairs for law in (pair.first, pair.second))


def atoms_of(pair: LawPair) -> tuple[Atoms, Atoms]:
    """Return both laws, which have atoms."""
    assert isinstance(pair.first, Atoms)
    assert isinstance(pair.second, Atoms)
    return pair.first, pair.second
