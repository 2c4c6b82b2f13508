"""Models with a law that depends on what it does not take as a parameter are refused (row 47); their twins are read."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import NetworkError
from tests.later import optional

pm = optional("pymc")
pt = optional("pytensor.tensor")

N = 4
ZEROS = np.zeros(N)
HIDDEN: dict[str, Callable[[Any], Any]] = {}
OPEN: dict[str, Callable[[Any], Any]] = {}
shared: Any = None
"""What functions of this module find as a global."""


def hidden(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Register a function that is given a random variable s and makes x depend on it, unseen."""
    HIDDEN[make.__name__] = make
    return make


def shown(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Register one that makes x depend on s openly."""
    OPEN[make.__name__] = make
    return make


def model_of(make: Callable[[Any], Any]) -> Any:
    with warnings.catch_warnings(), pm.Model() as model:
        warnings.simplefilter("ignore")
        make(pm.Bernoulli("s", 0.5))
    return model


def log_density(value: Any, mu: Any) -> Any:
    return -0.5 * (value - mu) ** 2


def custom(*parameters: Any, **functions: Any) -> Any:
    return pm.CustomDist("x", *parameters, observed=ZEROS, **functions)


def walk(drift: Any, size: Any, more: Callable[[], Any] = lambda: 0) -> Any:
    def step(before: Any, drift: Any) -> Any:
        after = pm.Normal.dist(before + drift + more(), 1)
        return after, pm.pytensorf.collect_default_updates([after])

    import pytensor

    start = pt.constant(np.float64(0.0))
    return pytensor.scan(step, outputs_info=[start], non_sequences=[drift], n_steps=N, return_updates=True)[0]


class Holder:
    """An object with functions and, among other things, a random variable."""

    def __init__(self, s: Any) -> None:
        self.s, self.parts, self.spread = s, {"all": [s]}, 2.0

    def density(self, value: Any) -> Any:
        return self.through(value)

    def through(self, value: Any) -> Any:
        return log_density(value, self.parts["all"][0])

    def draw(self, rng: Any, size: Any) -> Any:
        return rng.normal(of_holder(self), size=size)

    def own(self, value: Any, mu: Any) -> Any:
        return log_density(value, mu * self.spread)

    def own_draw(self, mu: Any, rng: Any = None, size: Any = None) -> Any:
        return rng.normal(mu * self.spread, size=size)

    def __call__(self, rng: Any, size: Any) -> Any:
        return rng.normal(self.s.eval(), size=size)


def of_holder(holder: Any) -> float:
    return float(holder.s.eval())


@hidden
def by_dist(s: Any) -> None:
    custom(dist=lambda size: pm.Bernoulli.dist(0.2 + 0.6 * s, size=size))


@hidden
def by_dist_through_a_deterministic(s: Any) -> None:
    p = pm.Deterministic("p", 0.2 + 0.6 * s)
    custom(dist=lambda size: pm.Bernoulli.dist(p, size=size))


@hidden
def by_dist_beside_the_parameter(s: Any) -> None:
    custom(s, dist=lambda _, size: pm.Bernoulli.dist(0.2 + 0.6 * s, size=size))


@hidden
def by_dist_with_another_log_density(s: Any) -> None:
    custom(dist=lambda size: pm.Bernoulli.dist(0.2 + 0.6 * s, size=size), logp=lambda value: log_density(value, 0.0))


@hidden
def by_dist_in_a_loop(s: Any) -> None:
    custom(0.0, dist=lambda drift, size: walk(drift, size, lambda: s), ndim_supp=1)


@hidden
def by_dist_in_dist(s: Any) -> None:
    def inner(mu: Any, size: Any) -> Any:
        return pm.Normal.dist(mu + s, 1, size=size)

    custom(1.0, dist=lambda mu, size: pm.CustomDist.dist(mu, dist=inner, size=size))


@hidden
def by_a_part_of_a_mixture(s: Any) -> None:
    part = pm.CustomDist.dist(dist=lambda size: pm.Normal.dist(1.0 * s, 1, size=size))
    pm.Mixture("x", w=[0.5, 0.5], comp_dists=[part, pm.Normal.dist(0, 1)], observed=ZEROS)


@hidden
def by_density(s: Any) -> None:
    custom(logp=lambda value: log_density(value, s), random=lambda rng, size: rng.normal(size=size))


@hidden
def by_nested_density(s: Any) -> None:
    def outer() -> Any:
        return lambda value: log_density(value, s)

    inner = outer()
    custom(logp=lambda value: inner(value))


@hidden
def by_partial_density(s: Any) -> None:
    custom(logp=functools.partial(log_density, mu=s))


@hidden
def by_method(s: Any) -> None:
    custom(logp=Holder(s).density)


@hidden
def by_global(s: Any) -> None:
    global shared
    shared = s
    custom(logp=lambda value: log_density(value, shared))


@hidden
def by_value(s: Any) -> None:
    value_of_s = pm.modelcontext(None).rvs_to_values[s]
    custom(logp=lambda value: log_density(value, value_of_s))


@hidden
def by_context(s: Any) -> None:
    custom(logp=lambda value: log_density(value, pm.modelcontext(None)["s"]))


@hidden
def by_covariance(s: Any) -> None:
    covariance = (1.0 + s) ** 2 * pm.gp.cov.ExpQuad(1, 1.0)
    places = np.arange(N)[:, None]

    def density(value: Any, mu: Any) -> Any:
        return pm.logp(pm.MvNormal.dist(mu, covariance(places) + np.eye(N)), value)

    custom(ZEROS, logp=density, signature="(n)->(n)")


@hidden
def by_draws(s: Any) -> None:
    custom(random=lambda rng, size: rng.normal(float(s.eval()), size=size))


@hidden
def by_bound_evaluation(s: Any) -> None:
    evaluate = s.eval
    custom(random=lambda rng, size: rng.normal(float(evaluate()), size=size))


@hidden
def by_partial_draws(s: Any) -> None:
    custom(random=functools.partial(lambda which, rng, size: rng.normal(which.eval(), size=size), s))


@hidden
def by_default(s: Any) -> None:
    def draw(rng: Any, size: Any, which: Any = s) -> Any:
        return rng.normal(which.eval(), size=size)

    custom(random=draw)


@hidden
def by_method_that_draws(s: Any) -> None:
    custom(random=Holder(s).draw)


@hidden
def by_object_that_is_called(s: Any) -> None:
    custom(random=Holder(s))


@hidden
def by_global_draws(s: Any) -> None:
    global shared
    shared = s
    custom(random=lambda rng, size: rng.normal(shared.eval(), size=size))


@hidden
def by_array_of_objects(s: Any) -> None:
    held = np.array([s, 1], dtype=object)
    custom(random=lambda rng, size: rng.normal(held[0].eval(), size=size))


@hidden
def by_simulator(s: Any) -> None:
    pm.Simulator("x", lambda rng, size=None: rng.normal(s.eval(), 1, size=size), observed=ZEROS)


@hidden
def by_wrapped_function(s: Any) -> None:
    from pytensor.compile.ops import as_op

    moved = as_op([pt.dscalar], [pt.dscalar])(lambda a: a + s.eval())
    pm.Normal("x", moved(pm.Normal("a")), 1, observed=ZEROS)


@hidden
def by_operation(s: Any) -> None:
    from pytensor.graph import Apply, Op

    class Moved(Op):  # type: ignore[misc]
        def make_node(self, a: Any) -> Any:
            return Apply(self, [a], [a.type()])

        def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
            outputs[0][0] = np.asarray(inputs[0] + s.eval())

    pm.Normal("x", Moved()(pm.Normal("a")), 1, observed=ZEROS)


@hidden
def by_inner_graph(s: Any) -> None:
    from pytensor.compile.builders import OpFromGraph
    from pytensor.graph.utils import MissingInputError

    inner = pt.dscalar()
    try:
        within = OpFromGraph([inner], [inner + s])
    except MissingInputError:
        pytest.skip("later releases of PyTensor do not even make such an operation")
    pm.Normal("x", within(pm.Normal("a")), 1, observed=ZEROS)


@hidden
def by_loop(s: Any) -> None:
    import pytensor

    steps = pytensor.scan(lambda before: before / 2 + s, outputs_info=[pm.Normal("a")], n_steps=N, return_updates=False)
    pm.Normal("x", steps[-1], 1, observed=ZEROS)


@hidden
def by_random_operation(s: Any) -> None:
    import pytensor
    from pymc.distributions.distribution import SymbolicRandomVariable

    class Own(SymbolicRandomVariable):  # type: ignore[misc]
        _print_name = ("Own", "Own")

    generators = [pytensor.shared(np.random.default_rng(1)), s.owner.inputs[0]]
    after, drawn = pm.Normal.dist(2.0 * s, 1, rng=generators[0]).owner.outputs
    own = Own(generators, [after, drawn], extended_signature="[rng],[rng]->[rng],()")
    pm.modelcontext(None).register_rv(own(*generators), "x")


@hidden
def by_variable_without_name(_: Any) -> None:
    custom(dist=lambda size: pm.Normal.dist(pm.Normal.dist(0, 1), 1, size=size))


@hidden
def by_variable_of_two_laws(_: Any) -> None:
    outside = pm.Normal.dist(0, 1)
    pm.CustomDist("t", dist=lambda size: 2.0 * outside)
    custom(dist=lambda size: pt.exp(outside) + pt.zeros(N))


@hidden
def by_variable_named_later(_: Any) -> None:
    outside = pm.Normal.dist(0, 1)
    custom(dist=lambda size: outside + pm.Normal.dist(0, 1, size=size))
    pm.modelcontext(None).register_rv(outside, "t")


@pytest.mark.parametrize("make", HIDDEN.values(), ids=HIDDEN)
def test_a_hidden_dependence_is_refused(make: Callable[[Any], Any]) -> None:
    """Row 47; some releases of PyTensor copy the variable into the operation, where it is a draw without a name."""
    with pytest.raises(NetworkError, match=r"must take all that it depends on|must be declared in the model") as error:
        bp.from_pymc(model_of(make))
    assert error.value.remedy


@shown
def dist_of_its_parameter(s: Any) -> None:
    spread = 0.6
    custom(s, dist=lambda s, size: pm.Bernoulli.dist(0.2 + spread * s, size=size))


@shown
def density_of_its_parameter(s: Any) -> None:
    custom(s, logp=log_density, random=lambda mu, rng, size: rng.normal(mu, 1, size=size))


@shown
def methods_that_leave_the_variable_alone(s: Any) -> None:
    holder = Holder(s)
    custom(s, logp=holder.own, random=holder.own_draw)


@shown
def global_number(s: Any) -> None:
    global shared
    shared = 3.0
    custom(s, logp=lambda value, mu: log_density(value, mu + shared))


@shown
def simulator_of_its_parameter(s: Any) -> None:
    pm.Simulator("x", lambda rng, mu, size=None: rng.normal(mu, 1, size=size), 0.2 + 0.6 * s, observed=ZEROS)


@shown
def loop_of_its_parameter(s: Any) -> None:
    custom(1.0 * s, dist=walk, ndim_supp=1)


@shown
def mixture_in_dist(s: Any) -> None:
    def dist(mu: Any, size: Any) -> Any:
        return pm.Mixture.dist([0.3, 0.7], [pm.Normal.dist(mu, 1), pm.Normal.dist(-mu, 1)], size=size)

    custom(1.0 * s, dist=dist)


@shown
def sum_without_log_density(s: Any) -> None:
    custom(s, dist=lambda s, size: pm.Normal.dist(s, 1, size=size) + pm.Laplace.dist(0, 1, size=size))


@shown
def parts_that_two_laws_have(s: Any) -> None:
    part = pm.Normal.dist(1.0 * s, 1)
    pm.Mixture("x", w=[0.2, 0.8], comp_dists=[part, pm.Normal.dist(0, 1)], observed=ZEROS)
    pm.Truncated("y", part, lower=-3, observed=ZEROS)
    pm.Truncated("z", part, upper=3, observed=ZEROS)


@shown
def inner_graph_of_its_inputs(s: Any) -> None:
    from pytensor.compile.builders import OpFromGraph

    first, second = pt.dscalar(), pt.lscalar()
    moved = OpFromGraph([first, second], [first + second])(pm.Normal("a"), s)
    pm.Normal("x", moved, 1, observed=ZEROS)


@pytest.mark.parametrize("make", OPEN.values(), ids=OPEN)
def test_an_open_dependence_is_read(make: Callable[[Any], Any]) -> None:
    """Row 47."""
    assert "s" in bp.from_pymc(model_of(make)).reading.columns["x"]


def test_a_density_that_fails_is_refused() -> None:
    def make(s: Any) -> None:
        custom(s, logp=lambda value, mu: value.no_such_thing(mu))

    with pytest.raises(NetworkError, match="must be computable"):
        bp.from_pymc(model_of(make))


def test_a_potential_is_refused() -> None:
    """Row 47."""

    def make(s: Any) -> None:
        x = pm.Normal("x", 0, 1, observed=ZEROS)
        pm.Potential("both", -((x - s) ** 2).sum())

    with pytest.raises(NetworkError, match="product of conditional distributions"):
        bp.from_pymc(model_of(make))
