"""PN: what it is. The algorithm is in :mod:`pubench_pn.method`."""

from pubench_core import MethodInfo, Preset, hookimpl


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="pn",
            name="PN (oracle)",
            summary="supervised classifier on all true labels: a reference for PU methods, not one of them",
            family="oracle",
            load="pubench_pn.method:PN",
            needs=frozenset({"truth"}),
            follows="PU-Bench's oracle trainer, on the plain split: labeled positives are not repeated; its output "
            "bias of logit(π) at the start and its margin of 1e-4 in early stopping are not kept",
            presets={
                "pubench": Preset(
                    values={"lr": 5e-4, "weight_decay": 1e-5, "batch_size": 128, "epochs": 50, "patience": 5},
                    note="PU-Bench, all data sets",
                ),
                "quick": Preset(values={"epochs": 5, "patience": None}, note="short, for a first try"),
            },
        )
    ]
