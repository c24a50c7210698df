# %% [markdown]
# # A wave through a sheet of heart muscle
# The monodomain equation with FitzHugh and Nagumo's cell (Biophys. J. 1, 1961): v' = D Δv + v (v - a) (1 - v) - w,
# w' = ε (v - γ w). Diffusion is implicit: one system (I + dt D K) v = ... a step, the same matrix every time. `examples/cardiac`
# has the left ventricle in C++.

# %%
import numpy as np
import scipy.sparse as sp

import tulle

n, h, dt, diffusion = 80, 0.5, 0.5, 0.6
threshold, recovery, gamma = 0.13, 0.004, 1.0
one = sp.diags_array([-np.ones(n - 1), np.r_[1, 2 * np.ones(n - 2), 1], -np.ones(n - 1)], offsets=[-1, 0, 1]) / h**2
stiffness = sp.kron(one, sp.eye_array(n)) + sp.kron(sp.eye_array(n), one)  # no flow through the edge
step = tulle.solver(sp.csr_array(sp.eye_array(n * n) + dt * diffusion * stiffness), rtol=1e-8, history=False)
print(step.explain())

# %% [markdown]
# A stimulus at the left edge; a cell is activated when v first passes one half.

# %%
v, w = np.zeros((n, n)), np.zeros((n, n))
v[:, :5] = 1
activated = np.full((n, n), np.nan)
iterations = 0
for k in range(400):
    reaction = v * (v - threshold) * (1 - v) - w
    w += dt * recovery * (v - gamma * w)
    new, info = step.solve((v + dt * reaction).ravel(), v.ravel())  # from the step before
    v = new.reshape(n, n)
    iterations += info.iterations
    activated[np.isnan(activated) & (v > 0.5)] = k * dt
    if not np.isnan(activated).any():
        break
print(f"{k + 1} steps, {iterations / (k + 1):.1f} iterations each, the wave crossed the sheet by t = {np.nanmax(activated):.0f}")

# %%
# A plane wave: every row alike, and columns one after another.
assert not np.isnan(activated).any()
assert np.ptp(activated, axis=0).max() <= 2 * dt
assert np.all(np.diff(activated[n // 2]) >= 0)
