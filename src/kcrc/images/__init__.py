"""From pictures to answers: decoding, features, looks and the classifier of images."""
