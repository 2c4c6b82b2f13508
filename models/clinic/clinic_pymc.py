"""How the columns of a clinic's table of patients depend on each other, written in PyMC.

A variable is not a patient's value but the parameter of a column: what the column is like in this clinic as a whole.
The numbers are those of clinic.bif, invented for illustration; README.md says what every state means. A table of a
variable with two states holds the probability of the second one.
"""

from __future__ import annotations

import pymc as pm
import pytensor.tensor as pt

COORDS = {
    "age_states": ["younger", "mixed", "older"],  # how old the patients typically are
    "region_states": ["urban", "mixed", "rural"],  # where they typically live
    "insurance_states": ["private", "mixed", "public"],  # who typically pays for them
    "smoking_states": ["few", "some", "many"],  # how many smoke
    "bmi_states": ["lean", "average", "heavy"],  # how heavy they typically are for their height
    "blood_pressure_states": ["good", "raised", "high"],  # what their systolic blood pressure is typically like
    "hba1c_states": ["good", "raised", "high"],  # what their long-term blood sugar is typically like
    "cholesterol_states": ["good", "raised", "high"],  # what their cholesterol is typically like
    "visits_states": ["few", "usual", "many"],  # how often they typically come in a year
    "opioid_use_states": ["rare", "some", "common"],  # how many use opioids over a long time
    "infection_states": ["low", "moderate", "high"],  # how many carry a certain chronic viral infection
    # what their score in a questionnaire about low mood is typically like
    "mood_score_states": ["low", "middling", "high"],
    "liver_enzyme_states": ["usual", "raised"],  # what their liver enzyme is typically like
    "antiviral_states": ["few", "some", "many"],  # how many are prescribed an antiviral medicine
    # whether cases of tuberculosis come one by one, or hang together (rare)
    "tuberculosis_states": ["sporadic", "cluster"],
    "overdose_states": ["sporadic", "wave"],  # whether overdoses come one by one, or in a wave of a bad batch (rare)
}

AGE = [0.3, 0.45, 0.25]

REGION = [0.4, 0.35, 0.25]

INSURANCE = pt.constant(
    [  # by region
        [0.35, 0.40, 0.25],  # urban
        [0.30, 0.45, 0.25],  # mixed
        [0.20, 0.45, 0.35],  # rural
    ]
)

SMOKING = pt.constant(
    [  # by region
        [0.35, 0.45, 0.20],  # urban
        [0.30, 0.45, 0.25],  # mixed
        [0.25, 0.45, 0.30],  # rural
    ]
)

# the elderly are a little heavier, and so are people in the countryside
BMI = pt.constant(
    [  # by age, then region
        [[0.45, 0.40, 0.15], [0.42, 0.41, 0.17], [0.38, 0.42, 0.20]],  # younger
        [[0.32, 0.43, 0.25], [0.30, 0.43, 0.27], [0.26, 0.44, 0.30]],  # mixed
        [[0.25, 0.43, 0.32], [0.23, 0.43, 0.34], [0.20, 0.42, 0.38]],  # older
    ]
)

# age decides most of it, weight some
BLOOD_PRESSURE = pt.constant(
    [  # by age, then bmi
        [[0.70, 0.22, 0.08], [0.60, 0.28, 0.12], [0.45, 0.35, 0.20]],  # younger
        [[0.50, 0.33, 0.17], [0.40, 0.37, 0.23], [0.27, 0.40, 0.33]],  # mixed
        [[0.30, 0.38, 0.32], [0.22, 0.38, 0.40], [0.14, 0.36, 0.50]],  # older
    ]
)

HBA1C = pt.constant(
    [  # by age, then bmi
        [[0.75, 0.19, 0.06], [0.65, 0.25, 0.10], [0.45, 0.35, 0.20]],  # younger
        [[0.60, 0.28, 0.12], [0.48, 0.34, 0.18], [0.30, 0.40, 0.30]],  # mixed
        [[0.45, 0.35, 0.20], [0.33, 0.39, 0.28], [0.18, 0.40, 0.42]],  # older
    ]
)

CHOLESTEROL = pt.constant(
    [  # by bmi, then smoking
        [[0.55, 0.32, 0.13], [0.50, 0.35, 0.15], [0.44, 0.37, 0.19]],  # lean
        [[0.40, 0.38, 0.22], [0.36, 0.40, 0.24], [0.31, 0.41, 0.28]],  # average
        [[0.26, 0.40, 0.34], [0.23, 0.40, 0.37], [0.20, 0.39, 0.41]],  # heavy
    ]
)

# low mood brings people to a doctor too
VISITS = pt.constant(
    [  # by age, then mood_score
        [[0.55, 0.36, 0.09], [0.46, 0.41, 0.13], [0.36, 0.44, 0.20]],  # younger
        [[0.36, 0.44, 0.20], [0.29, 0.45, 0.26], [0.22, 0.44, 0.34]],  # mixed
        [[0.18, 0.42, 0.40], [0.14, 0.40, 0.46], [0.10, 0.36, 0.54]],  # older
    ]
)

OPIOID_USE = pt.constant(
    [  # by region
        [0.55, 0.35, 0.10],  # urban
        [0.50, 0.37, 0.13],  # mixed
        [0.40, 0.40, 0.20],  # rural
    ]
)

# it travels by shared needles, and more easily in a town
INFECTION = pt.constant(
    [  # by opioid_use, then region
        [[0.60, 0.31, 0.09], [0.64, 0.28, 0.08], [0.68, 0.25, 0.07]],  # rare
        [[0.52, 0.36, 0.12], [0.56, 0.33, 0.11], [0.60, 0.30, 0.10]],  # some
        [[0.42, 0.41, 0.17], [0.46, 0.38, 0.16], [0.50, 0.36, 0.14]],  # common
    ]
)

MOOD_SCORE = pt.constant(
    [  # by opioid_use
        [0.45, 0.40, 0.15],  # rare
        [0.35, 0.43, 0.22],  # some
        [0.22, 0.43, 0.35],  # common
    ]
)

# weight raises it as well: seen together with bmi it tells more about the infection than alone
LIVER_ENZYME = pt.constant(
    [  # by infection, then bmi
        [0.10, 0.16, 0.30],  # low
        [0.18, 0.25, 0.40],  # moderate
        [0.30, 0.36, 0.50],  # high
    ]
)

# the medicine against the infection: hardly anything tells more about it
ANTIVIRAL = pt.constant(
    [  # by infection, then insurance
        [[0.90, 0.09, 0.01], [0.92, 0.07, 0.01], [0.94, 0.05, 0.01]],  # low
        [[0.20, 0.70, 0.10], [0.25, 0.67, 0.08], [0.32, 0.62, 0.06]],  # moderate
        [[0.02, 0.28, 0.70], [0.03, 0.33, 0.64], [0.05, 0.39, 0.56]],  # high
    ]
)

# a cluster is rare everywhere, but ten times likelier where the infection is frequent
TUBERCULOSIS = pt.constant([0.0002, 0.0005, 0.0020])  # by infection: low, moderate, high

# a wave is rare everywhere, but twenty times likelier where opioid use is common
OVERDOSE = pt.constant([0.0002, 0.0010, 0.0040])  # by opioid_use: rare, some, common


def model() -> pm.Model:
    """Return the network of clinic.bif."""
    with pm.Model(coords=COORDS) as clinic:
        age = pm.Categorical("age", p=AGE)
        region = pm.Categorical("region", p=REGION)
        insurance = pm.Categorical("insurance", p=INSURANCE[region])
        smoking = pm.Categorical("smoking", p=SMOKING[region])
        bmi = pm.Categorical("bmi", p=BMI[age, region])
        pm.Categorical("blood_pressure", p=BLOOD_PRESSURE[age, bmi])
        pm.Categorical("hba1c", p=HBA1C[age, bmi])
        pm.Categorical("cholesterol", p=CHOLESTEROL[bmi, smoking])
        opioid_use = pm.Categorical("opioid_use", p=OPIOID_USE[region])
        infection = pm.Categorical("infection", p=INFECTION[opioid_use, region])
        mood_score = pm.Categorical("mood_score", p=MOOD_SCORE[opioid_use])
        pm.Categorical("visits", p=VISITS[age, mood_score])
        pm.Bernoulli("liver_enzyme", p=LIVER_ENZYME[infection, bmi])
        pm.Categorical("antiviral", p=ANTIVIRAL[infection, insurance])
        pm.Bernoulli("tuberculosis", p=TUBERCULOSIS[infection])
        pm.Bernoulli("overdose", p=OVERDOSE[opioid_use])
    return clinic
