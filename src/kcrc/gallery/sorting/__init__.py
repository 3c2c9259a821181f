"""Images into class folders by what a gallery answers: nothing overwritten, everything written down, all taken back."""
