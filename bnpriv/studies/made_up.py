"""What draws tables, and answers under two secrets, as a framework declares them: one object a notion, one a kind.

The object of a notion checks what is assumed, and asks the object of the kind of network for what it draws.
"""

from __future__ import annotations

from typing import Any

from bnpriv import checks
from bnpriv.checks import listing
from bnpriv.errors import FrameworkError, Refusal, SecretError
from bnpriv.evidence.laws import laws
from bnpriv.evidence.sampled import SampledLaws
from bnpriv.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.frameworks.pairs import DistributionPrivacy, draws_tables
from bnpriv.frameworks.value import ValuePrivacy
from bnpriv.kind import kind_of, loaded, notion_of
from bnpriv.mechanisms.base import Calibration
from bnpriv.networks.exact import no_tables
from bnpriv.networks.forward import forward_of
from bnpriv.queries.base import Query
from bnpriv.studies.asked import Asked, MadeUp, MadeUpColumns, model_index, one_secret, require_nodes, states_among
from bnpriv.studies.scenes import AttackGame, Draw, constraint_of, game_of_draws, game_of_laws
from bnpriv.tables.schema import Schema

NO_RECORDS = Refusal(
    required="a made-up table needs the law of its records",
    found="laws of the answer alone, which say of no table how probable it is",
    remedy="Declare pairs of record networks, from which the law of any answer follows too.",
)


def notion_sampler(framework: object) -> NotionSampler:
    """What draws as a framework declares it, whatever its notion is."""
    return loaded(notion_of(framework).sampler)()


def kind_sampler(network: object) -> KindSampler:
    """What draws from a network, of whatever kind it is."""
    return loaded(kind_of(network).sampler)()


class NotionSampler:
    """Draws as a framework of one notion declares it; a notion that does not say how is refused."""

    def table(self, framework: Any, asked: Asked) -> MadeUp:
        """A made-up table, given what is assumed.

        Raises
        ------
        BnprivError
            If the law of a column is not declared, or the secret is unknown or has probability zero.
        """
        raise _undrawn(framework, "a made-up table")

    def game(self, framework: Any, calibration: Calibration) -> AttackGame:
        """The two secrets that need the most noise, and what draws answers under them.

        Raises
        ------
        BnprivError
            If no law of the answer follows from what is declared.
        """
        raise _undrawn(framework, "a rehearsal")


def _undrawn(framework: object, what: str) -> FrameworkError:
    return FrameworkError(
        f"{what} needs a notion of privacy that says how tables are drawn",
        found=checks.type_text(framework),
        remedy="Use one of the frameworks of bnpriv.",
    )


class KindSampler:
    """Draws from a network of one kind, given a secret of each notion; by default it has no tables to draw from."""

    def columns(self, network: Any, schema: Schema, asked: Asked) -> MadeUpColumns:
        """The columns of a table, of which nothing is assumed."""
        raise no_tables(network, "a made-up table")

    def table_of_parameters(self, framework: DistributionalAttributePrivacy, asked: Asked) -> MadeUp:
        """A table whose columns are drawn below parameters that are as assumed."""
        raise no_tables(framework.network, "a made-up table")

    def table_of_values(self, framework: ValuePrivacy, asked: Asked) -> MadeUp:
        """A table of which the record in the middle is as assumed."""
        raise no_tables(framework.network, "a made-up table")

    def table_of_property(self, framework: DatasetAttributePrivacy, asked: Asked) -> MadeUp:
        """A table that has a property as assumed, one at most."""
        raise no_tables(framework.network, "a made-up table")

    def answers(self, network: Any, schema: Schema, query: Query) -> Draw:
        """What draws answers to tables of which nothing is assumed."""
        raise no_tables(network, "a rehearsal")

    def game_of_parameters(self, framework: DistributionalAttributePrivacy, calibration: Calibration) -> AttackGame:
        """The game of two secrets of a parameter."""
        raise no_tables(framework.network, "a rehearsal")

    def game_of_values(self, framework: ValuePrivacy, calibration: Calibration) -> AttackGame:
        """The game of two values of one record."""
        raise no_tables(framework.network, "a rehearsal")

    def game_of_property(self, framework: DatasetAttributePrivacy, calibration: Calibration) -> AttackGame:
        """The game of two values of a property of the records."""
        raise no_tables(framework.network, "a rehearsal")


class ParameterSampler(NotionSampler):
    """Tables and answers given a parameter of the network."""

    def table(self, framework: DistributionalAttributePrivacy, asked: Asked) -> MadeUp:
        """A table whose columns are drawn below parameters that are as assumed."""
        return kind_sampler(framework.network).table_of_parameters(framework, asked)

    def game(self, framework: DistributionalAttributePrivacy, calibration: Calibration) -> AttackGame:
        """The game of two secrets of a parameter."""
        return kind_sampler(framework.network).game_of_parameters(framework, calibration)


class ValueSampler(NotionSampler):
    """Tables and answers given a single value."""

    def table(self, framework: ValuePrivacy, asked: Asked) -> MadeUp:
        """A table of which the record in the middle is as assumed."""
        model_index(framework.models, asked.model)
        return kind_sampler(framework.network).table_of_values(framework, asked)

    def game(self, framework: ValuePrivacy, calibration: Calibration) -> AttackGame:
        """The game of two values of one record."""
        return kind_sampler(framework.network).game_of_values(framework, calibration)


class PropertySampler(NotionSampler):
    """Tables and answers given a property of the table, which is drawn record by record or as a whole."""

    def table(self, framework: DatasetAttributePrivacy, asked: Asked) -> MadeUp:
        """A table that has a property as assumed."""
        if framework.forward is None:
            require_nodes(framework.network, framework.schema)
        model_index(framework.models, asked.model)
        for name in asked.secret:
            checks.member("a protected column", name, framework.protect, error=SecretError)
        if len(asked.secret) > 1:
            raise one_secret(asked.secret)
        return kind_sampler(framework.forward or framework.network).table_of_property(framework, asked)

    def game(self, framework: DatasetAttributePrivacy, calibration: Calibration) -> AttackGame:
        """The game of two values of a property."""
        evidence = laws(framework, calibration.query)
        if isinstance(evidence, SampledLaws):
            return game_of_draws(evidence, calibration)
        return kind_sampler(framework.network).game_of_property(framework, calibration)


class PairSampler(NotionSampler):
    """Tables and answers of declared distributions: record networks, models of whole tables, or laws of an answer."""

    def table(self, framework: DistributionPrivacy, asked: Asked) -> MadeUp:
        """A table of the distribution that is assumed; of the first side of the pair by default."""
        if not framework.of_records:
            raise NO_RECORDS.error()
        model_index(framework.models, asked.model)
        ((name, pairs),) = framework.secrets.items()
        for given in asked.secret:
            checks.member("what is protected", given, (name,), error=SecretError)
        sides = {
            text: side
            for pair in (pairs[asked.model], *pairs)
            for text, side in zip(pair.sides, (pair.first, pair.second), strict=True)
        }
        known = asked.secret.get(name)
        chosen = () if known is None else states_among("the secret must name states of", known, sides)
        if len(chosen) > 1:
            raise SecretError(
                "a table comes from one distribution", found=listing(chosen), remedy=f'Write secret={{"{name}": ...}}.'
            )
        side: Any = sides[str(chosen[0])] if chosen else next(iter(sides.values()))
        network = forward_of(side) if draws_tables(side) else side
        return MadeUp(kind_sampler(network).columns(network, framework.schema, asked))

    def game(self, framework: DistributionPrivacy, calibration: Calibration) -> AttackGame:
        """The game of two distributions; answers to record networks are drawn record by record."""
        evidence = laws(framework, calibration.query)
        if isinstance(evidence, SampledLaws):
            return game_of_draws(evidence, calibration)
        constraint, _ = constraint_of(evidence, calibration)
        pair = framework.secrets[constraint.protected][constraint.model]
        if framework.sampling is not None or not framework.of_records:
            return game_of_laws(evidence, calibration, pair)
        first, second = (
            kind_sampler(network).answers(network, framework.schema, calibration.query)
            for network in framework.pairs[constraint.model]
        )
        return AttackGame(protected=constraint.protected, pair=pair, model=constraint.model, sides=(first, second))
