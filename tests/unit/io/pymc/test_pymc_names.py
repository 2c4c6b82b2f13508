"""Entries of vectors and columns of tables by the names that users give them: label, dimension or place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.influence.quilts import markov_quilt
from bnpriv.core.networks.base import ImportReport
from bnpriv.errors import NetworkError, QueryError, SchemaError, SecretError
from tests.later import optional

pm = optional("pymc")
xarray = optional("xarray")

SCHOOLS, SUBJECTS = ["Choate", "Deerfield", "St. Paul's"], ["algebra", "latin"]
SECRET = bp.intervals(((-1, 0), (0, 1)))
SIDES = bp.intervals(((-1, -0.1), (0.1, 1)))


def pupils() -> Any:
    """Return a model of pupils' scores in two subjects, each with its own mean."""
    with pm.Model(coords={"subject": SUBJECTS, "pupil": range(9)}) as model:
        mu = pm.Normal("mu", 0, 1, dims="subject")
        pm.Normal("obs", mu, 1, observed=np.zeros((9, 2)), dims=("pupil", "subject"))
    return model


def scores(protect: object = "mu[algebra]", **more: Any) -> Any:
    network = bp.from_pymc(pupils())
    columns = {f"obs[{subject}]": bp.Real(-4, 4) for subject in SUBJECTS} | more
    protect = {protect: SECRET} if isinstance(protect, str) else protect
    independent = tuple(more)
    schema = bp.Schema(records=9, columns=columns)
    return bp.DistributionalAttributePrivacy(network, schema, protect, source="a test", independent=independent)


def schools() -> Any:
    with pm.Model(coords={"school": SCHOOLS}) as model:
        mu = pm.Normal("mu", 0, 5)
        z = pm.Normal("z", 0, 1, dims="school")
        pm.Deterministic("theta", mu + z, dims="school")
        pm.Deterministic("seen", pm.Normal("obs", mu, 2.0, observed=np.zeros(3), dims="school") * 2)
    return model


def belief(*left_out: str) -> Any:
    random = np.random.default_rng(0)
    mu, z = random.normal(size=(2, 300)), random.normal(size=(2, 300, 3))
    drawn = {"mu": mu, "z": z, "theta": mu[..., None] + z}
    kept = {name: values for name, values in drawn.items() if name not in left_out}
    return bp.from_pymc(schools(), posterior=kept, reading="belief")


def of_schools(network: Any, protect: object) -> Any:
    schema = bp.Schema(records=3, columns={"obs": bp.Real(-9, 9)})
    return bp.DistributionalAttributePrivacy(network, schema, protect, source="a test")


GRID = ImportReport(
    axes={
        "a": (("year", ("2019", "2020")), ("", ("x", "y"))),
        "b": (("place", ("1, 2", "3")),),
        "c": (("half", ("0.5", "1.5")),),
        "d": (("state", ("a=b", "b")),),
        "f": (("x", ("a", "b")), ("y", ("a", "b"))),
        "g": (("state", ("b", "state=b")),),
    }
)


@pytest.mark.parametrize(
    ("said", "meant"),
    {
        "a[2019, x]": "a[2019, x]",
        "a[2019,x]": "a[2019, x]",
        "a[year=2020, 1]": "a[2020, y]",
        "a[ '2020' , \"x\" ]": "a[2020, x]",
        "b[1, 2]": "b[1, 2]",
        "b[place=1, 2]": "b[1, 2]",
        "d[a=b]": "d[a=b]",
        "d[state=a=b]": "d[a=b]",
        "d[1]": "d[b]",
        "f[y=a, x=b]": "f[b, a]",
        "f[x=a, b]": "f[a, b]",
        "g[state=b]": "g[state=b]",
        "g[state=state=b]": "g[state=b]",
    }.items(),
)
def test_an_entry_is_found_by_label_dimension_or_place(said: str, meant: str) -> None:
    assert GRID.own_name(said) == meant
    assert GRID.own_name(meant) == meant


@pytest.mark.parametrize(
    "said",
    # places where labels are numbers, or beyond; too few dimensions, others, one twice; no entry at all
    [
        "a[0, x]",
        "c[1]",
        "d[2]",
        "d[-1]",
        "a[2019]",
        "a[month=2019, x]",
        "a[2019, year=2020]",
        "a",
        "a[2019, x",
        "e[0]",
        "f[y=a, b]",
        "f[x=a, x=b]",
        5,
    ],
)
def test_what_is_no_entry_keeps_its_name(said: Any) -> None:
    assert GRID.own_name(said) == said


@pytest.mark.parametrize("name", ["theta[Deerfield]", "theta[1]", "theta[school=Deerfield]", "theta['Deerfield']"])
def test_every_verb_takes_every_name(name: str) -> None:
    network = belief()
    assert of_schools(network, {name: SECRET}).protected == ("theta[Deerfield]",)
    assert network.require(name) == "theta[Deerfield]"
    assert network.draws_needed(name, -1, 1) == network.draws_needed("theta[Deerfield]", -1, 1)
    assert bp.markov_quilts(network, name).protected == "theta[Deerfield]"
    assert bp.influence_report(network, protect={name: SECRET}).attributes[0].protected == "theta[Deerfield]"


def test_influences_take_the_names_of_entries() -> None:
    network = bp.from_pymc(pupils())
    assert network.reading.columns == {"obs[algebra]": ("mu[algebra]",), "obs[latin]": ("mu[latin]",)}
    apart = bp.apart(at_most=1)
    for name in ("mu[latin]", "mu[1]", "mu[subject=latin]"):
        told = bp.max_influence(network, {name}, "mu[0]", apart)
        assert (told.protected, told.columns) == ("mu[algebra]", frozenset({"mu[latin]"}))
        assert markov_quilt(network, "mu[0]", (), remote=[name]).remote == {"mu[latin]"}


@pytest.mark.parametrize("name", ["obs[latin]", "obs[1]", "obs[subject=latin]"])
def test_queries_take_every_name_as_text_and_in_python(name: str) -> None:
    private = scores()
    for query in (f"mean({name})", f"mean(`{name}`)", bp.mean(name)):
        assert bp.plan(private, query, 1.0).best.query == bp.mean("obs[latin]")
        assert bp.mechanisms.ColumnMechanism().calibrate(private, query, epsilon=1.0).query == bp.mean("obs[latin]")
    assert [row.read for row in bp.leaks(private, f"mean({name})").rows] == [True, False]
    assert bp.influence_report(private, f"count({name} > 0)").query == bp.count(bp.col("obs[latin]") > 0)
    asked = f"stack(linear({name}: 1, obs[0]: 1/2), crosstab({name} [-1, 0, 1], obs[0] [-1, 1]))"
    assert bp.plan(private, asked, 1.0).best.query.columns == {"obs[latin]", "obs[algebra]"}
    secret = {name: bp.Secret(f"mean({name})", pairs=SIDES)}
    hidden = bp.DatasetAttributePrivacy(private.network, private.schema, secret, source="a test")
    assert (hidden.protected, hidden.protect["obs[latin]"].column) == (("obs[latin]",), "obs[latin]")


def test_a_declared_column_keeps_its_name() -> None:
    private = scores(**{"obs[1]": bp.Real(0, 1)})
    assert bp.plan(private, "mean(obs[1])", 1.0).best.query == bp.mean("obs[1]")


def test_nothing_is_protected_by_two_names() -> None:
    with pytest.raises(SecretError, match=r"found two names of one among mu\[algebra\], mu\[0\]"):
        scores({"mu[algebra]": SECRET, "mu[0]": bp.intervals(((-9, 0), (0, 9)))})
    private, secret = scores(), bp.Secret("mean(obs[0])", pairs=SIDES)
    with pytest.raises(SecretError, match="must come once"):
        bp.DatasetAttributePrivacy(
            private.network, private.schema, {"obs[0]": secret, "obs[algebra]": secret}, source="a test"
        )


def test_columns_of_a_model_are_named_by_entries_of_its_parameters() -> None:
    with pm.Model(coords={"school": SCHOOLS}) as model:
        pm.Normal("below", pm.Normal("mu", 0, 1, dims="school"), 1, dims="school")
    assert bp.from_pymc(model, columns={"x": "mu[school=Choate]"}).reading.columns == {"x": ("mu[Choate]",)}
    with pytest.raises(NetworkError, match="'x' must name a random variable"):
        bp.from_pymc(model, columns={"x": "mu[3]"})


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "another label": (
        lambda: of_schools(belief(), {"theta[Andover]": SECRET}),
        r"found 'theta\[Andover\]'. Name an entry of 'theta' that there is, for example 'theta\[Choate\]'",
    ),
    "a slip": (lambda: of_schools(belief(), {"theta[Choat]": SECRET}), r"Did you mean 'theta\[Choate\]'"),
    "another dimension": (
        lambda: of_schools(belief(), {"theta[schol=Choate]": SECRET}),
        r"Did you mean 'theta\[Choate\]'",
    ),
    "an entry of a number": (lambda: of_schools(belief(), {"mu[0]": SECRET}), r"Did you mean 'mu'"),
    "a vector": (lambda: of_schools(belief(), {"theta": SECRET}), r"Name an entry, for example 'theta\[Choate\]'"),
    "of a column": (
        lambda: of_schools(belief(), {"seen": SECRET}),
        r"found the Deterministic 'seen': it is computed from the column",
    ),
}


def test_a_reading_can_be_printed_and_a_road_asks_for_known_names() -> None:
    reading = belief().reading
    assert str(reading).count("\n") == len(reading.nodes) - 1
    column = next(iter(reading.columns))
    with pytest.raises(
        NetworkError, match=r"a secret of the model must be one of .* found 'thta'. Did you mean 'theta'"
    ):
        reading.road("thta[Choate]", column)


@pytest.mark.parametrize("wrong", REFUSED)
def test_a_refusal_says_which_names_there_are(wrong: str) -> None:
    make, match = REFUSED[wrong]
    with pytest.raises(SecretError, match=match):
        make()


def test_a_query_of_no_column_says_which_there_are() -> None:
    with pytest.raises(SchemaError, match=r"among obs\[algebra\], obs\[latin\]; found obs\[greek\]. Name an entry"):
        bp.plan(scores(), "mean(obs[greek])", 1.0)
    with pytest.raises(QueryError, match="entries without quotes"):
        bp.plan(scores(), "mean(obs['latin'])", 1.0)


def test_a_function_of_a_table_is_asked_as_it_is_whatever_it_is_called() -> None:
    asked = bp.custom(len, columns=["obs[1]"], sensitivity=1.0, name="mean(`obs[1]`)")
    with pytest.raises(SchemaError, match=r"found obs\[1\]"):
        bp.plan(scores(), asked, 1.0)


@pytest.mark.parametrize("name", ["theta[0]", "theta[school=a]", "theta['b']", "theta[a]"])
@pytest.mark.parametrize("kind", ["variable", "Deterministic"])
def test_no_variable_has_a_name_that_stands_for_an_entry_of_another(name: str, kind: str) -> None:
    with pm.Model(coords={"school": ["a", "b"]}) as model:
        theta = pm.Normal("theta", 0, 1, dims="school")
        own = pm.Normal(name, 50, 1) if kind == "variable" else pm.Deterministic(name, theta[0] + theta[1])
        pm.Normal("obs", theta[0] + own, 1, observed=np.zeros(3))
    with pytest.raises(NetworkError, match="names must tell all entries of variables apart"):
        bp.from_pymc(model)
