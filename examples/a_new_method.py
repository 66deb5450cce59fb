"""A method of your own, from nothing to a comparison with nnPU.

    python examples/a_new_method.py        # makes the package my-idea/ here, and says how to install it
    python examples/a_new_method.py        # once it is installed: compares it with nnPU

Between the two, and ever after, the idea goes into my-idea/src/pubench_my_idea/method.py: about 40 lines that work as
they are, with comments that say what to replace. The package is yours; nothing of pubench is edited.
"""

import subprocess
import sys

import pubench

KEY = "my-idea"

if KEY not in [method.key for method in pubench.list_methods()]:
    # `pubench new-method my-idea` in a shell. It ends by printing the commands that install it, run it and check it.
    sys.exit(subprocess.run(["pubench", "new-method", KEY], check=False).returncode)

# An edited method has other code, so its stored runs do not answer any more and it is run again; nnPU is not.
results = pubench.compare(
    [KEY, "nnpu"],
    data=["digits", "breast-cancer"],
    seeds=3,
    c=0.1,
    config={"epochs": 10},
    tracking=False,
)
print(results.table())
print()
print(results.significance(reference="nnpu"))
