"""Uploading an exported folder as a model of the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path

from hashbench.common.errors import InputError, first_line


def push(folder: Path, name: str) -> str:
    """Makes the repository `name` (OWNER/MODEL), where there is none, and uploads the folder; a line with its address.

    Raises InputError where nobody is logged in, the name is refused, or the hub is out of reach.
    """
    # here: a network client, which most uses never need.
    from huggingface_hub import HfApi

    api = HfApi()
    try:
        address = api.create_repo(name, exist_ok=True)
        commit = api.upload_folder(repo_id=name, folder_path=folder, commit_message="Model exported by hashbench")
    except Exception as error:  # of the hub, or of the network client below it, whose errors have no common class
        remedy = "log in with hf auth login or set HF_TOKEN, and check the name and the network"
        raise InputError(f"--push-to-hub {name}: not uploaded ({first_line(error)[:160]}); {remedy}") from error
    return f"{address}: commit {commit.oid[:8]}"
