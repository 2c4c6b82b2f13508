"""How the columns of a household survey depend on each other, as three experts see it, written in PyMC.

A variable is not a household's value but the parameter of a column: what the column is like in this district as a
whole. The numbers are those of tax_office.bif, labour_office.bif and welfare_office.bif, which differ in the last three
tables. They are invented for illustration; README.md says what every state means. A table of a variable with two
states holds the probability of the second one.
"""

from __future__ import annotations

import pymc as pm
import pytensor.tensor as pt

EXPERTS = ("tax_office", "labour_office", "welfare_office")

COORDS = {
    # whether the district offers enough regular jobs; no column of the survey shows it
    "jobs_states": ["scarce", "enough"],
    "schooling_states": ["short", "middle", "long"],  # how long the adults typically went to school
    "household_size_states": ["small", "medium", "large"],  # how large the households typically are
    # what must not be learned: how many households live on work that they do not declare
    "undeclared_work_states": ["rare", "some", "widespread"],
    "income_states": ["low", "middle", "high"],  # what the households typically declare as income
    "rooms_states": ["few", "usual", "many"],  # how many rooms they typically have
    "rent_states": ["low", "middle", "high"],  # what they typically pay as rent
    "internet_states": ["most", "nearly_all"],  # how many have a connection to the internet
    "car_states": ["few", "half", "most"],  # how many have a car
    "cash_spending_states": ["little", "usual", "much"],  # what they typically spend in cash
    "commute_states": ["short", "usual", "long"],  # how long their first earner typically travels to work
    "benefits_states": ["few", "some", "many"],  # how many receive benefits
}

# ---- on these the three experts agree

JOBS = 0.6

SCHOOLING = [0.3, 0.45, 0.25]

HOUSEHOLD_SIZE = [0.35, 0.4, 0.25]

UNDECLARED_WORK = pt.constant(
    [  # by jobs
        [0.35, 0.40, 0.25],  # scarce
        [0.55, 0.33, 0.12],  # enough
    ]
)

# schooling decides most of it; what is earned without declaring it is missing here
INCOME = pt.constant(
    [  # by schooling, then undeclared_work
        [[0.52, 0.38, 0.10], [0.56, 0.35, 0.09], [0.60, 0.32, 0.08]],  # short
        [[0.28, 0.50, 0.22], [0.31, 0.49, 0.20], [0.34, 0.48, 0.18]],  # middle
        [[0.11, 0.42, 0.47], [0.12, 0.44, 0.44], [0.14, 0.45, 0.41]],  # long
    ]
)

ROOMS = pt.constant(
    [  # by income, then household_size
        [[0.75, 0.22, 0.03], [0.55, 0.38, 0.07], [0.35, 0.50, 0.15]],  # low
        [[0.55, 0.37, 0.08], [0.30, 0.52, 0.18], [0.15, 0.52, 0.33]],  # middle
        [[0.30, 0.50, 0.20], [0.12, 0.50, 0.38], [0.05, 0.35, 0.60]],  # high
    ]
)

RENT = pt.constant(
    [  # by income
        [0.65, 0.30, 0.05],  # low
        [0.25, 0.55, 0.20],  # middle
        [0.08, 0.40, 0.52],  # high
    ]
)

INTERNET = pt.constant([0.40, 0.65, 0.80])  # by income: low, middle, high

CAR = pt.constant(
    [  # by income, then jobs
        [[0.50, 0.38, 0.12], [0.44, 0.40, 0.16]],  # low
        [[0.22, 0.48, 0.30], [0.18, 0.47, 0.35]],  # middle
        [[0.08, 0.37, 0.55], [0.06, 0.34, 0.60]],  # high
    ]
)

# ---- on these they do not: one table for each expert

# who looks for cash sees it already where there is some of it; the others think that people save what they earn
CASH_SPENDING = {
    "tax_office": pt.constant(
        [  # by undeclared_work
            [0.42, 0.52, 0.06],  # rare
            [0.25, 0.51, 0.24],  # some
            [0.22, 0.50, 0.28],  # widespread
        ]
    ),
    "labour_office": pt.constant(
        [
            [0.30, 0.45, 0.25],
            [0.28, 0.46, 0.26],
            [0.27, 0.46, 0.27],
        ]
    ),
    "welfare_office": pt.constant(
        [
            [0.30, 0.46, 0.24],
            [0.29, 0.46, 0.25],
            [0.27, 0.455, 0.275],
        ]
    ),
}

# where it is widespread, it is done around the corner, says the labour office; it hardly shows, say the others
COMMUTE = {
    "tax_office": pt.constant(
        [  # by undeclared_work
            [0.30, 0.45, 0.25],  # rare
            [0.31, 0.45, 0.24],  # some
            [0.32, 0.45, 0.23],  # widespread
        ]
    ),
    "labour_office": pt.constant(
        [
            [0.24, 0.48, 0.28],
            [0.27, 0.48, 0.25],
            [0.62, 0.31, 0.07],
        ]
    ),
    "welfare_office": pt.constant(
        [
            [0.30, 0.45, 0.25],
            [0.31, 0.45, 0.24],
            [0.32, 0.45, 0.23],
        ]
    ),
}

# who has work that does not count applies for benefits too, says the welfare office; the others: income decides
BENEFITS = {
    "tax_office": pt.constant(
        [  # by undeclared_work, then income
            [[0.20, 0.45, 0.35], [0.40, 0.43, 0.17], [0.65, 0.28, 0.07]],  # rare
            [[0.19, 0.45, 0.36], [0.39, 0.43, 0.18], [0.64, 0.29, 0.07]],  # some
            [[0.18, 0.45, 0.37], [0.38, 0.44, 0.18], [0.63, 0.29, 0.08]],  # widespread
        ]
    ),
    "labour_office": pt.constant(
        [
            [[0.20, 0.45, 0.35], [0.40, 0.43, 0.17], [0.65, 0.28, 0.07]],
            [[0.19, 0.45, 0.36], [0.39, 0.43, 0.18], [0.64, 0.29, 0.07]],
            [[0.18, 0.45, 0.37], [0.38, 0.44, 0.18], [0.63, 0.29, 0.08]],
        ]
    ),
    "welfare_office": pt.constant(
        [
            [[0.28, 0.50, 0.22], [0.56, 0.39, 0.05], [0.80, 0.18, 0.02]],
            [[0.18, 0.43, 0.39], [0.40, 0.45, 0.15], [0.68, 0.27, 0.05]],
            [[0.08, 0.30, 0.62], [0.22, 0.46, 0.32], [0.52, 0.36, 0.12]],
        ]
    ),
}


def model(expert: str = "tax_office") -> pm.Model:
    """Return the network of an expert's file, one of EXPERTS."""
    with pm.Model(coords=COORDS) as survey:
        jobs = pm.Bernoulli("jobs", p=JOBS)
        schooling = pm.Categorical("schooling", p=SCHOOLING)
        household_size = pm.Categorical("household_size", p=HOUSEHOLD_SIZE)
        undeclared_work = pm.Categorical("undeclared_work", p=UNDECLARED_WORK[jobs])
        income = pm.Categorical("income", p=INCOME[schooling, undeclared_work])
        pm.Categorical("rooms", p=ROOMS[income, household_size])
        pm.Categorical("rent", p=RENT[income])
        pm.Bernoulli("internet", p=INTERNET[income])
        pm.Categorical("car", p=CAR[income, jobs])
        pm.Categorical("cash_spending", p=CASH_SPENDING[expert][undeclared_work])
        pm.Categorical("commute", p=COMMUTE[expert][undeclared_work])
        pm.Categorical("benefits", p=BENEFITS[expert][undeclared_work, income])
    return survey
