"""What a model's scores say without one known negative: the report card, class priors, and sheets of rows to check.

``rows`` reads scores and labels; ``beliefs`` says what is taken of prior and purity; ``cutting``, ``resampling``,
``measuring`` and ``paired`` compute; ``evaluation``, ``prior_estimates`` and ``audit`` are what is called, and ``card``
is how the first two look as HTML.
"""
