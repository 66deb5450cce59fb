"""``pubench data show``: a picture of a data set, of who is labeled in it and who is hidden."""
