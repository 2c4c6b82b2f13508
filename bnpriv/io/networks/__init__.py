"""Network files: BIF, XMLBIF, NET."""
