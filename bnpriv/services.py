"""What can be asked of a value beside what it is: found by name in one table, loaded when it is first asked for.

The kernel computes, charges and releases; pages, words, curves, files and studies are services. A value of the kernel
names the service (``service("calibration.document")(self)``), and never imports what renders it.
"""

from __future__ import annotations

from typing import Any

from bnpriv.kind import loaded

SERVICES: dict[str, str] = {
    # calibrations and mechanisms
    "calibration.curve": "bnpriv.mechanisms.curves:curve_of",
    "calibration.document": "bnpriv.mechanisms.sections:calibration_document",
    "calibration.misspecified": "bnpriv.mechanisms.misspecified:misspecified",
    "calibration.record": "bnpriv.mechanisms.record:calibration_record",
    "calibration.release": "bnpriv.release.release:release",
    "calibration.restored": "bnpriv.mechanisms.record:restored_calibration",
    "calibration.steps": "bnpriv.mechanisms.steps:steps_covered",
    "calibration.useful": "bnpriv.mechanisms.usefulness:usefulness",
    "certificate.document": "bnpriv.mechanisms.certificate_document:certificate_document",
    "certificate.draws": "bnpriv.mechanisms.draws_words:with_draws",
    "certificate.reasons": "bnpriv.mechanisms.certificate_document:certificate_reasons",
    "draws.notes": "bnpriv.mechanisms.draws_words:learned_notes",
    "draws.refusal": "bnpriv.mechanisms.draws_words:too_few_draws",
    "plan.closer": "bnpriv.mechanisms.closer_secrets:closer_secrets",
    "plan.document": "bnpriv.mechanisms.plan_document:plan_document",
    "law_decision.plot": "bnpriv.mechanisms.law_drawing:plot_decision",
    # guarantees, frameworks, secrets
    "framework.document": "bnpriv.frameworks.card:framework_document",
    "framework.file_parts.dataset": "bnpriv.frameworks.to_file:dataset_parts",
    "framework.file_parts.distributional": "bnpriv.frameworks.to_file:distributional_parts",
    "framework.file_parts.value": "bnpriv.frameworks.to_file:value_parts",
    "guarantee.document": "bnpriv.frameworks.guarantee_facts:guarantee_document",
    "framework.to_file": "bnpriv.frameworks.to_file:write_framework",
    # networks and influence
    "influence.explanation": "bnpriv.influence.explanation:explanation",
    "influence.document": "bnpriv.influence.cards:influence_document",
    "influence.plot_draws": "bnpriv.influence.cards:plot_draws",
    "influence.plot_secrets": "bnpriv.influence.cards:plot_secrets",
    "influence.quilt_document": "bnpriv.influence.quilt_cards:quilt_document",
    "influence.quilts_document": "bnpriv.influence.quilt_cards:quilts_document",
    "laws.given_property": "bnpriv.evidence.density_laws:laws_given_property",
    "laws.of_tables_drawn": "bnpriv.evidence.density_laws:laws_of_draws",
    "network.posterior_tables": "bnpriv.networks.learning.network:posterior_tables",
    "network.resampled": "bnpriv.networks.density:resampled",
    "network.document": "bnpriv.frameworks.card:network_document",
    "network.to_file": "bnpriv.networks.file_texts:write_network",
    # queries
    "query.document": "bnpriv.queries.card:query_document",
    "query.parse": "bnpriv.queries.parser:parse_query",
    "schema.document": "bnpriv.tables.card:schema_document",
    # releases
    "release.charged": "bnpriv.release.charged:charged_release",
    "release.evaluate": "bnpriv.release.evaluate:evaluate_many",
    "release.try_sensitivity": "bnpriv.release.evaluate:try_sensitivity",
    "release.refuse_learned": "bnpriv.release.public:refuse_learned",
    "release.document": "bnpriv.release.document:release_document",
    # the accountant and its ledger
    "accountant.document": "bnpriv.accounting.sections:accountant_document",
    # render
    "render.card": "bnpriv.render.as_html:document_card",
    "render.dict": "bnpriv.render.as_json:document_dict",
    "render.markdown": "bnpriv.render.as_markdown:document_markdown",
    "render.page": "bnpriv.render.as_html:document_page",
    "render.text": "bnpriv.render.as_text:document_text",
    "render.write_text": "bnpriv.render.outputs:write_text",
}
"""The name of each service, and the module and function that give it."""


def service(name: str) -> Any:
    """The function behind the name of a service.

    Parameters
    ----------
    name : str
        A key of `SERVICES`: what is asked, and of what.

    Returns
    -------
    callable
    """
    return loaded(SERVICES[name])
