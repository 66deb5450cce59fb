"""Text data sets: what they are. How they are read is in ``newsgroups`` and ``imdb``, how encoded in ``encoder``."""

from pubench_core import DatasetInfo, Reference, hookimpl


@hookimpl
def pubench_datasets() -> list[DatasetInfo]:
    return [
        DatasetInfo(
            key="20news",
            name="20 Newsgroups",
            summary="18,846 posts by date, 384 sentence features; alt, comp, misc and rec against sci, soc and talk",
            family="text",
            aliases=("20newsgroups",),
            reference=Reference(
                authors="Lang",
                title="NewsWeeder: Learning to Filter Netnews",
                venue="ICML",
                year=1995,
            ),
            load="pubench_datasets_text.newsgroups:Newsgroups",
            modality="text",
            classes=("alt", "comp", "misc", "rec", "sci", "soc", "talk"),
            positive=(0, 1, 2, 3),
            negative=(4, 5, 6),
            backbone="mlp",
            preprocess="l2",
            source="the by-date archive of 20 Newsgroups (the one that scikit-learn's fetch_20newsgroups downloads)",
            license="research use; see source",
        ),
        DatasetInfo(
            key="imdb",
            name="IMDb",
            summary="50,000 film reviews, 384 sentence features; positive against negative",
            family="text",
            reference=Reference(
                authors="Maas, Daly, Pham, Huang, Ng, Potts",
                title="Learning Word Vectors for Sentiment Analysis",
                venue="ACL",
                year=2011,
            ),
            load="pubench_datasets_text.imdb:Imdb",
            modality="text",
            classes=("negative", "positive"),
            positive=(1,),
            negative=(0,),
            backbone="mlp",
            preprocess="l2",
            source="the Large Movie Review Dataset v1.0 (aclImdb_v1.tar.gz), or the hub's copy, stanfordnlp/imdb",
            license="research use; see source",
        ),
    ]
