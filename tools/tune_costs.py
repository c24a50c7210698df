"""Costs of terms by least squares of relative errors, none below 0: what every part of tools/tune fits."""
import math


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def fit(samples, rounds=3, sweeps=400):
    """Costs c, so that sum(c_i t_i) is near the time, for samples (terms t, time). Relative errors above 0.3 count less, so that
    a few matrices that no term describes do not decide (Huber: Robust Estimation of a Location Parameter, 1964)."""
    terms = len(samples[0][0])
    scaled = [[t / time for t in of] for of, time in samples]
    costs, weights = [0.0] * terms, [1.0] * len(samples)
    for _ in range(rounds):
        gram = [[sum(w * s[i] * s[j] for w, s in zip(weights, scaled)) for j in range(terms)] for i in range(terms)]
        right = [sum(w * s[i] for w, s in zip(weights, scaled)) for i in range(terms)]
        for _ in range(sweeps):  # one cost after the other: converges for a convex quadratic with bounds
            for i in range(terms):
                if gram[i][i] > 0:
                    rest = right[i] - sum(gram[i][j] * costs[j] for j in range(terms) if j != i)
                    costs[i] = max(0.0, rest / gram[i][i])
        errors = [abs(1 - sum(c * t for c, t in zip(costs, s))) for s in scaled]
        weights = [min(1.0, 0.3 / max(e, 1e-9)) for e in errors]
    return costs


def leave_one_out(families, fit_on, regret_of):
    """{family: regrets} of each family by what was fitted on all others."""
    return {left: regret_of(fit_on([f for f in families if f != left]), left) for left in families}
