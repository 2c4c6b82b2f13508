"""Which mechanism answers the next question of a session: the least error that keeps what was promised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from bnpriv.accounting.accountant import Accountant
from bnpriv.accounting.ledger_values import Budget
from bnpriv.errors import Refusal
from bnpriv.mechanisms.base import Calibration, Mechanism, require_mechanism
from bnpriv.mechanisms.column import ColumnMechanism
from bnpriv.mechanisms.plan import plan
from bnpriv.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.mechanisms.standard import STANDARD
from bnpriv.queries.base import Query
from bnpriv.session.accuracy import AskedAccuracy, least_calibration
from bnpriv.session.cost import ReleaseCost, cost_of


@final
@dataclass(frozen=True, kw_only=True)
class Chooser:
    """Chooses mechanisms for the next question, after what an accountant counted.

    Parameters
    ----------
    accountant : Accountant
    budget : Budget
    """

    accountant: Accountant
    budget: Budget

    def at_epsilon(self, query: Query | None, epsilon: float, delta: float, mechanism: Mechanism | None) -> ReleaseCost:
        """Return what an answer at an epsilon would cost; the best mechanism of a plan unless one is given.

        The best is the least error among those that add at most epsilon, or a tenth more, also once other releases
        follow. Where there is none, it is the least error among those that can be counted.

        Raises
        ------
        RefusedError
            If no mechanism supports the question.
        ParameterError, QueryError, SchemaError
            As `plan`.
        """
        framework = self.accountant.framework
        if mechanism is not None:
            require_mechanism(mechanism)
            return self.cost(mechanism.calibrate(framework, query, epsilon=epsilon, delta=delta))
        made = plan(framework, query, epsilon, delta)
        _ = made.best
        costs = self._costs(made.calibrations)
        counted = next((cost for cost in costs if cost.after is not None), costs[0])
        return next((cost for cost in costs if cost.keeps_epsilon), counted)

    def at_error(self, query: Query, accuracy: AskedAccuracy, delta: float, mechanism: Mechanism | None) -> ReleaseCost:
        """Return what an answer of an accuracy would cost: the mechanism and epsilon after which the total is least.

        Raises
        ------
        RefusedError
            If no mechanism is accurate enough.
        """
        framework = self.accountant.framework
        if mechanism is not None:
            require_mechanism(mechanism)
            found = least_calibration(mechanism, framework, query, accuracy, delta)
            if isinstance(found, Refusal):
                raise found.error()
            return self.cost(found)
        composing = [each for each in STANDARD if isinstance(each, (MarkovQuiltMechanism, ColumnMechanism))]
        others = [each for each in STANDARD if each not in composing and each.concerns(framework)]
        refusals: list[Refusal] = []
        for group in (composing, others):
            costs: list[ReleaseCost] = []
            for each in group:
                found = least_calibration(each, framework, query, accuracy, delta)
                if isinstance(found, Refusal):
                    refusals.append(found)
                else:
                    costs.append(self.cost(found))
            if costs:
                counted = [cost for cost in costs if cost.after is not None]
                return min(counted, key=_after_all, default=costs[0])
        raise refusals[0].error()

    def cost(self, calibration: Calibration) -> ReleaseCost:
        """Return what a release would cost."""
        return cost_of(self.accountant, calibration, self.budget)

    def _costs(self, calibrations: Sequence[Calibration]) -> list[ReleaseCost]:
        """Return the costs up to the first that keeps epsilon; of equal errors, releases that share quilts first.

        A release of `ColumnMechanism` always adds all of its epsilon.
        """
        costs: list[ReleaseCost] = []
        for calibration in sorted(calibrations, key=_rank):
            costs.append(self.cost(calibration))
            if costs[-1].keeps_epsilon:
                break
        return costs


def _rank(calibration: Calibration) -> tuple[bool, float, bool]:
    last, error = calibration.rank
    return last, float(f"{error:.6g}"), isinstance(calibration.mechanism, ColumnMechanism)


def _after_all(cost: ReleaseCost) -> float:
    return float("inf") if cost.lasting is None else float(cost.lasting)
