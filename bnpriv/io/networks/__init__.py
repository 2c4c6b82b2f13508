"""Network files: BIF, XMLBIF, NET, UAI."""
