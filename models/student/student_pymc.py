"""How the columns of a table of students depend on each other in a school district, written in PyMC.

A variable is not a student's value but the parameter of a column: what the column is like in the district as a whole.
The numbers are those of student.bif, invented for illustration; README.md says what every state means.
"""

from __future__ import annotations

import pymc as pm
import pytensor.tensor as pt

COORDS = {
    "income_states": ["low", "middle", "high"],  # what families in the district typically earn
    "gender_states": ["mostly_girls", "even", "mostly_boys"],  # how many of the students are girls
    "height_states": ["short", "medium", "tall"],  # how tall the students typically are
    "weight_states": ["light", "medium", "heavy"],  # how heavy the students typically are
    "sat_states": ["weak", "fair", "strong"],  # how well the students typically do in the test
}

INCOME = [0.3, 0.5, 0.2]

GENDER = [0.25, 0.5, 0.25]

# gender decides most of it; a well-fed district is a little taller
HEIGHT = pt.constant(
    [  # by gender, then income
        [[0.38, 0.52, 0.10], [0.35, 0.54, 0.11], [0.31, 0.56, 0.13]],  # mostly_girls
        [[0.28, 0.52, 0.20], [0.26, 0.52, 0.22], [0.23, 0.52, 0.25]],  # even
        [[0.18, 0.52, 0.30], [0.17, 0.50, 0.33], [0.14, 0.48, 0.38]],  # mostly_boys
    ]
)

WEIGHT = pt.constant(
    [  # by height, then gender
        [[0.70, 0.25, 0.05], [0.60, 0.30, 0.10], [0.50, 0.35, 0.15]],  # short
        [[0.35, 0.50, 0.15], [0.25, 0.50, 0.25], [0.15, 0.50, 0.35]],  # medium
        [[0.15, 0.35, 0.50], [0.10, 0.30, 0.60], [0.05, 0.25, 0.70]],  # tall
    ]
)

# income goes with schools, tutors and time to learn
SAT = pt.constant(
    [  # by income
        [0.6, 0.3, 0.1],  # low
        [0.3, 0.4, 0.3],  # middle
        [0.1, 0.3, 0.6],  # high
    ]
)


def model() -> pm.Model:
    """Return the network of student.bif."""
    with pm.Model(coords=COORDS) as student:
        income = pm.Categorical("income", p=INCOME)
        gender = pm.Categorical("gender", p=GENDER)
        height = pm.Categorical("height", p=HEIGHT[gender, income])
        pm.Categorical("weight", p=WEIGHT[height, gender])
        pm.Categorical("sat", p=SAT[income])
    return student
