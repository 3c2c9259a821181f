"""
It chooses how to look
======================

You need not say whether outlines, textures or plain pixels tell these pictures apart. Each way of looking at them, or
*look*, is tested on the same examples, leaving out one at a time. The best looks, alone or combined, then give the
answers.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from kcrc import ImageClassifier

plt.style.use("kcrc.files.style")
digits = load_digits()
images, y = digits.images[:120], digits.target[:120]
clf = ImageClassifier(tuning_seconds=3, random_state=0).fit(images / 16, y)
print(clf.choice_)

tried = sorted((score for score in clf.choice_.scores if score.asked), key=lambda score: score.accuracy)
figure, axis = plt.subplots(figsize=(8, 3.6))
colours = ["C1" if score.name in clf.choice_.weights else "C0" for score in tried]
axis.barh([score.name for score in tried], [100 * score.accuracy for score in tried], color=colours)
axis.set(xlim=(80, 100), xlabel="% answered right when left out (orange: chosen)")
plt.show()
