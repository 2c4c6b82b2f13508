"""From a table of one's own to a framework, or a framework file, that lacks only what no file can tell."""
