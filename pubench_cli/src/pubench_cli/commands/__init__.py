"""The commands as they are typed: arguments, options, help. What they do is in the modules beside this folder.

A module for each group; its ``COMMANDS`` says which there are, with an example of each. Nothing heavy is imported here:
every command imports what it needs when it is called.
"""
