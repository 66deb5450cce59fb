"""``pubench new-method`` and its siblings: a package from a template, and the commands to type next."""
