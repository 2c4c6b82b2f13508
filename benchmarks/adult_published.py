"""What Chen and Ohrimenko published on the census income files, for benchmarks/adult.py.

"Protecting Global Properties of Datasets with Distribution Privacy Mechanisms" (AISTATS 2023). Tables are copied;
figures are read off the points of the curves, which lie in the paper as coordinates, at some of their 20 places.
"""

from __future__ import annotations

TABLE_2: dict[str, dict[float, float]] = {
    "ExpM (G)": {0.2: 177.28, 1.0: 34.98, 5.0: 7.11},
    "EigM (G)": {0.2: 175.65, 1.0: 34.87, 5.0: 4.89},
    "DauM (G)": {0.2: 69.85, 1.0: 13.40, 5.0: 1.24},
    "GroupDP (G)": {0.2: 7394.67, 1.0: 1539.93, 5.0: 293.17},
}
"""Mean 2-norm error by epsilon: income, 0.45 against 0.55, delta 0.001."""

TABLE_3: dict[str, dict[tuple[float, float], float]] = {
    "ExpM (G)": {
        (0.2, 1e-4): 0.492,
        (0.2, 1e-3): 0.500,
        (0.2, 1e-2): 0.502,
        (1.0, 1e-4): 0.506,
        (1.0, 1e-3): 0.511,
        (1.0, 1e-2): 0.520,
        (5.0, 1e-4): 0.530,
        (5.0, 1e-3): 0.539,
        (5.0, 1e-2): 0.549,
    },
    "EigM (G)": {
        (0.2, 1e-4): 0.507,
        (0.2, 1e-3): 0.501,
        (0.2, 1e-2): 0.512,
        (1.0, 1e-4): 0.510,
        (1.0, 1e-3): 0.512,
        (1.0, 1e-2): 0.503,
        (5.0, 1e-4): 0.537,
        (5.0, 1e-3): 0.550,
        (5.0, 1e-2): 0.545,
    },
    "DauM (G)": {
        (0.2, 1e-4): 0.517,
        (0.2, 1e-3): 0.508,
        (0.2, 1e-2): 0.511,
        (1.0, 1e-4): 0.548,
        (1.0, 1e-3): 0.545,
        (1.0, 1e-2): 0.562,
        (5.0, 1e-4): 0.714,
        (5.0, 1e-3): 0.739,
        (5.0, 1e-2): 0.744,
    },
}
"""Accuracy of the attack by (epsilon, delta): income, 0.45 against 0.55."""

FIGURE_2_EPSILONS = tuple(10 ** (-1 + 2 * place / 19) for place in (0, 5, 10, 14, 19))

FIGURE_2: dict[str, dict[str, tuple[float, ...]]] = {
    "income": {
        "ExpM (L)": (214.93, 60.41, 18.95, 6.75, 2.09),
        "DirM (L)": (71.80, 22.36, 6.63, 2.65, 0.75),
        "ExpM (G)": (359.40, 102.41, 30.81, 11.74, 3.52),
        "EigM (G)": (354.99, 102.76, 30.66, 10.21, 2.12),
        "DauM (G)": (119.06, 38.74, 11.48, 3.91, 0.02),
    },
    "work class": {
        "ExpM (L)": (40.17, 11.17, 3.46, 1.29, 0.38),
        "DirM (L)": (14.23, 4.07, 1.17, 0.49, 0.15),
        "ExpM (G)": (61.92, 18.39, 5.66, 2.13, 0.63),
        "EigM (G)": (59.67, 16.60, 3.86, 0.80, 0.12),
        "DauM (G)": (22.32, 6.76, 0.02, 0.02, 0.02),
    },
}
"""Mean 2-norm error at FIGURE_2_EPSILONS, delta 0.001: income 0.45 / 0.55, work class 0.48 / 0.52."""

FIGURE_3_GAPS = (0.02, 0.10, 0.20, 0.30, 0.40)

FIGURE_3: dict[str, dict[str, tuple[float, ...]]] = {
    "income": {
        "ExpM (G)": (9.50, 31.99, 69.15, 99.67, 139.01),
        "EigM (G)": (7.46, 32.92, 71.91, 97.55, 137.72),
        "DauM (G)": (2.43, 12.48, 26.91, 39.35, 49.45),
        "DP (G)": (14.96, 14.96, 14.96, 14.96, 14.96),
    },
    "work class": {
        "ExpM (G)": (3.04, 11.97, 23.73, 40.36, 61.28),
        "EigM (G)": (1.59, 10.23, 24.45, 41.43, 58.53),
        "DauM (G)": (0.02, 4.22, 9.21, 16.05, 21.81),
        "DP (G)": (15.01, 15.01, 15.01, 15.01, 15.01),
    },
}
"""Mean 2-norm error at FIGURE_3_GAPS between the two shares, epsilon 1, delta 0.001."""

FIGURE_4_EPSILONS = tuple(10 ** (-1 + 2 * place / 19) for place in (0, 6, 10, 13, 16, 19))

FIGURE_4: dict[str, tuple[float, ...]] = {
    "no defence": (0.749, 0.749, 0.749, 0.749, 0.749, 0.749),
    "ExpM (G)": (0.507, 0.503, 0.518, 0.525, 0.541, 0.594),
    "EigM (G)": (0.506, 0.510, 0.502, 0.524, 0.547, 0.591),
    "DauM (G)": (0.502, 0.515, 0.564, 0.622, 0.729, 0.746),
    "GroupDP (G)": (0.502, 0.504, 0.495, 0.511, 0.502, 0.503),
}
"""Accuracy of the attack at FIGURE_4_EPSILONS, delta 0.001: income, 0.45 against 0.55."""

FIGURE_5: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "mean age": ((40.06, 1.46), (40.71, 1.48)),
    "number female": ((27.87, 18.31), (25.37, 18.03)),
}
"""Mean and variance of fitted normal laws: income, 0.45 and 0.55."""
