"""
What if these examples were not there?
======================================

An answer names the examples that decided it. Take the strongest one away, then the strongest of those that are left,
and so on: the answer is worked out again each time, without fitting anything. Here the answer hangs on four of 600
examples: without them, more than half of the evidence speaks for another digit.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from kcrc import KCRCClassifier

plt.style.use("kcrc.files.style")
X, y = load_digits(return_X_y=True)
clf = KCRCClassifier(
    n_neighbors=15, scaling="unit", kernel="linear", mu=0.3, form="rkhs", decision="residual", locality="atoms"
).fit(X[:600], y[:600])
query = X[700][None]

gone, steps = [], []
for _ in range(5):
    evidence = clf.what_if(query, without=gone)
    steps.append((evidence.labels[0], evidence.support[0]))
    gone.append(int(evidence.rows[0, evidence.shares[0].argmax()]))

first, other = steps[0][0], steps[-1][0]
course = [100 * (support if label == first else 1 - support) for label, support in steps]
titles = ["the query", f"without this {y[gone[0]]}", *(f"nor this {y[row]}" for row in gone[1:])]
figure, axes = plt.subplot_mosaic([list("abcde"), ["course"] * 5], height_ratios=[1, 1.4])
for name, picture, title in zip("abcde", [query, *X[gone]], titles, strict=False):
    axes[name].imshow(picture.reshape(8, 8))
    axes[name].set_title(title)
    axes[name].axis("off")
below = axes["course"]
below.plot(course, "o-")
below.axhspan(40, 50, color="C1", alpha=0.2)
below.text(-0.4, 48.5, f"below half: a {other}", va="top")
below.text(-0.4, 63.5, f"above half: a {first}", va="top")
below.set(xlim=(-0.5, 4.5), ylim=(40, 65), xticks=[], ylabel=f"evidence for a {first}, %")
plt.show()
