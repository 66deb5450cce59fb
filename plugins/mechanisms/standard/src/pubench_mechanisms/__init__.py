"""Labelling mechanisms: what they are. The draws are in :mod:`pubench_mechanisms.scar`."""

from pubench_core import MechanismInfo, Reference, hookimpl


@hookimpl
def pubench_mechanisms() -> list[MechanismInfo]:
    return [
        MechanismInfo(
            key="scar",
            name="SCAR",
            summary="selected completely at random: every positive is labelled with probability c",
            aliases=("s1",),
            reference=Reference(
                authors="Elkan, Noto",
                title="Learning Classifiers from Only Positive and Unlabeled Data",
                venue="KDD",
                year=2008,
            ),
            load="pubench_mechanisms.scar:SCAR",
            assumption="SCAR",
        )
    ]
