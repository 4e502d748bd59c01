"""Files and data sets to encoded rows, and rows to batches."""
