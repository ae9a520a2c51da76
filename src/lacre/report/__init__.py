"""Pages for people: self-contained HTML, the same bytes for the same records."""
