"""Private tables: the numbers of records in some classes are hidden, and a whole table is handed on."""
