# %% [markdown]
# # The forward pass of a graph convolution
# H' = relu(Â H W), Â = D^-1/2 (A + I) D^-1/2 (Kipf, Welling, ICLR 2017): a sparse product with many columns at once.

# %%
import numpy as np
import scipy.sparse as sp

import tulle

rng = np.random.default_rng(3)
nodes, features, hidden, classes = 5_000, 64, 32, 7
edges = rng.integers(0, nodes, (2, 40_000))
graph = sp.csr_array((np.ones(edges.shape[1], np.float32), (edges[0], edges[1])), shape=(nodes, nodes))
graph = sp.csr_array(((graph + graph.T) > 0).astype(np.float32) + sp.eye_array(nodes, dtype=np.float32))
scale = sp.diags_array((1 / np.sqrt(graph.sum(axis=1))).astype(np.float32))
normalised = sp.csr_array(scale @ graph @ scale)

# %% [markdown]
# An operator that is told how many columns will come may store the matrix for them.

# %%
spread = tulle.operator(normalised, columns=hidden)
print(spread)
weights = [rng.normal(0, 0.2, shape).astype(np.float32) for shape in ((features, hidden), (hidden, classes))]


def forward(h):
    h = np.maximum(spread @ (h @ weights[0]), 0)
    return spread @ (h @ weights[1])


scores = forward(rng.normal(size=(nodes, features)).astype(np.float32))
print(scores.shape, scores.dtype)

# %%
# The same by SciPy, within the rounding of two layers of float32.
h = rng.normal(size=(nodes, features)).astype(np.float32)
expected = normalised @ (np.maximum(normalised @ (h @ weights[0]), 0) @ weights[1])
size = abs(normalised) @ (np.maximum(abs(normalised) @ (abs(h) @ abs(weights[0])), 0) @ abs(weights[1]))
longest = int(np.diff(normalised.indptr).max())
assert np.all(np.abs(forward(h) - expected) <= 2 * (2 * longest + features + hidden + 8) * 2.0**-24 * size)
