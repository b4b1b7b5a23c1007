"""Public data sets that no paper has: topics in 13 languages, slots, questions, Thai and Japanese texts,
pairs.

SIB-200: the same sentences by topic in every language (Adelani et al. 2024), a task a language: `sib200:hin_Deva`. A
language is named by its ISO 639-3 code and its script. `sib200` means all that are listed here: one of each way to
write words, with white space and without, with combining marks and without.

atis_slots: which words of a question name its cities, times and airlines (Hemphill et al. 1990), in the split of Goo et
al. 2018. The hub has no copy with lists of words.

trec: 5,452 questions by six kinds of answer, with 500 to test on (Li and Roth 2002). There is no validation set: it is
selected on a seeded tenth of train, and the test set is read once.

wisesight: Thai messages of social media by mood, misspellings kept (Suriyawongkul et al. 2019). The files of its
authors have no splits: a data folder holds a split made for it, the hub another.

jsts: how similar two Japanese sentences are, from 0 to 5 (Kurihara, Kawahara and Shibata 2022, JGLUE). As in GLUE, it
is selected and reported on the development set, since the labels of the test set are not public.

blimp: minimal pairs (Warstadt et al. 2020, TACL 8), 67 paradigms of 1,000 pairs in four fields of grammar. Its files
have 13 terms for the paper's 12 phenomena (two paradigms of argument structure are called s-selection), and two
spellings of one field.
"""

from __future__ import annotations

from hashbench.data.sources.hub import HubPlace
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.kinds import classification, regression, tagging
from hashbench.data.tasks.kinds.minimal_pairs import SPLIT, pair_task

COLLECTION = "sib200"
TOPICS = ("entertainment", "geography", "health", "politics", "science/technology", "sports", "travel")
LANGUAGES = {  # code -> language, script
    "eng_Latn": ("English", "Latin"),
    "deu_Latn": ("German", "Latin"),
    "fin_Latn": ("Finnish", "Latin"),
    "tur_Latn": ("Turkish", "Latin"),
    "rus_Cyrl": ("Russian", "Cyrillic"),
    "arb_Arab": ("Arabic", "Arabic"),
    "hin_Deva": ("Hindi", "Devanagari"),
    "tam_Taml": ("Tamil", "Tamil"),
    "kor_Hang": ("Korean", "Hangul"),
    "tha_Thai": ("Thai", "Thai"),
    "mya_Mymr": ("Burmese", "Myanmar"),
    "zho_Hans": ("Chinese", "Han"),
    "jpn_Jpan": ("Japanese", "Japanese"),
}


def _task(code: str, language: str, script: str) -> Task:
    return Task(
        name=f"{COLLECTION}:{code}",
        kind=classification.KIND,
        text=("text",),
        label="category",
        metrics=("accuracy", "f1_macro", "matthews"),
        report_splits=("test",),
        n_classes=len(TOPICS),
        label_names=TOPICS,
        official_rows={"train": 701, "validation": 99, "test": 204},
        collection=f"multilingual/{COLLECTION}",
        part=code,
        traits={"language": language, "script": script},
        parallel=True,
        hub=HubPlace("Davlan/sib200", code),
    )


TREC_ROWS = {"train": 5_452, "test": 500}
LANGUAGE_TASKS = [_task(code, language, script) for code, (language, script) in LANGUAGES.items()]
TASKS = [
    *LANGUAGE_TASKS,
    Task(
        name="atis_slots",
        kind=tagging.KIND,
        text=("tokens",),
        label="tags",
        metrics=tagging.KIND.common_metrics,
        select_metric="span_f1",
        report_splits=("test",),
        official_rows={"train": 4_478, "validation": 500, "test": 893},
        collection="tagging",
    ),
    Task(
        name="trec",
        kind=classification.KIND,
        text=("text",),
        metrics=("accuracy", "f1_macro", "matthews"),
        select_splits=("holdout",),
        report_splits=("test",),
        official_rows=TREC_ROWS,
        collection="classification",
        splits_as_found=True,
        hub=HubPlace("CogComp/trec", rows=TREC_ROWS, columns=(("text", ("text",)), ("label", ("coarse_label",)))),
    ),
    Task(
        name="wisesight",
        kind=classification.KIND,
        text=("text",),
        label="category",
        metrics=("accuracy", "f1_macro", "matthews"),
        report_splits=("test",),
        n_classes=4,
        label_names=("pos", "neu", "neg", "q"),  # in the order of their numbers on the hub
        official_rows={"train": 21_389, "validation": 2_674, "test": 2_674},
        collection="multilingual",
        traits={"language": "Thai", "script": "Thai"},
        hub=HubPlace(
            "pythainlp/wisesight_sentiment",
            rows={"train": 21_628, "validation": 2_404, "test": 2_671},
            columns=(("text", ("texts",)),),
        ),
    ),
    Task(
        name="jsts",
        kind=regression.KIND,
        text=("sentence1", "sentence2"),
        metrics=("spearman", "pearson"),
        select_metric="spearman",
        n_classes=1,
        official_rows={"train": 12_451, "validation": 1_457},
        collection="multilingual",
        traits={"language": "Japanese", "script": "Japanese"},
        hub=HubPlace("shunk031/JGLUE", "JSTS"),
    ),
    pair_task(
        "blimp",
        label="UID",
        groups={"phenomenon": "linguistics_term", "field": "field"},
        renamed={"s-selection": "argument_structure", "syntax/semantics": "syntax_semantics"},
        official_rows={SPLIT: 67_000},
        # A copy with all paradigms in one table
        hub=HubPlace("WillHeld/blimp", rows={"train": 67_000}),
    ),
]
GROUPS = {COLLECTION: tuple(task.name for task in LANGUAGE_TASKS)}
