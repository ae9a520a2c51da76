"""Public text: from a folder, a file or an address to Arrow batches."""
