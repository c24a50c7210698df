"""Costs of terms by least squares of relative errors, none below 0: what every part of tools/tune fits."""
import math


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def solve(matrix, right):
    """Gauss with pivots; None where it is singular."""
    n = len(right)
    rows = [list(matrix[i]) + [right[i]] for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        if abs(rows[pivot][i]) < 1e-12:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, n):
            f = rows[r][i] / rows[i][i]
            if f:
                rows[r] = [a - f * b for a, b in zip(rows[r], rows[i])]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum(rows[i][j] * x[j] for j in range(i + 1, n))) / rows[i][i]
    return x


def non_negative(gram, right):
    """x >= 0 that minimises x'Gx - 2 b'x (Lawson and Hanson, 1974, chapter 23)."""
    n = len(right)
    scale = [1 / math.sqrt(gram[i][i]) if gram[i][i] > 0 else 0 for i in range(n)]
    g = [[gram[i][j] * scale[i] * scale[j] for j in range(n)] for i in range(n)]
    b = [right[i] * scale[i] for i in range(n)]
    x, used, tried = [0.0] * n, [], set()
    for _ in range(10 * n):
        slope = [b[i] - sum(g[i][j] * x[j] for j in used) for i in range(n)]
        free = [i for i in range(n) if i not in used and i not in tried and slope[i] > 1e-9 and scale[i] > 0]
        if not free:
            break
        new = max(free, key=lambda i: slope[i])
        used.append(new)
        while used:
            best = solve([[g[i][j] + (1e-9 if i == j else 0) for j in used] for i in used], [b[i] for i in used])
            if best is None or (best[-1] <= 0 and used[-1] == new and x[new] == 0):
                used.remove(new)
                tried.add(new)
                break
            if min(best) > 0:
                for i, v in zip(used, best):
                    x[i] = v
                tried.clear()
                break
            step = min(x[i] / (x[i] - v) for i, v in zip(used, best) if v <= 0)
            for i, v in zip(used, best):
                x[i] += step * (v - x[i])
            for i in [i for i in used if x[i] < 1e-12]:
                x[i] = 0.0
                used.remove(i)
    return [v * s for v, s in zip(x, scale)]


def fit(samples, rounds=3):
    """Costs c, so that sum(c_i t_i) is near the time, for samples (terms t, time). Relative errors above 0.6 count less, so that
    a few matrices that no term describes do not decide (Huber: Robust Estimation of a Location Parameter, 1964)."""
    terms = len(samples[0][0])
    scaled = [[t / time for t in of] for of, time in samples]
    weights = [1.0] * len(samples)
    for _ in range(rounds):
        gram = [[sum(w * s[i] * s[j] for w, s in zip(weights, scaled)) for j in range(terms)] for i in range(terms)]
        right = [sum(w * s[i] for w, s in zip(weights, scaled)) for i in range(terms)]
        costs = non_negative(gram, right)
        errors = [abs(1 - sum(c * t for c, t in zip(costs, s))) for s in scaled]
        weights = [min(1.0, 0.6 / max(e, 1e-9)) for e in errors]
    return costs


def leave_one_out(families, fit_on, regret_of):
    """{family: regrets} of each family by what was fitted on all others."""
    return {left: regret_of(fit_on([f for f in families if f != left]), left) for left in families}
