"""What can be asked of a value beside what it is: found by name in one table, loaded when it is first asked for.

The kernel computes, charges and releases; pages, words, curves, files and studies are services. A value of the kernel
names the service (``service("calibration.document")(self)``), and never imports what renders it.
"""

from __future__ import annotations

from typing import Any

from bnpriv.kind import loaded

SERVICES: dict[str, str] = {
    # calibrations and mechanisms
    "calibration.curve": "bnpriv.views.curves:curve_of",
    "calibration.document": "bnpriv.views.calibration:calibration_document",
    "calibration.held_out": "bnpriv.lab.held_out:held_out",
    "calibration.misspecified": "bnpriv.mechanisms.misspecified:misspecified",
    "calibration.record": "bnpriv.mechanisms.serialize:serialized",
    "calibration.release": "bnpriv.core.release:release",
    "calibration.restored": "bnpriv.mechanisms.serialize:restored_calibration",
    "calibration.steps": "bnpriv.mechanisms.usefulness:steps_covered",
    "calibration.useful": "bnpriv.mechanisms.usefulness:usefulness",
    "certificate.document": "bnpriv.views.calibration:certificate_document",
    "certificate.draws": "bnpriv.views.calibration:with_draws",
    "certificate.reasons": "bnpriv.views.calibration:certificate_reasons",
    "draws.notes": "bnpriv.views.calibration:learned_notes",
    "draws.refusal": "bnpriv.views.calibration:too_few_draws",
    "plan.closer": "bnpriv.views.report.advice:closer_secrets",
    "plan.compared": "bnpriv.lab.public_comparison:compared",
    "plan.table": "bnpriv.tables.private_table.private_table:table_beside",
    "plan.held_out": "bnpriv.lab.held_out:held_out_of_all",
    "plan.document": "bnpriv.views.calibration:plan_document",
    "law_decision.plot": "bnpriv.views.curves:plot_decision",
    # guarantees, frameworks, secrets
    "framework.document": "bnpriv.views.cards:framework_document",
    "framework.file_parts.dataset": "bnpriv.io.framework_text:dataset_parts",
    "framework.file_parts.distributional": "bnpriv.io.framework_text:distributional_parts",
    "framework.file_parts.value": "bnpriv.io.framework_text:value_parts",
    "secrets.required": "bnpriv.kinds.density.network:require_property",
    "secrets.unknown": "bnpriv.kinds.density.network:refuse_unknown",
    "guarantee.document": "bnpriv.views.cards:guarantee_document",
    "framework.to_file": "bnpriv.io.framework_text:write_framework",
    # networks and influence
    "influence.explanation": "bnpriv.views.influence:explanation",
    "influence.document": "bnpriv.views.influence:influence_document",
    "influence.plot_draws": "bnpriv.views.influence:plot_draws",
    "influence.plot_secrets": "bnpriv.views.influence:plot_secrets",
    "influence.quilt_document": "bnpriv.views.influence:quilt_document",
    "influence.quilts_document": "bnpriv.views.influence:quilts_document",
    "quilts.of_calibration": "bnpriv.views.report.columns:calibration_quilts",
    "quilts.ranked": "bnpriv.views.report.columns:ranked_quilts",
    "quilts.to_networkx": "bnpriv.views.influence:quilt_graph",
    "laws.by_count": "bnpriv.kinds.pairs_of_laws:laws_by_count",
    "laws.given_property": "bnpriv.kinds.draws.laws:laws_given_property",
    "laws.of_tables_drawn": "bnpriv.kinds.draws.laws:laws_of_draws",
    "network.posterior_tables": "bnpriv.io.learning:posterior_tables",
    "network.resampled": "bnpriv.kinds.density.network:resampled",
    "network.document": "bnpriv.views.cards:network_document",
    "network.to_file": "bnpriv.io.networks.texts:write_network",
    # columns that may go out as they are
    "open_columns.table_document": "bnpriv.views.private_table:open_table_document",
    "open_columns.document": "bnpriv.views.private_table:open_columns_document",
    "report.open_columns": "bnpriv.tables.private_table.open_columns:columns_for_report",
    # queries
    "query.document": "bnpriv.views.cards:query_document",
    "query.usual": "bnpriv.io.starter.start:usual_property",
    "query.parse": "bnpriv.io.query_text:parse_query",
    "names.own": "bnpriv.io.query_text:own_name",
    "draws.needed": "bnpriv.kinds.draws.laws:draws_needed",
    "query.renamed": "bnpriv.io.query_text:renamed",
    "secrets.renamed": "bnpriv.io.query_text:renamed_secrets",
    "network.road": "bnpriv.io.pymc.roles:road",
    "bins.frequencies": "bnpriv.tables.public:bin_frequencies",
    "schema.document": "bnpriv.views.cards:schema_document",
    # releases
    "release.charged": "bnpriv.ledger.charged:charged_release",
    "release.evaluate": "bnpriv.tables.evaluate:evaluate_many",
    "release.try_sensitivity": "bnpriv.tables.evaluate:try_sensitivity",
    "release.refuse_contradicted": "bnpriv.lab.public_comparison:refuse_contradicted",
    "release.refuse_learned": "bnpriv.ledger.charged:refuse_learned",
    "release.to_pandas": "bnpriv.views.release:as_pandas",
    "release.questions": "bnpriv.ledger.prices:questions_fact",
    "release.missing_rule": "bnpriv.tables.evaluate:missing_rule",
    "release.document": "bnpriv.views.release:release_document",
    "release.statement": "bnpriv.views.release:release_statement",
    "session.statement": "bnpriv.views.release:session_statement",
    # private tables
    "table.answer_document": "bnpriv.views.private_table:answer_document",
    "table.beside_section": "bnpriv.views.private_table:beside_section",
    "table.charged": "bnpriv.ledger.charged:charged_table",
    "table.document": "bnpriv.views.private_table:table_document",
    "table.hidden_document": "bnpriv.views.private_table:hidden_document",
    "table.refuse_learned": "bnpriv.ledger.charged:refuse_learned_law",
    "table.statement": "bnpriv.views.release:table_statement",
    "table.report_document": "bnpriv.views.private_table:report_document",
    "table.plan_document": "bnpriv.views.private_table:plan_document",
    # the accountant and its ledger
    "accountant.document": "bnpriv.views.accountant:accountant_document",
    "accountant.transcript": "bnpriv.mechanisms.serialize:transcript",
    # render
    "render.card": "bnpriv.render.as_html:document_card",
    "render.docx": "bnpriv.render.as_docx:write_docx",
    "render.dict": "bnpriv.render.as_text:document_dict",
    "render.markdown": "bnpriv.render.as_markdown:document_markdown",
    "render.number": "bnpriv.render.as_text:number_only",
    "render.page": "bnpriv.render.as_html:document_page",
    "render.screen": "bnpriv.render.as_text:screen_text",
    "render.short": "bnpriv.render.as_text:short_text",
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
