"""Variables that a user's function brings into a law from outside, so that the law does not show them as parameters."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bnpriv.adapters.pymc.backend import (
    functions_of,
    is_custom,
    is_library,
    is_measurable,
    is_random,
    is_simulator,
    pymc,
    replaced,
)
from bnpriv.adapters.pymc.expressions import ancestors
from bnpriv.adapters.pymc.reachable import reachable
from bnpriv.errors import NetworkError


def refuse_captured(model: Any) -> None:
    """Refuse a model with a law that uses a random variable without taking it as a parameter.

    Three nets, each of which sees what the others may not: what the functions behind an operation can reach, what is
    drawn anew inside an operation, and what is left in the log density that PyMC makes.

    Raises
    ------
    NetworkError
        If there is one, or if a function of the user's for the log density fails.
    """
    known = {rv: str(rv.name) for rv in model.basic_RVs}
    values = {value: known[rv] for rv, value in model.rvs_to_values.items() if rv in known}
    for rv, name in known.items():
        # walked through the laws of others too, up to the next variable with a name
        above = [rv, *(each for each in ancestors(rv.owner.inputs, known) if each not in known)]
        owners = {each.owner: None for each in above if each.owner is not None}
        functions = [model.rvs_to_transforms.get(rv)]
        used = _by_functions(owners, functions, known | values, model) or _inside(rv, owners, known)
        if used is None and any(_is_users(owner.op) for owner in _all(owners)):
            used = _in_density(model, rv, known, values)
        if used is not None:
            raise NetworkError(
                "a law must take all that it depends on as a parameter: PyMC cannot tell what a function uses besides",
                found=f"{used} in the law of {name!r}",
                remedy="Pass it, as in pm.CustomDist('x', s, dist=lambda s, size: ...) or OpFromGraph([s], ...).",
            )


def _is_users(op: Any) -> bool:
    return is_custom(op) or not is_library(type(op))


def _all(owners: Iterable[Any]) -> Iterator[Any]:
    """Yield applied operations and those inside them, at any depth."""
    todo = list(owners)
    while todo:
        owner = todo.pop()
        yield owner
        todo += _within(owner)


def _within(owner: Any) -> list[Any]:
    """Return the operations inside one that make its numbers; what only moves generators on is left out."""
    inside = getattr(owner.op, "fgraph", None)
    if inside is None:
        return []
    numbers = [each for each in inside.outputs if not _is_generator(each)]
    return list({each.owner: None for each in ancestors(numbers, ()) if each.owner is not None})


def _by_functions(owners: Iterable[Any], functions: Iterable[Any], known: Mapping[Any, str], model: Any) -> str | None:
    """Return a variable that a function behind an operation, or behind a transform, can reach."""
    roots = [*functions, *(each for owner in _all(owners) for each in functions_of(owner.op))]
    for found in reachable(roots):
        if found is model:
            return "the model itself"
        for each in ancestors([found], ()) if hasattr(found, "owner") else ():
            if each in known:
                return repr(known[each])
    return None


def _inside(rv: Any, owners: Iterable[Any], known: Mapping[Any, str]) -> str | None:
    """Return a variable that is drawn again inside an operation, which made a copy of it.

    The copy keeps the name, and takes its random numbers from the same generator, which goes into the operation. Laws
    of the user's must not share a generator at all: their draws would depend on each other.
    """
    names, others = set(known.values()), [other for other in known if other is not rv]
    for owner in owners:
        copies = [each for each in _all(_within(owner)) if is_random(each.op)]
        for output in (output for each in copies for output in each.outputs):
            if output.name in names:
                return repr(output.name)
        kinds: set[object] = {type(each.op) for each in copies}
        # loops may take the generator of a variable along without using it; those that draw are refused elsewhere
        generators = _generators(owner) if copies and is_random(owner.op) else set[Any]()
        for other in others:
            alike = type(other.owner.op) in kinds or _is_users(owner.op)
            if alike and not generators.isdisjoint(_generators(other.owner)):
                return repr(known[other])
    return None


def _generators(owner: Any) -> set[Any]:
    return {each for each in owner.inputs if _is_generator(each)}


def _is_generator(variable: Any) -> bool:
    return type(variable.type).__name__ == "RandomGeneratorType"


def _in_density(model: Any, rv: Any, known: Mapping[Any, str], values: Mapping[Any, str]) -> str | None:
    """Return what stays random in the log density that PyMC makes of a variable, its parameters being given."""
    if is_simulator(rv.owner.op):
        return None
    above = [each for each in ancestors(rv.owner.inputs, known) if each in known]
    given = replaced(rv, {each: each.type() for each in above})
    try:
        with warnings.catch_warnings(), model:
            warnings.simplefilter("ignore")
            density = pymc().logp(given, given.type())
    except (NotImplementedError, RuntimeError):  # PyMC has none for this law, which is told where one is needed
        return None
    except Exception as error:  # whatever a function of the user's raises
        raise NetworkError(
            "a log density that the user wrote must be computable",
            found=f"{type(error).__name__} for {rv.name!r}",
            remedy="Correct logp= or dist= of it; model.logp() fails too.",
        ) from error
    reached = ancestors([density], ())
    for each in reached:
        if each in values:
            return repr(values[each])
    owners = _all({each.owner: None for each in reached if each.owner is not None})
    drawn = [each for owner in owners if is_random(owner.op) or is_measurable(owner.op) for each in owner.outputs]
    named = [known.get(each) or each.name for each in drawn if each in known or each.name]
    return None if not drawn else repr(named[0]) if named else "a random variable"
