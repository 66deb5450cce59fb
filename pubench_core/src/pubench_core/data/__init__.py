"""From arrays on disk to what a method may see: data sets, the PU generator, views."""
