"""
Embeddings of your own, where you use kNN today
===============================================

Any matrix of embeddings will do, of pictures, texts, sounds or customers: one row of numbers for each example, and its
label. The classifier takes the place of k nearest neighbours, with nothing to tune and evidence for every answer. Here
a small network, trained on the digits 0 to 4 alone, makes embeddings of the digits 5 to 9, which it has never seen; 50
examples are drawn ten times. The map (t-SNE, for the eye alone) shows one draw, and in circles queries that the five
nearest get wrong. Lines lead to the examples that decided the right answer, the thicker the larger their shares.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier

from kcrc import KCRCClassifier

plt.style.use("kcrc.files.style")
images, digits = load_digits(return_X_y=True)
network = MLPClassifier([128], random_state=0).fit(images[digits < 5], digits[digits < 5])
pictures, y = images[digits >= 5], digits[digits >= 5]
X = np.maximum(pictures @ network.coefs_[0] + network.intercepts_[0], 0)  # (896, 128): put your own here

rivals = {
    "KCRCClassifier()": KCRCClassifier(),
    "1 nearest": KNeighborsClassifier(1),
    "5 nearest": KNeighborsClassifier(),
}
draws = StratifiedShuffleSplit(10, train_size=50, random_state=0)
right = {name: cross_val_score(clf, X, y, cv=draws).mean() for name, clf in rivals.items()}

known, asked = next(draws.split(X, y))
ours, five = (rivals[name].fit(X[known], y[known]) for name in ("KCRCClassifier()", "5 nearest"))
mended = asked[(ours.predict(X[asked]) == y[asked]) & (five.predict(X[asked]) != y[asked])][:6]
evidence = ours.explain(X[mended])
shown = [*known, *mended]
places = TSNE(perplexity=15, random_state=0).fit_transform(X[shown])
places = (places - places.min(axis=0)) / np.ptp(places, axis=0)

figure, axis = plt.subplots(figsize=(8, 4.6))
for row, (x, height) in zip(shown, places, strict=True):
    ink = np.full((8, 8, 4), plt.get_cmap("Dark2")(y[row] - 5))
    ink[..., 3] = pictures[row].reshape(8, 8) / 16
    axis.imshow(ink, extent=(x - 0.025, x + 0.025, height - 0.05, height + 0.05), aspect="auto", zorder=2)
for query, rows, shares in zip(places[50:], evidence.rows, evidence.shares, strict=True):
    axis.plot(*query, "o", color="0.3", markersize=32, fillstyle="none", zorder=3)
    much = (rows >= 0) & (shares > 0.03)
    for example, share in zip(places[rows[much]], shares[much], strict=True):
        axis.plot(*np.transpose([query, example]), color="0.3", linewidth=16 * share, alpha=0.4, zorder=1)
axis.set_title(", ".join(f"{name}: {share:.1%} right" for name, share in right.items()))
axis.set(xlim=(-0.05, 1.05), ylim=(-0.1, 1.1))
axis.axis("off")
plt.show()
