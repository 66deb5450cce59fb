"""Studies: which runs a file describes, the frozen plan of them, who carries them out, what became of them."""
