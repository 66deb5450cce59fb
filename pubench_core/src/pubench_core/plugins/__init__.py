"""Info records of plugins and how they are found; the events of a run and who listens to them. No torch."""
