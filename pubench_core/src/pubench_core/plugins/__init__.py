"""What plugins say of themselves and how they are found; the events of a run and who listens to them. No torch."""
