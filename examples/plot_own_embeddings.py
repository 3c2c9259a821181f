"""
Embeddings of your own, where you use kNN today
===============================================

Any vectors will do: one row for each example, with a label. The classifier is used like any other in scikit-learn,
so it can replace k nearest neighbours directly, with nothing to tune and evidence for every answer.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from kcrc import KCRCClassifier

X, y = load_digits(return_X_y=True)
embeddings = PCA(24, random_state=0).fit_transform(X)  # yours would come from a network

sizes = (30, 60, 120, 240)
figure, axis = plt.subplots()
for name, clf in {
    "5 nearest neighbours": KNeighborsClassifier(5),
    "1 nearest neighbour": KNeighborsClassifier(1),
    "KCRCClassifier()": KCRCClassifier(tuning_seconds=1, random_state=0),
}.items():
    scores = [
        cross_val_score(clf, embeddings, y, cv=StratifiedShuffleSplit(3, train_size=n, test_size=500, random_state=0))
        for n in sizes
    ]
    axis.errorbar(sizes, 100 * np.mean(scores, axis=1), 100 * np.std(scores, axis=1), fmt="o-", capsize=2, label=name)
axis.set(xlabel="examples", ylabel="% right", xscale="log", xticks=sizes, xticklabels=sizes)
axis.minorticks_off()
axis.legend()
plt.show()
