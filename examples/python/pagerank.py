# %% [markdown]
# # PageRank
# The ranks of pages are the fixed point of r = d (P^T r + dangling / n) + (1 - d) / n (Page, Brin, Motwani, Winograd, 1999):
# one sparse product an iteration, by an operator that is made once.

# %%
import numpy as np
import scipy.sparse as sp

import tulle

rng = np.random.default_rng(7)
n, links = 20_000, 200_000
# A web in which few pages are linked to by many.
targets = (n * rng.random(links) ** 3).astype(np.int64)
web = sp.csr_array((np.ones(links), (rng.integers(0, n, links), targets)), shape=(n, n))
web.sum_duplicates()
tulle.info(web)

# %% [markdown]
# Every page divides its rank among its links; pages without links give it to all.

# %%
out = web.sum(axis=1)
transition = sp.csr_array(sp.diags_array(np.divide(1.0, out, out=np.zeros(n), where=out > 0)) @ web)
step = tulle.operator(transition.T.tocsr())
print(step.explain())

# %%
damping = 0.85
ranks = np.full(n, 1 / n)
for iteration in range(200):
    following = damping * (step @ ranks + ranks[out == 0].sum() / n) + (1 - damping) / n
    change = np.abs(following - ranks).sum()
    ranks = following
    if change < 1e-12:
        break
print(f"{iteration + 1} iterations, the ten first pages: {np.argsort(-ranks)[:10]}")

# %%
# What must hold: ranks are a distribution, and a fixed point up to what the last change was.
assert abs(ranks.sum() - 1) < 1e-9
assert change < 1e-12
