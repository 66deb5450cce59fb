"""``pubench site``: a leaderboard of finished runs as pages that need no server. Nothing is trained.

``sources`` reads records and files of rows, ``protocols`` groups runs into tables, ``pages`` writes HTML with the
report's looks, ``write`` puts everything in place.
"""
