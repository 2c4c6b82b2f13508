"""One patient of a hospital, written in PyMC.

A variable is the column itself in one record, its states are the values of the column. The numbers are those of
hospital.bif, invented for illustration; README.md says so again. A table of a variable with two states holds the
probability of the second one.
"""

from __future__ import annotations

import pymc as pm
import pytensor.tensor as pt

COORDS = {
    "age_group_states": ["child", "young", "middle", "old"],
    "smoker_states": ["no", "yes"],
    "disease_states": ["no", "yes"],  # the chronic lung disease whose frequency is to stay hidden
    "ward_states": ["surgery", "internal", "lungs", "children", "other"],
    "inhaler_states": ["no", "yes"],
    "days_states": ["1", "2", "3", "5", "8", "13"],
}

AGE_GROUP = [0.15, 0.25, 0.3, 0.3]

SMOKER = pt.constant([0.0, 0.28, 0.25, 0.15])  # by age_group: child, young, middle, old

DISEASE = pt.constant(
    [  # by age_group, then smoker
        [0.03, 0.03],  # child
        [0.04, 0.08],  # young
        [0.07, 0.2],  # middle
        [0.12, 0.4],  # old
    ]
)

WARD = pt.constant(
    [  # by disease, then age_group
        [  # no
            [0.15, 0.05, 0.02, 0.7, 0.08],  # child
            [0.4, 0.25, 0.05, 0.0, 0.3],  # young
            [0.35, 0.35, 0.05, 0.0, 0.25],  # middle
            [0.3, 0.45, 0.05, 0.0, 0.2],  # old
        ],
        [  # yes
            [0.05, 0.05, 0.15, 0.7, 0.05],  # child
            [0.2, 0.2, 0.45, 0.0, 0.15],  # young
            [0.15, 0.25, 0.5, 0.0, 0.1],  # middle
            [0.1, 0.35, 0.45, 0.0, 0.1],  # old
        ],
    ]
)

INHALER = pt.constant([0.04, 0.7])  # by disease: no, yes

DAYS = pt.constant(
    [  # by disease, then ward
        [  # no
            [0.3, 0.25, 0.2, 0.15, 0.07, 0.03],  # surgery
            [0.2, 0.2, 0.25, 0.2, 0.1, 0.05],  # internal
            [0.15, 0.2, 0.25, 0.2, 0.12, 0.08],  # lungs
            [0.4, 0.3, 0.15, 0.1, 0.04, 0.01],  # children
            [0.5, 0.25, 0.12, 0.08, 0.04, 0.01],  # other
        ],
        [  # yes
            [0.2, 0.2, 0.2, 0.2, 0.12, 0.08],  # surgery
            [0.12, 0.16, 0.22, 0.25, 0.15, 0.1],  # internal
            [0.1, 0.14, 0.2, 0.26, 0.18, 0.12],  # lungs
            [0.3, 0.25, 0.2, 0.15, 0.07, 0.03],  # children
            [0.4, 0.25, 0.15, 0.12, 0.06, 0.02],  # other
        ],
    ]
)


def model() -> pm.Model:
    """Return the network of hospital.bif."""
    with pm.Model(coords=COORDS) as hospital:
        age_group = pm.Categorical("age_group", p=AGE_GROUP)
        smoker = pm.Bernoulli("smoker", p=SMOKER[age_group])
        disease = pm.Bernoulli("disease", p=DISEASE[age_group, smoker])
        ward = pm.Categorical("ward", p=WARD[disease, age_group])
        pm.Bernoulli("inhaler", p=INHALER[disease])
        pm.Categorical("days", p=DAYS[disease, ward])
    return hospital
