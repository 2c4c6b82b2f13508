"""What a report shows, one file a section; each takes an analysis and returns parts of a document."""
