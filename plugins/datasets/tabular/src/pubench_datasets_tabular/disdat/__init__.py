"""Species records with an independent truth: what they are. :mod:`.source` reads them."""

from functools import partial

from pubench_core import DatasetInfo, Reference

_species = partial(
    DatasetInfo,
    load="pubench_datasets_tabular.disdat.source:Species",
    family="ecology",
    reference=Reference(
        authors="Elith, Graham, Valavi, Abegg, Bruce, Ford, Guisan, Hijmans, Huettmann, Lohmann, Loiselle, Moritz, "
        "Overton, Peterson, Phillips, Richardson, Williams, Wiser, Wohlgemuth, Zimmermann",
        title="Presence-only and presence-absence data for comparing species distribution modeling methods",
        venue="Biodiversity Informatics 15, 69-80",
        year=2020,
        url="https://doi.org/10.17161/bi.v15i2.13384",
    ),
    modality="tabular",
    classes=("absent", "present"),
    positive=(1,),
    negative=(0,),
    backbone="mlp",
    preprocess="standardize",
    labels="two-sample",
    source="the R package disdat 1.1-0, folder inst/extdata",
    license="R package: GPL >= 3; article: CC BY-NC; downloaded and cited, never part of pubench",
)


DATASETS = [
    _species(
        key="disdat",
        name="Species records",
        summary="presence-only records of 226 species in six regions against 10,000 background sites, 11 to 13 "
        "environmental variables; surveys at other sites say where each species is and is not",
        tasks="disdat/SPECIES",
    ),
    _species(
        key="disdat-target-group",
        name="Species records, target-group background",
        summary="the records of disdat against those of all species of the same group, which share the bias of "
        "observers (Phillips et al. 2009); the same surveys",
        tasks="disdat-target-group/SPECIES",
    ),
]
