"""
No vectors at all: a kernel between texts
=========================================

Things that are not vectors can be classified too, if they can be compared. Pass the comparisons as a matrix. Here, two
words are compared by how many pairs of adjacent letters they share. The same works for graphs, sequences, or anything
else with a kernel.
"""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

from kcrc import KCRCClassifier

plt.style.use("kcrc.files.style")
words = {
    "birds": "sparrow blackbird goldfinch kingfisher woodpecker swallow nightingale thrush starling bullfinch",
    "trees": "hawthorn blackthorn hornbeam sycamore hazel rowan elder juniper chestnut walnut",
    "fish": "swordfish catfish goldfish dogfish sturgeon stickleback codfish monkfish haddock mackerel",
}
texts = [word for line in words.values() for word in line.split()]
labels = np.repeat(list(words), 10)
new = ["finch", "bluebird", "blackfish", "crayfish", "beech hawthorn", "walnut tree"]


def pairs(text):
    return Counter(a + b for a, b in zip(f" {text} ", f"{text} ", strict=False))


def shared(a, b):
    return sum((pairs(a) & pairs(b)).values())


def kernel(ours, others):
    """1 for a word with itself."""
    return np.array([[shared(a, b) / np.sqrt(shared(a, a) * shared(b, b)) for b in others] for a in ours])


clf = KCRCClassifier(kernel="precomputed", n_neighbors=8, mu=1.0).fit(kernel(texts, texts), labels)
rows = kernel(new, texts)
answers, evidence = clf.predict(rows), clf.explain(rows)

figure, axis = plt.subplots(figsize=(8, 3))
share = np.zeros((len(new), len(texts)))
for i in range(len(new)):
    real = evidence.rows[i] >= 0
    share[i, evidence.rows[i][real]] = evidence.shares[i][real]
axis.imshow(share, cmap="RdBu", vmin=-0.4, vmax=0.4, aspect="auto")
axis.set_xticks(range(len(texts)), texts, rotation=90, fontsize=6)
axis.set_yticks(range(len(new)), [f"{word}: {answer}" for word, answer in zip(new, answers, strict=True)])
axis.set_title("Which words decided: blue for the answer, red against it")
plt.show()
