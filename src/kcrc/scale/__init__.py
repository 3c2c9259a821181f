"""Beyond one process: engines that spread work and indexes that search, each made by others."""
