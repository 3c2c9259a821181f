"""
What if these examples were not there?
======================================

An answer names the examples that decided it. Take the strongest one away, then the strongest of those that are left,
and so on: the answer is worked out again each time, without fitting anything. Here four of 600 examples hold up an
answer that looked sure.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from kcrc import KCRCClassifier

plt.style.use("kcrc.style")
X, y = load_digits(return_X_y=True)
clf = KCRCClassifier(
    n_neighbors=15, metric="unit", kernel="linear", mu=0.3, form="rkhs", decision="residual", locality="atoms"
).fit(X[:600], y[:600])
query = X[700][None]

gone, steps = [], []
for _ in range(5):
    evidence = clf.what_if(query, without=gone)
    steps.append((evidence.labels[0], evidence.support[0]))
    gone.append(int(evidence.rows[0, evidence.shares[0].argmax()]))

first, other = steps[0][0], steps[-1][0]
pictures = [query, *X[gone]]
titles = ["the query", f"without this {y[gone[0]]}", *(f"and this {y[row]}" for row in gone[1:])]
figure, axes = plt.subplots(2, 5, sharey="row", height_ratios=[1, 1.4])
for (above, below), picture, title, (label, support) in zip(axes.T, pictures, titles, steps, strict=False):
    above.imshow(picture.reshape(8, 8))
    above.set_title(title)
    above.axis("off")
    shares = [support, 1 - support] if label == first else [1 - support, support]
    bars = below.bar([f"a {first}?", f"a {other}?"], [100 * share for share in shares], color=["C0", "C1"])
    below.bar_label(bars, fmt="%.0f %%")
axes[1, 0].set(ylim=(0, 110), yticks=(0, 50, 100), ylabel="evidence, %")
plt.show()
