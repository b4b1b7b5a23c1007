"""Reads published aggregate records, knowing the schema alone: a program of the standard library.

python published_scores.py FOLDER MODEL TASK    # prints score, lower and upper end of its interval as JSON
"""

import json
import sys
from pathlib import Path


def main(folder: str, model: str, task: str) -> None:
    for path in Path(folder).glob("data/*/*/*/*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["model_info"]["id"].split("/", 1)[1] != model:
            continue
        for result in record["evaluation_results"]:
            if result["evaluation_name"] == task:
                details = result["score_details"]
                interval = details["uncertainty"]["confidence_interval"]
                print(json.dumps([details["score"], interval["lower"], interval["upper"]]))


if __name__ == "__main__":
    main(*sys.argv[1:])
