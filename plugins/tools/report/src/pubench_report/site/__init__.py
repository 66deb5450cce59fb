"""``pubench site``: a leaderboard of finished runs as pages that need no server. Nothing is trained.

``sources`` has the request, and reads records and files of rows; ``pages`` groups runs into tables and gives them to
the templates of ``pubench_report.pages``; ``write`` puts everything in place.
"""
