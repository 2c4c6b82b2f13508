"""The base class of mechanisms and the calibration: find noise or refuse, without seeing data."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast, overload

from bnpriv import checks
from bnpriv.bound import Bound, Kind, weakest
from bnpriv.core.frameworks.question import Framework, asked_of, require_framework
from bnpriv.core.mechanisms.certificate import (
    Certificate,
    Released,
    beyond_text,
    claimed_delta,
    guarantee_for,
    posteriors_of,
    stands_for_more,
)
from bnpriv.core.mechanisms.weights import Found, PartWeights, shaped, weights_refusal
from bnpriv.core.noise import DiscreteLaplace, Gaussian, Laplace, Noise, NoNoise, Sampler
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.sensitivity import answer_range
from bnpriv.digest import digest, first_digest
from bnpriv.errors import ParameterError, Refusal, RefusedError, SizeError
from bnpriv.progress import progress
from bnpriv.services import service
from bnpriv.shown import Shown
from bnpriv.text import Json, full_text

if TYPE_CHECKING:
    from bnpriv.core.frameworks.guarantee import Guarantee
    from bnpriv.render.document import Document

# --------------------------------------------------------------------------------------------------
# Searching for the least scale at which a loss is within a budget.
# --------------------------------------------------------------------------------------------------

LAWS = {"laplace": Laplace, "gaussian": Gaussian, "discrete_laplace": DiscreteLaplace}
"""The laws of noise by name."""

PRECISION = 1e-13
"""Relative width at which a bisection stops; the private end is used."""

MOST_DOUBLINGS = 64
"""Doublings above the guess, twenty decimal places: more than any admissible epsilon needs."""


def least_scale(loss: Callable[[float], float], budget: float, guess: float, precision: float = PRECISION) -> float:
    """The least scale at which a loss that never grows with the scale is within a budget, rounded up.

    Parameters
    ----------
    loss : callable
        From the scale (0 for no noise) to an upper bound of the loss.
    budget : float
        The loss that is allowed.
    guess : float
        Any positive scale to start from.
    precision : float
        How close, relative to itself, the scale must come to the least one.

    Returns
    -------
    float
        A scale at which `loss` was found to be at most `budget`; infinite if there is none.

    Examples
    --------
    >>> round(least_scale(lambda scale: 3 / scale if scale else float("inf"), 2.0, 1.0), 9)
    1.5
    """
    if loss(0.0) <= budget:
        return 0.0
    low, high = 0.0, guess
    # the guess may be too small: doubling finds an upper end, if there is one
    for _ in range(MOST_DOUBLINGS):
        if loss(high) <= budget:
            break
        low, high = high, 2 * high
    else:
        return float("inf")
    while high - low > precision * high:
        middle = low + (high - low) / 2
        if not low < middle < high:  # no double lies between subnormal ones
            break
        # the private end is kept in `high` throughout, so that what is returned was itself tested
        low, high = (low, middle) if loss(middle) <= budget else (middle, high)
    return high


def found_scale(scale: float, epsilon: float, delta: float) -> float:
    """A scale that was found, or the refusal if none was.

    Raises
    ------
    RefusedError
        If it is infinite: what is computed of a loss is rounded up, and may stay above a tiny epsilon or delta.
    """
    if math.isinf(scale):
        raise RefusedError(
            f"what is told must be computed more closely than epsilon {epsilon:g} and delta {full_text(delta)}",
            found="no scale of noise at which it is certain to be low enough",
            remedy="Ask for a larger epsilon or delta, or for delta 0.",
        )
    return scale


def noise_of(law: str, scale: float, dimension: int) -> Noise:
    """The noise of a law and a scale; none where the scale is 0."""
    return LAWS[law](scale, dimension) if scale else NoNoise(dimension)


# --------------------------------------------------------------------------------------------------
# The base class of mechanisms: whether one supports a query, and its calibration, without data.
# --------------------------------------------------------------------------------------------------

Search = Callable[[], Found]
"""A search for noise that is known to exist; it is not run yet, so that deciding stays cheap."""


class Promise(NamedTuple):
    """What a mechanism promises about the secrets, where that differs from what was asked for.

    Parameters
    ----------
    epsilon : float
        What holds for the secrets.
    baseline_text : str
        A sentence on what else is protected; empty for mechanisms that protect the secrets and no more.
    without_model : float, optional
        What holds for the secrets whatever the model is, where `epsilon` rests on it although the noise does not.
    kind : {"exact", "certified", "estimate"}
        How well `epsilon` is known.
    assumptions : tuple of str
        What it rests on besides.
    """

    epsilon: float
    baseline_text: str
    without_model: float | None = None
    kind: Kind = "exact"
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Mechanism(ABC):
    """A way to release an answer with noise; subclasses are frozen dataclasses of options and waivers.

    Parameters
    ----------
    weights : sequence of float, optional
        One positive number for each part of the answer, rounded to powers of two: the noise of a part has the common
        scale over its weight. A part is a query of a stack, or a number of moments. None takes the best of equal
        weights, one over the range of each part, and one over the root of its range times its sensitivity: those with
        the least sum of errors, each as a share of the range of its part. Never chosen by data.
    """

    weights: Sequence[float] | None = None

    claim: ClassVar[str]
    """The file in docs/claims that states and proves what the mechanism promises."""

    needs_model: ClassVar[bool] = True
    """Whether the promise holds only if the model does."""

    compares_laws: ClassVar[bool] = False
    """Whether it compares laws of the answer under two secrets, and so adds no noise where these are alike."""

    least_of_all: ClassVar[bool] = False
    """Whether its result with delta is the best of all private ones, so that delta 0 cannot be better."""

    fixed_shape: ClassVar[bool] = False
    """Whether the noise has a shape of its own, so that parts take no weights."""

    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"noise": ("laplace", "gaussian")}
    """The allowed values of options that are names; most have no other than the noise."""

    checked: ClassVar[Mapping[str, Callable[[str, object], object]]] = {}
    """How other options are checked; options in neither mapping are booleans."""

    def __post_init__(self) -> None:
        for option in fields(self):
            value: object = getattr(self, option.name)
            if value is not None or option.default is not None:
                object.__setattr__(self, option.name, self._checked(option.name, value))

    def _checked(self, name: str, value: object) -> object:
        """An option as it is kept, after its check."""
        if name == "weights":
            remedy = "Pass one positive number for each part of the answer."
            listed = checks.listed(value)
            if listed is None:
                raise ParameterError("weights must be a list of numbers", found=checks.type_text(value), remedy=remedy)
            return tuple(checks.positive("a weight", weight, remedy=remedy) for weight in listed)
        if name in self.choices:
            return checks.member(name, cast(str, value), self.choices[name], error=ParameterError)
        return self.checked.get(name, checks.flag)(name, value)

    def concerns(self, framework: Framework) -> bool:
        """Whether the mechanism applies to frameworks of this kind, so that its refusal is worth telling."""
        return True

    def too_slow(self, framework: Framework, query: Query, epsilon: float) -> Refusal | None:
        """Why a plan skips the mechanism because its search takes more than seconds, or None.

        Parameters
        ----------
        framework : Framework
        query : Query
        epsilon : float

        Returns
        -------
        Refusal or None
        """
        return None

    @overload
    def supports(
        self, framework: Framework, query: Query | str | None, epsilon: float, delta: float = 0.0
    ) -> Refusal | None: ...

    @overload
    def supports(
        self, framework: Framework, query: Query | str | None = None, *, epsilon: float, delta: float = 0.0
    ) -> Refusal | None: ...

    def supports(
        self, framework: Framework, query: Query | str | None = None, epsilon: float | None = None, delta: float = 0.0
    ) -> Refusal | None:
        """Why the mechanism does not support this, or None if it does.

        Parameters
        ----------
        framework : Framework
            Network, schema and secrets.
        query : Query or str
            What is to be released; may be left out where the framework has a query of its own.
        epsilon, delta : float
            The guarantee that is asked for.

        Returns
        -------
        Refusal or None

        Raises
        ------
        ParameterError
            If epsilon or delta is out of range.
        """
        asked, epsilon, delta = _question(self, framework, query, epsilon, delta)
        decided = self._decided(framework, asked, epsilon, delta)
        return decided if isinstance(decided, Refusal) else None

    @overload
    def calibrate(
        self, framework: Framework, query: Query | str | None, epsilon: float, delta: float = 0.0
    ) -> Calibration: ...

    @overload
    def calibrate(
        self, framework: Framework, query: Query | str | None = None, *, epsilon: float, delta: float = 0.0
    ) -> Calibration: ...

    def calibrate(
        self, framework: Framework, query: Query | str | None = None, epsilon: float | None = None, delta: float = 0.0
    ) -> Calibration:
        """Find the noise that makes the answer private; a pure function that sees no data.

        Parameters
        ----------
        framework : Framework
            Network, schema and secrets.
        query : Query or str
            What is to be released; may be left out where the framework has a query of its own.
        epsilon, delta : float
            The guarantee that is asked for: epsilon above 0, delta at least 0 and below 1.

        Returns
        -------
        Calibration

        Raises
        ------
        ParameterError
            If epsilon or delta is out of range.
        RefusedError
            If the mechanism does not support this; `supports` tells without raising.
        QueryError, SchemaError
            If the query does not fit the schema.
        """
        _require_instance(self)
        with progress(f"calibrating {type(self).__name__}"):
            return self._completed(framework, query, epsilon, delta)

    def _decided(self, framework: Framework, query: Query | None, epsilon: float, delta: float) -> Search | Refusal:
        """The decision, after the refusals that every mechanism of this class shares."""
        if query is None:
            return Refusal(
                required=f"{type(self).__name__} needs a query", found="none", remedy="Pass the query to be released."
            )
        from bnpriv.core.evidence.structural import impossibility

        refusal = impossibility(framework) or weights_refusal(query, framework, self.weights, fixed=self.fixed_shape)
        return refusal or self._decide(framework, query, epsilon, delta)

    def _completed(
        self,
        framework: Framework,
        query: Query | str | None,
        epsilon: object,
        delta: object,
        record: dict[str, Any] | None = None,
    ) -> Calibration:
        """Find the noise, or check that of a stored record, and state what it guarantees."""
        asked, epsilon, delta = _question(self, framework, query, epsilon, delta)
        decided = self._decided(framework, asked, epsilon, delta)
        if isinstance(decided, Refusal):
            raise decided.error()
        asked = cast(Query, asked)  # without one there is a refusal

        def find(query: Query) -> Found:
            stored = None if record is None else self._restored(framework, query, epsilon, delta, record)
            return stored or self._found(framework, query, epsilon, delta, decided if query is asked else None)

        found, shape = shaped(find, framework, asked, self.weights, fixed=self.fixed_shape)
        noise, certificate, spent = found
        if self.needs_model and framework.kinds_text:
            certificate = replace(certificate, assumptions=(*certificate.assumptions, framework.kinds_text))
        covering, notes = noise, ()
        # where laws of exact answers are declared a release rounds them, and noise may have to cover a step
        if self.needs_model and framework.answer_laws:
            covering, notes = service("calibration.steps")(framework, asked, noise)
        certificate = replace(certificate, notes=(*certificate.notes, *notes))
        if covering is not noise:
            shape = None if shape is None else shape.with_noise(covering)
        spent = claimed_delta(framework, spent, delta)
        promise = self._promise(framework, shape.weighted(asked) if shape else asked, noise, epsilon, spent)
        certificate = replace(certificate, assumptions=(*certificate.assumptions, *promise.assumptions))
        numbers = _free_numbers(self, noise, promise.without_model)
        guarantee = guarantee_for(
            framework,
            epsilon=promise.epsilon,
            delta=spent,
            kind=weakest((certificate.kind, promise.kind)),
            beyond_text=beyond_text(framework, numbers, delta=delta, parts=len(shape.parts) if shape else 1),
            confidence=certificate.confidence,
            baseline_text=promise.baseline_text,
            without_model=promise.without_model,
        )
        if shape is not None and shape.text:
            certificate = replace(certificate, notes=(shape.text, *certificate.notes))
        if posteriors_of(framework):
            certificate = service("certificate.draws")(framework, asked, certificate)
        calibration = Calibration(
            mechanism=self,
            framework=framework,
            query=asked,
            epsilon=epsilon,
            delta=delta,
            noise=covering,
            guarantee=guarantee,
            certificate=certificate,
            shape=shape,
        )
        # the framework is hashed once: one that was changed afterwards does not match, and is refused
        return replace(calibration, seal=_sealed(calibration, first_digest(framework)))

    def _found(
        self, framework: Framework, query: Query, epsilon: float, delta: float, decided: Search | None = None
    ) -> Found:
        """No noise where none is needed; else the noise that was found, or that for delta 0 if it is better.

        What is private with delta 0 is so with any delta (docs/claims/alike.md).
        """
        # laws that are alike as they are need no noise, and no search
        if self.compares_laws:
            from bnpriv.core.mechanisms.law_decision import unchanged

            free = unchanged(framework, query, epsilon)
            if free is not None:
                return free
        search = decided or self._decide(framework, query, epsilon, delta)
        if isinstance(search, Refusal):
            raise search.error()
        found = search()
        if found.delta == 0 or self.least_of_all:
            return found
        # noise for delta 0 is private for every delta, and may be the lesser
        search = self._decide(framework, query, epsilon, 0.0)
        if isinstance(search, Refusal):
            return found
        try:
            pure = search()
        except (RefusedError, SizeError):
            return found
        return pure if pure.noise.error().upper <= found.noise.error().upper else found

    @abstractmethod
    def _decide(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Search | Refusal:
        """Decide whether the mechanism serves this: a search for the noise, or the reason why not.

        Everything that may speak against it is asked here, once, and in the order in which users are told. What was
        learned on the way, such as the laws of the answer, goes into the search. The query may be weighted.
        """

    def restored(
        self, record: dict[str, Any], framework: Framework, query: Query, epsilon: float, delta: float
    ) -> Calibration:
        """What a stored record should say: found again, or checked where a search may end elsewhere.

        Parameters
        ----------
        record : dict
            What `Calibration.to_dict` returned.
        framework : Framework
        query : Query
        epsilon, delta : float

        Returns
        -------
        Calibration

        Raises
        ------
        CertificateError
            If what was found by a search does not keep the promise, or does not have the numbers that are stored.
        """
        return self._completed(framework, query, epsilon, delta, record)

    def _restored(
        self, framework: Framework, query: Query, epsilon: float, delta: float, record: dict[str, Any]
    ) -> Found | None:
        """The stored noise, once checked, where a solver may end elsewhere; None to search again."""
        return None

    def _promise(self, framework: Framework, query: Query, noise: Noise, epsilon: float, delta: float) -> Promise:
        """The promise about the secrets; `delta` is what the guarantee needs, the query is the weighted one."""
        return Promise(epsilon, "")

    def options(self) -> dict[str, object]:
        """The constructor arguments; the weights only if they were chosen."""
        return {name: value for name, value in asdict(self).items() if name != "weights" or value is not None}

    def __str__(self) -> str:
        usual = type(self)().options()
        named = [f"{name}={value!r}" for name, value in self.options().items() if value != usual.get(name)]
        return f"{type(self).__name__}({', '.join(named)})"


def _require_instance(mechanism: object) -> None:
    if not isinstance(mechanism, Mechanism):
        raise ParameterError(
            "a mechanism is called on an instance",
            found="a call on the class, as in MarkovQuiltMechanism.calibrate(...)",
            remedy="Put parentheses behind the class: MarkovQuiltMechanism().calibrate(framework, query, epsilon).",
        )


def _question(
    mechanism: object, framework: Framework, query: Query | str | None, epsilon: object, delta: object
) -> tuple[Query | None, float, float]:
    """The query, epsilon and delta, all arguments checked."""
    _require_instance(mechanism)
    require_framework(framework, query)
    return asked_of(framework, query), checks.epsilon(epsilon), checks.delta(delta)


@dataclass(frozen=True, kw_only=True, repr=False)
class Calibration(Shown):
    """Noise fitted to one query, with its guarantee and the reasons; can be printed, stored and recomputed.

    Parameters
    ----------
    mechanism : Mechanism
    framework : Framework
    query : Query
    epsilon, delta : float
        What was asked for.
    noise : Noise
        What will be added to the answer.
    guarantee : Guarantee
        What the release promises.
    certificate : Certificate
        Why the noise is enough: theorem, decisions and assumptions.
    shape : PartWeights, optional
        How the parts of the answer were weighed; None for an answer of one part.
    seal : str, optional
        Hash of the calibration and of what its framework held, by which a change of either is noticed.
    """

    mechanism: Mechanism
    framework: Framework
    query: Query
    epsilon: float
    delta: float
    noise: Noise
    guarantee: Guarantee
    certificate: Certificate
    shape: PartWeights | None = None
    seal: str = field(default="", repr=False, compare=False)
    """The hash of all fields as the mechanism returned them."""

    def changed(self) -> bool:
        """Whether any field is no longer as the mechanism returned it: query, noise, framework, guarantee.

        Examples
        --------
        >>> import bnpriv as bp
        >>> query = bp.count(bp.col("height") > 180)
        >>> calibration = bp.MarkovQuiltMechanism().calibrate(bp.example("student"), query, epsilon=1.0)
        >>> calibration.changed()
        False
        """
        return self.seal != _sealed(self, digest(self.framework))

    @property
    def scale(self) -> float:
        """The scale of the noise in the answer's unit, the largest of all outputs; 0.0 when none is needed."""
        return max(self.noise.scales)

    @property
    def weighted_query(self) -> Query:
        """The query that was calibrated: each output times its weight."""
        return self.query if self.shape is None else self.shape.weighted(self.query)

    @property
    def expected_error(self) -> float:
        """The mean 2-norm of the error (the mean absolute error for one output)."""
        return self.error(2).upper

    @property
    def free_numbers(self) -> int:
        """How many numbers were fitted to the model: 0 where it does not matter, 1 for a scale."""
        return _free_numbers(self.mechanism, self.noise, self.guarantee.without_model)

    @property
    def holds_for_draws_only(self) -> bool:
        """Whether the models are draws, and so much was fitted to them that nothing holds for others."""
        return self.free_numbers > 1 and stands_for_more(self.framework)

    @property
    def rank(self) -> tuple[bool, float]:
        """The sort key of calibrations: those that hold for drawn models only come last, then by error."""
        return self.holds_for_draws_only, self.ranked_error

    @property
    def averaged_over(self) -> Any:
        """The exact answers over which the error of a channel is averaged, an `Averaged`.

        None for noise that is added: its error is the same whatever the answer is. Errors compare only where they are
        averaged over the same.
        """
        return getattr(self.noise, "averaged_over", None)

    @property
    def ranked_error(self) -> float:
        """The error by which calibrations of one query are ranked: the expected one.

        Where parts have different ranges it is the mean error of each as a share of its range, summed.
        """
        shape = self.shape
        return self.expected_error if shape is None or not shape.by_share else shape.relative_error(self.noise)

    def error(self, norm: float = 2) -> Bound:
        """The mean error in the 1-norm, 2-norm or largest coordinate (``math.inf``)."""
        return self.noise.error(norm)

    def quantile(self, p: float = 0.95) -> float:
        """The error that no output exceeds with probability `p`."""
        return self.noise.quantile(p)

    @property
    def useful(self) -> Any:
        """Whether the answer still says something, measured against its range: a `bnpriv.types.Usefulness`."""
        lower, upper = answer_range(self.query, self.framework.schema)
        widths = [float(width) for width in upper - lower]
        return service("calibration.useful")(self.noise, widths, self.shape.parts if self.shape else ())

    def misspecified(self, factor: float) -> Any:
        """What is still guaranteed when every probability of the model may be off by a factor.

        Parameters
        ----------
        factor : float
            At least 1. Zeros of the model stay zero, and columns of tables still sum to one.

        Returns
        -------
        Misspecified
            Print it: the epsilon that then holds, and the factor up to which it is at most twice what was asked for.

        Raises
        ------
        ParameterError
            If `factor` is below 1.
        RefusedError
            If the guarantee rests on the laws of the answer, or on delta above 0 or Gaussian noise, and on a model.

        Examples
        --------
        >>> import bnpriv as bp
        >>> query = bp.count(bp.col("height") > 180)
        >>> calibration = bp.MarkovQuiltMechanism().calibrate(bp.example("student"), query, epsilon=1.0)
        >>> print(calibration.misspecified(1.1))  # doctest: +ELLIPSIS
        If every probability of the model may be off by a factor 1.1, epsilon is at most ...
        """
        return service("calibration.misspecified")(self, factor)

    def held_out(self, network: Any, *, confidence: float = 0.95, among: int = 1) -> Any:
        """For how many models that were not drawn this may promise too much: `bnpriv.lab.held_out.held_out`.

        Parameters
        ----------
        network : Network
            Independent draws of the same posterior, to none of which the noise was fitted.
        confidence : float
        among : int
            From how many calibrations this one was chosen.
        """
        return service("calibration.held_out")(self, network, confidence=confidence, among=among)

    def release(self, data: object, *, sampler: Sampler | None = None) -> Released:
        """Answer the query on a table, with this noise; every call is a release of its own.

        Parameters
        ----------
        data : table, str or path
            As of `bnpriv.release`.
        sampler : Sampler, optional
            Where the noise comes from; exact, unseeded noise unless a test says otherwise.

        Returns
        -------
        Release

        Raises
        ------
        BnprivError
            As `bnpriv.release` does.

        Examples
        --------
        >>> import bnpriv as bp
        >>> calibration = bp.plan(bp.example("student"), "count(height > 180)", 1.0).best
        >>> calibration.release(bp.example_data("student")).value
        1120.0
        """
        return service("calibration.release")(self, data, sampler=sampler)

    @property
    def quilts(self) -> Any:
        """The quilts of every protected attribute (`bnpriv.types.RankedQuilts`), with what noise each would leave."""
        return service("quilts.of_calibration")(self)

    def curve(self) -> Any:
        """The privacy curve of what is released, over all pairs of secrets and models.

        Returns
        -------
        PrivacyCurve
            Largest loss, delta at every epsilon and all other views of the privacy loss; print it.

        Raises
        ------
        RefusedError
            If the laws of the answer are not known, or are of several numbers.
        SizeError
            If they have too many atoms.

        Examples
        --------
        >>> import bnpriv as bp
        >>> from bnpriv.laws import Atoms
        >>> pair = (Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.2, 0.8]))
        >>> framework = bp.DistributionPrivacy([pair], source="a textbook")
        >>> curve = bp.TightMechanism().calibrate(framework, epsilon=0.5).curve()
        >>> round(float(curve.epsilon), 6), round(float(curve.delta(0.25)), 4)
        (0.5, 0.0799)
        """
        return service("calibration.curve")(self)

    @property
    def document(self) -> Document:
        """The noise, what decided it, and the guarantee, as a document."""
        return service("calibration.document")(self)

    def to_dict(self) -> Json:
        """Everything as plain values; weights and parts only for an answer of several parts."""
        return service("calibration.record")(self)

    def to_json(self) -> str:
        """Everything as JSON, without infinite or undefined numbers."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    @staticmethod
    def from_json(text: str, framework: Framework, query: Query | None = None) -> Calibration:
        """Recompute a stored calibration from its framework, and refuse any difference.

        A channel that a solver found is not sought again: its rows must keep the laws of the framework alike, and all
        numbers that are stored must be those of its rows.

        Parameters
        ----------
        text : str
            What `to_json` returned.
        framework : Framework
            The framework that it was made for.
        query : Query, optional
            Needed only for a custom query, which has no text.

        Returns
        -------
        Calibration

        Raises
        ------
        CertificateError
            If the text is not a calibration, or anything in it differs from what the framework yields.
        """
        return service("calibration.restored")(text, framework, query)

    def __repr__(self) -> str:
        size = "scale" if self.averaged_over is None else "error"
        return f"Calibration({self.mechanism}, {self.query}, epsilon={self.epsilon:g}, {size}={self.scale:g})"


def _free_numbers(mechanism: Mechanism, noise: Noise, without_model: float | None) -> int:
    """How many numbers a calibration fits to the model; where it needs none, its epsilon may be one."""
    return noise.free_numbers if mechanism.needs_model else int(without_model is not None)


def _sealed(calibration: Calibration, framework: str) -> str:
    """The hash of a calibration, given that of its framework."""
    others = (each.name for each in fields(calibration) if each.name not in ("framework", "seal"))
    return digest((framework, *(getattr(calibration, name) for name in others)))
