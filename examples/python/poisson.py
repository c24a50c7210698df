# %% [markdown]
# # Poisson's equation
# -Δu = f on the unit square, u = 0 around it, by second-order differences and conjugate gradients.

# %%
import numpy as np
import scipy.sparse as sp

import tulle

n = 120
h = 1 / (n + 1)
second = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1]) / h**2
laplacian = sp.csr_array(sp.kron(second, sp.eye_array(n)) + sp.kron(sp.eye_array(n), second))

# %% [markdown]
# A right-hand side whose solution is known: u = sin(πx) sin(2πy).

# %%
x = np.linspace(h, 1 - h, n)
exact = np.outer(np.sin(np.pi * x), np.sin(2 * np.pi * x))
f = 5 * np.pi**2 * exact
u, info = tulle.solve(laplacian, f.ravel(), rtol=1e-10)
info

# %%
# The difference is that of the discretisation: about h² times the fourth derivatives / 12.
error = np.abs(u.reshape(n, n) - exact).max()
print(f"{info.iterations} iterations, error {error:.2e}, h² = {h * h:.2e}")
assert info.converged and error < 17 * np.pi**2 / (5 * 12) * h**2 * 1.01

# %% [markdown]
# The same with SciPy's call, and from another right-hand side: `tulle.solver` keeps what was learnt.

# %%
again, code = tulle.linalg.cg(laplacian, f.ravel(), rtol=1e-10)
assert code == 0
system = tulle.solver(laplacian, rtol=1e-8)
for _ in range(3):
    _, info = system.solve(np.random.default_rng(1).uniform(-1, 1, n * n))
    assert info.converged
