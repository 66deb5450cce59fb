"""The commands as they are typed: arguments, options, help. What they do is in the modules next to this folder.

:data:`COMMANDS` describes them; nothing else is imported before one is called.
"""

from __future__ import annotations

from pubench_core import CommandInfo, hookimpl

COMMANDS = [
    CommandInfo(
        path="list",
        load="pubench_cli.commands.plugins:list_",
        help="List installed plugins, broken ones included, without importing them.",
        example="pubench list methods --format json",
    ),
    CommandInfo(
        path="info",
        load="pubench_cli.commands.plugins:info",
        help="Say everything about one plugin: reference, hyper-parameters with bounds, presets, provenance.",
        example="pubench info nnpu",
    ),
    CommandInfo(
        path="doctor",
        load="pubench_cli.commands.plugins:doctor",
        help="Check the installation, or one plugin (with its traceback if it is broken, and exit code 1).",
        example="pubench doctor nnpu",
    ),
    CommandInfo(
        path="check",
        load="pubench_cli.commands.plugins:check",
        help="Put a method through every conformance check. Exit code 1 if one fails.",
        example="pubench check nnpu",
    ),
    CommandInfo(
        path="run",
        load="pubench_cli.commands.runs:run",
        help="Run one method on one data set under one labeling, and print what it reached under every criterion.",
        example="pubench run --method nnpu --data digits --mech scar --c 0.1 --seed 2 --select pa",
    ),
    CommandInfo(
        path="compare-methods",
        load="pubench_cli.commands.runs:compare_methods",
        help="Run several methods on several data sets and seeds, and say which differences are more than chance.",
        example="pubench compare-methods my-method nnpu vpu --data digits,breast-cancer --seeds 3",
    ),
    CommandInfo(
        path="predict",
        load="pubench_cli.commands.runs:predict",
        help="Score new rows with the model that a run kept (--save-model): row and ids, score, rank, decision.",
        example="pubench predict 783e61fad537fd47 new.csv > predictions.csv",
    ),
    CommandInfo(
        path="scores",
        load="pubench_cli.commands.runs:scores",
        help="Draw histograms of a record's scores: labeled positives, unlabeled positives, negatives, on every part.",
        example="pubench scores 783e61fad537fd47 --out scores.png",
    ),
    CommandInfo(
        path="reproduce",
        load="pubench_cli.commands.runs:reproduce",
        help="Run a record's spec again and say whether the scores are the same to the last bit; if not, what differs.",
        example="pubench reproduce 783e61fad537fd47 --results results",
    ),
    CommandInfo(
        path="evaluate",
        load="pubench_cli.commands.scored:evaluate",
        help="Say what scores are worth without a single negative: measures, intervals, and what each assumes.",
        example="pubench evaluate scores.csv --label-col labeled --prior 0.2..0.4 --budget 200",
    ),
    CommandInfo(
        path="audit",
        load="pubench_cli.commands.scored:audit",
        help="Draw the rows that a person should check, or say what the answers mean for prior, precision, recall "
        "and SCAR.",
        example="pubench audit scores.csv --label-col labeled --ids id --n 60",
    ),
    CommandInfo(
        path="prior",
        load="pubench_cli.commands.scored:prior",
        help="Estimate the class prior of a table: a range by the trusted estimators, and each estimator's, side "
        "by side.",
        example="pubench prior my.csv --label-col labeled --estimators bbe,dedpul",
    ),
    CommandInfo(
        path="tune",
        load="pubench_cli.commands.tuning:tune",
        help="Search hyper-parameters without negatives: by a criterion on validation rows, with Optuna.",
        example="pubench tune nnpu --data digits --criterion pa --trials 50 --out best.yaml",
    ),
    CommandInfo(
        path="site",
        load="pubench_cli.commands.site:site",
        help="Write a leaderboard that opens from disk: tables, a page per method and data set, the records behind "
        "them.",
        example="pubench site results --out site",
    ),
    CommandInfo(
        path="verify",
        load="pubench_cli.commands.site:verify",
        help="Check records that others made: files, specs, code, measures from stored scores; run some of them again.",
        example="pubench verify results --rerun 2",
    ),
    CommandInfo(
        path="track",
        load="pubench_cli.commands.tracking:track",
        help="Send to MLflow every record that it lacks, each exactly once.",
        example="pubench track --results results",
    ),
    CommandInfo(
        path="ui",
        load="pubench_cli.commands.tracking:ui",
        help="Open MLflow's page on the results, on this machine only.",
        example="pubench ui --results results",
    ),
    CommandInfo(
        path="new-method",
        load="pubench_cli.commands.new:new_method",
        help="Make a package with a method that works, its tests, and comments that say what to replace.",
        example="pubench new-method my-method --family disambiguation",
    ),
    CommandInfo(
        path="new-dataset",
        load="pubench_cli.commands.new:new_dataset",
        help="Make a package with a data set that works, its tests, and comments that say what to replace.",
        example="pubench new-dataset my-data --path packages",
    ),
    CommandInfo(
        path="new-mechanism",
        load="pubench_cli.commands.new:new_mechanism",
        help="Make a package with a labeling mechanism that works, its tests, and comments that say what to replace.",
        example="pubench new-mechanism my-mechanism",
    ),
    CommandInfo(
        path="new-metric",
        load="pubench_cli.commands.new:new_metric",
        help="Make a package with a metric that works, its tests, and comments that say what to replace.",
        example="pubench new-metric my-metric",
    ),
    CommandInfo(
        path="data",
        help="List, fetch, check, draw and remove data sets.",
    ),
    CommandInfo(
        path="data list",
        load="pubench_cli.commands.data:list_",
        help="What is here of every data set: state, size, rows, classes, prior, license (citations: pubench data "
        "info).",
        example="pubench data list",
    ),
    CommandInfo(
        path="data info",
        load="pubench_cli.commands.data:info",
        help="Everything about one data set, or what is understood of a table of your own (my.csv --label-col COLUMN).",
        example="pubench data info letter",
    ),
    CommandInfo(
        path="data check",
        load="pubench_cli.commands.data:check",
        help="Say what is understood of a table of your own, before anything is trained: labels, features, ids, "
        "oddities.",
        example="pubench data check my.csv --label-col labeled",
    ),
    CommandInfo(
        path="data fetch",
        load="pubench_cli.commands.data:fetch",
        help="Download what is absent and prepare the copy that runs open.",
        example="pubench data fetch fashion-mnist",
    ),
    CommandInfo(
        path="data verify",
        load="pubench_cli.commands.data:verify",
        help="Read every byte of prepared copies and their sources, and compare checksums. Exit code 1 if one differs.",
        example="pubench data verify fashion-mnist",
    ),
    CommandInfo(
        path="data path",
        load="pubench_cli.commands.data:path",
        help="Print the folder of a data set's prepared copy, or of its files where there is none.",
        example="cd $(pubench data path mnist)",
    ),
    CommandInfo(
        path="data remove",
        load="pubench_cli.commands.data:remove",
        help="Delete prepared copies. The files as distributed stay.",
        example="pubench data remove mnist",
    ),
    CommandInfo(
        path="data show",
        load="pubench_cli.commands.data:show",
        help="Write a PNG: who is labeled and who is hidden (images), or classes and propensities (text, tabular).",
        example="pubench data show mnist --mech s2 --c 0.1",
    ),
    CommandInfo(
        path="study",
        help="Plan and carry out many runs: one file, one command, nothing lost, nothing twice.",
    ),
    CommandInfo(
        path="study protocols",
        load="pubench_cli.commands.study:protocols",
        help="List the study files that come with pubench.",
        example="pubench study protocols",
    ),
    CommandInfo(
        path="study plan",
        load="pubench_cli.commands.study:plan",
        help="Freeze the plan of a study, and say how many runs it has, how many are done, and how long the rest "
        "will take.",
        example="pubench study plan quick --results results",
    ),
    CommandInfo(
        path="study run",
        load="pubench_cli.commands.study:run",
        help="Carry out what is missing of a study. The same command again goes on where it was.",
        example="pubench study run quick --results results -j 2",
    ),
    CommandInfo(
        path="study status",
        load="pubench_cli.commands.study:status",
        help="Say what is done, failed and missing of a study, by method and data set. Trains nothing, imports no "
        "torch.",
        example="pubench study status quick --results results",
    ),
    CommandInfo(
        path="study failures",
        load="pubench_cli.commands.study:failures",
        help="List the runs that failed or were refused, with their causes and records.",
        example="pubench study failures quick --results results",
    ),
    CommandInfo(
        path="study export",
        load="pubench_cli.commands.study:export",
        help="Pack plan and records into one archive with checksums; unpacked, it is a folder of records again.",
        example="pubench study export quick --results results --out quick.tar.gz",
    ),
    CommandInfo(
        path="study report",
        load="pubench_cli.commands.study:report",
        help="Tables, paired tests, ranks and figures of a study or of any folder of records. Trains nothing.",
        example="pubench study report results --study quick --format html",
    ),
    CommandInfo(
        path="study compare",
        load="pubench_cli.commands.study:compare",
        help="Set results beside published figures or other records: difference, whether within two standard "
        "deviations, why.",
        example="pubench study compare results --with pubench2026",
    ),
]


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return COMMANDS
