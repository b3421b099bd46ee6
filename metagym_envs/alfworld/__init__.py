"""ALFWorld: household tasks told in text."""
