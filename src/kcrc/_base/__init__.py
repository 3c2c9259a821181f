"""What every layer uses: arrays, threads, progress, checks of values, words."""
