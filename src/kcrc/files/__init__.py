"""What the library writes and reads: arrays, archives, parts of a classifier under names of their own."""
