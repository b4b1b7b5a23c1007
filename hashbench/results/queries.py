"""What a report asks the store, in SQL: an experiment's runs, scores, facts, and what a paper reads."""

from __future__ import annotations

RUNS = """
SELECT er.model AS model, er.position AS position, r.id AS run_id, r.kind AS kind, r.task AS task, r.seed AS seed,
       r.encoder AS encoder, r.spec AS spec, r.state AS state, r.data_fingerprint AS data_fingerprint,
       (SELECT a.reason FROM attempt a
        WHERE a.run_id = r.id AND a.reason IS NOT NULL ORDER BY a.id DESC LIMIT 1) AS reason
FROM experiment_run er JOIN run r ON r.id = er.run_id
WHERE er.experiment_id = :experiment ORDER BY er.position, er.model
"""
SCORES = """
SELECT run_id, model, metric, split, own, value, reason FROM glue_scores
WHERE experiment_id = :experiment AND checkpoint = :checkpoint ORDER BY position, seed
"""
PERTURBED = """
SELECT run_id, model, metric, split, condition, value, reason FROM perturbed_scores
WHERE experiment_id = :experiment ORDER BY position, seed
"""
ORIGINS = """
SELECT run_id, git_commit, has_diff, hardware_name, packages, notes, seconds, finished_at FROM provenance
WHERE experiment_id = :experiment
"""
RATIOS = """
SELECT model, encoder, task, value, n_tasks FROM prr
WHERE experiment_id = :experiment AND paper = :paper AND checkpoint = :checkpoint
"""
FACTS = """
SELECT model, encoder, name AS column_name, MIN(value) AS value,
       CASE WHEN MAX(value) > MIN(value) THEN MAX(value) END AS value_high
FROM facts WHERE experiment_id = :experiment GROUP BY model, encoder, name
"""
COLUMNS = """
SELECT model, encoder, column_name, value, NULL AS value_high FROM table_2
WHERE experiment_id = :experiment AND checkpoint = ''
UNION ALL
SELECT model, encoder, column_name, value, value_high FROM table_3 WHERE experiment_id = :experiment
"""
EXAMPLES = """
SELECT p.run_id, f.task, p.split, p.n FROM finished f JOIN predictions p ON p.attempt_id = f.attempt_id
WHERE f.experiment_id = :experiment AND p.checkpoint = :checkpoint AND p.perturbation = ''
"""
CHOSEN = """
SELECT f.model, m.value FROM finished f JOIN metric m ON m.attempt_id = f.attempt_id
WHERE f.experiment_id = :experiment AND f.kind = 'finetune' AND m.name = 'learning_rate' AND m.split = '' AND m.step = 0
"""
READINGS = "SELECT task, metric, split FROM reading WHERE paper = :paper"
