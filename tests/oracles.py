"""Independent oracles: joint laws by plain enumeration, all quilts by the definition, exact output laws.

Nothing here uses the package's own inference, influence or sensitivity code.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import networkx as nx
import numpy as np

from bnpriv.core.columns import Integer
from bnpriv.core.frameworks.attributes import DistributionalAttributePrivacy
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.queries.asked import count, linear
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.predicates import col
from bnpriv.core.schema import Schema
from bnpriv.core.secrets import SecretPair, pairs

CONCENTRATIONS = (0.3, 1.0, 5.0, 30.0)


@dataclass(frozen=True)
class Case:
    """A random framework, a query, and the laws of the columns given their parameters."""

    framework: DistributionalAttributePrivacy
    query: Query
    epsilon: float
    emission: dict[str, np.ndarray]  # for every queried column P(value | parameter state), shape (states, values)

    @property
    def queried(self) -> tuple[str, ...]:
        return tuple(sorted(self.query.columns))


def random_network(
    rng: np.random.Generator, nodes: int, *, most_states: int = 3, models: int = 1, deterministic: float = 0.15
) -> DiscreteNetwork:
    """Draw a network with at most three parents a node; some rows put all mass on one state."""
    names = [f"v{k}" for k in range(nodes)]
    sizes = {name: int(rng.integers(2, most_states + 1)) for name in names}
    order = list(rng.permutation(nodes))
    chance = rng.uniform(0.15, 0.8)
    tables, parents = {}, {}
    for rank, k in enumerate(order):
        before = [names[j] for j in order[:rank] if rng.random() < chance]
        above = [str(name) for name in rng.permutation(before)[:3]] if before else []
        parents[names[k]] = above
        shape = (models, *(sizes[name] for name in above), sizes[names[k]])
        table = rng.dirichlet(np.full(shape[-1], rng.choice(CONCENTRATIONS)), size=shape[:-1])
        fixed = rng.random(shape[:-1]) < deterministic
        table[fixed] = np.eye(shape[-1])[rng.integers(0, shape[-1], size=int(fixed.sum()))]
        table = np.clip(table, 0, 1)
        tables[names[k]] = np.moveaxis(table / table.sum(axis=-1, keepdims=True), -1, 1)
    states = {name: [f"s{k}" for k in range(sizes[name])] for name in names}
    return DiscreteNetwork.from_tables(
        {name: tables[name] for name in names}, states=states, parents={name: parents[name] for name in names}
    )


def joint(network: DiscreteNetwork, model: int) -> np.ndarray:
    """Return the joint law over all attributes, one axis each, by multiplying the tables out."""
    names = network.attributes
    letters = {name: k for k, name in enumerate(names)}
    operands: list[object] = []
    for name in names:
        operands += [
            network.probabilities(name)[model],
            [letters[name], *(letters[p] for p in network.graph.parents[name])],
        ]
    return np.einsum(*operands, list(range(len(names))))


def conditional(
    network: DiscreteNetwork, law: np.ndarray, attributes: tuple[str, ...], protected: str, side
) -> np.ndarray | None:
    """Return P(attributes | protected in side) with axes in the order given; None when the side has no mass."""
    axis = network.attributes.index(protected)
    inside = np.array([state in side for state in network.states[protected]])
    shape = [1] * law.ndim
    shape[axis] = -1
    kept = law * inside.reshape(shape)
    mass = kept.sum()
    if mass == 0:
        return None
    return marginal(network, kept, attributes) / mass


def marginal(network: DiscreteNetwork, law: np.ndarray, attributes: tuple[str, ...]) -> np.ndarray:
    axes = [network.attributes.index(name) for name in attributes]
    return np.einsum(law, list(range(law.ndim)), axes)


def influence(
    network: DiscreteNetwork, law: np.ndarray, seen: tuple[str, ...], protected: str, pair: SecretPair
) -> float:
    """Return the largest log ratio by the definition; -inf when the pair is no constraint."""
    first = conditional(network, law, seen, protected, pair.first)
    second = conditional(network, law, seen, protected, pair.second)
    if first is None or second is None:
        return -math.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(first > 0, np.log(first) - np.log(second), -np.inf)
    return float(max(0.0, ratio.max()))


def quilts(network: DiscreteNetwork, protected: str) -> Iterator[tuple[tuple[str, ...], frozenset[str]]]:
    """Yield every set Q of other attributes with the near set it leaves when remote is as large as possible."""
    graph = nx.DiGraph()
    graph.add_nodes_from(network.attributes)
    graph.add_edges_from(network.graph.edges)
    others = [name for name in network.attributes if name != protected]
    for size in range(len(others) + 1):
        for quilt in itertools.combinations(others, size):
            rest = [name for name in others if name not in quilt]
            remote = {name for name in rest if nx.is_d_separator(graph, {protected}, {name}, set(quilt))}
            yield quilt, frozenset(network.attributes) - set(quilt) - remote


def random_case(rng: np.random.Generator, *, most_nodes: int = 6, models: int | None = None) -> Case:
    """Draw a framework, a query of one number over binary columns, and worst-case or random column laws."""
    nodes = int(rng.integers(2, most_nodes + 1))
    network = random_network(rng, nodes, models=int(rng.integers(1, 3)) if models is None else models)
    names = list(network.attributes)
    protected = [str(name) for name in rng.choice(names, size=min(nodes, int(rng.integers(1, 3))), replace=False)]
    protect = {name: _secrets(rng, network, name) for name in protected}
    schema = Schema(records=1, columns={name: Integer(0, 1) for name in names})
    framework = DistributionalAttributePrivacy(network, schema, protect, source="a random draw")
    queried = [str(name) for name in rng.choice(names, size=int(rng.integers(1, min(3, nodes) + 1)), replace=False)]
    weights = {name: float(rng.choice([-2.0, 0.5, 1.0, 3.0])) for name in queried}
    query = linear(weights) if rng.random() < 0.7 else _conjunction(queried)
    emission = {name: _emission(rng, len(network.states[name])) for name in queried}
    return Case(framework=framework, query=query, epsilon=float(rng.uniform(0.1, 5)), emission=emission)


def _conjunction(queried: list[str]) -> Query:
    predicate = col(queried[0]) == 1
    for name in queried[1:]:
        predicate = predicate & (col(name) == 1)
    return count(predicate)


def _secrets(rng: np.random.Generator, network: DiscreteNetwork, name: str):
    states = network.states[name]
    if len(states) > 2 and rng.random() < 0.4:
        split = int(rng.integers(1, len(states)))
        return pairs((frozenset(states[:split]), frozenset(states[split:])))
    return None


def _emission(rng: np.random.Generator, states: int) -> np.ndarray:
    """Half the time the column shows its parameter, which is the worst case; otherwise a random law."""
    if rng.random() < 0.5:
        ones = (rng.permutation(states) < max(1, states // 2)).astype(float)
    else:
        ones = rng.random(states)
    return np.stack([1 - ones, ones], axis=1)


def value(query: Query, row: dict[str, int]) -> float:
    """Evaluate the query of a case on one record of zeros and ones, from its text alone."""
    text = str(query)
    if text.startswith("linear"):
        inside = text[text.index("(") + 1 : text.rindex(")")]
        terms = (part.split(":") for part in inside.split(","))
        return sum(float(weight) * row[name.strip()] for name, weight in terms)
    return float(all(row.values()))


def output_epsilon(case: Case, scale: float) -> float:
    """Return the exact privacy loss of the released number over all models, pairs and outputs (pure epsilon).

    Between neighbouring atoms the log ratio of two mixtures of Laplace laws is monotone, so the atoms decide.
    """
    return max((loss(*laws, scale) for laws in answer_laws(case)), default=0.0)


def output_delta(case: Case, scale: float, noise: str) -> float:
    """Return the hockey-stick divergence of the released number at the case's epsilon, over all models and pairs."""
    return max((excess(*laws, scale, case.epsilon, noise) for laws in answer_laws(case)), default=0.0)


def answer_laws(case: Case) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the atoms of the answer with its masses under the two secrets of every pair that is a constraint."""
    framework = case.framework
    rows = list(itertools.product((0, 1), repeat=len(case.queried)))
    answers = np.array([value(case.query, dict(zip(case.queried, row, strict=True))) for row in rows])
    atoms = np.unique(answers)
    for model in range(framework.network.models):
        law = joint(framework.network, model)
        for protected, chosen in framework.secrets.items():
            laws: dict[frozenset, np.ndarray | None] = {}
            for pair in chosen:
                for side in (pair.first, pair.second):
                    if side not in laws:
                        laws[side] = _answer_law(case, law, protected, side, rows, answers, atoms)
                first, second = laws[pair.first], laws[pair.second]
                if first is not None and second is not None:
                    yield atoms, first, second


def _answer_law(case, law, protected, side, rows, answers, atoms) -> np.ndarray | None:
    parameters = conditional(case.framework.network, law, case.queried, protected, side)
    if parameters is None:
        return None
    masses = np.zeros(len(atoms))
    for row, answer in zip(rows, answers, strict=True):
        mass = parameters
        for name, cell in zip(case.queried, row, strict=True):
            mass = np.tensordot(case.emission[name][:, cell], mass, axes=(0, 0))
        masses[np.searchsorted(atoms, answer)] += float(mass)
    return masses


def loss(atoms: np.ndarray, first: np.ndarray, second: np.ndarray, scale: float) -> float:
    """Return the largest log ratio of the two output densities (or masses, without noise)."""
    if scale > 0:
        kernel = np.exp(-np.abs(atoms[:, None] - atoms[None, :]) / scale)
        first, second = kernel @ first, kernel @ second
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(first > 0, np.log(first) - np.log(second), -np.inf)
    return float(ratio.max())


def excess(atoms: np.ndarray, first: np.ndarray, second: np.ndarray, scale: float, epsilon: float, noise: str) -> float:
    """Return the hockey-stick divergence of the two output laws by integration of the densities."""
    if scale == 0:
        return float(np.maximum(0, first - np.exp(epsilon) * second).sum())

    def density(x: np.ndarray) -> np.ndarray:
        z = (x[..., None] - atoms) / scale
        kernel = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) if noise == "gaussian" else np.exp(-np.abs(z)) / 2
        return kernel @ (first - np.exp(epsilon) * second) / scale

    edges = np.unique(atoms[:, None] + scale * np.arange(-40, 41))  # nothing is left 40 scales from all atoms
    edges = np.unique(np.concatenate([edges, _sign_changes(density, edges)]))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = np.diff(edges) / 2
    pieces = density(edges[:-1, None] + half[:, None] * (1 + nodes)) @ weights * half
    return float(np.maximum(pieces, 0).sum())


def _sign_changes(function: Callable[[np.ndarray], np.ndarray], edges: np.ndarray) -> np.ndarray:
    """Return where a function changes its sign, found on 16 points between any two edges, then by halving."""
    x = np.unique(edges[:-1, None] + np.diff(edges)[:, None] * np.linspace(0, 1, 17))
    sign = np.sign(function(x))
    places = np.flatnonzero(sign[:-1] * sign[1:] < 0)
    low, high, below = x[places], x[places + 1], sign[places]
    for _ in range(60):
        middle = (low + high) / 2
        same = np.sign(function(middle)) == below
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return high
