"""Networks read without trust, and run: ONNX files checked by a list of what is allowed, weights without code."""
