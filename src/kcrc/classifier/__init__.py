"""The scikit-learn face: the classifier, its parameters, saving and receipts."""
