"""SIB-200: the same sentences by topic in every language (Adelani et al. 2024), a task a language: `sib200:hin_Deva`.

A language is named by its ISO 639-3 code and its script. `sib200` stands for all that are listed here: one of each way
to write words, with white space and without, with combining marks and without.
"""

from __future__ import annotations

from hashbench.data.sources.hub import HubPlace
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.kinds.classification import KIND

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
        kind=KIND,
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
        hub=HubPlace("Davlan/sib200", code),
    )


TASKS = [_task(code, language, script) for code, (language, script) in LANGUAGES.items()]
GROUPS = {COLLECTION: tuple(task.name for task in TASKS)}
