"""Records, and the workspace on disk that holds them."""
