"""From the bytes of a picture to pixels, within limits."""
