"""All SQL of reports, figures, dashboards and commands. Other SQL is only in the package `store`.

The comment above a query describes one row. A kind of run is named only to separate trainings from measurements of
their models, so that a new kind with scores is read like a fine-tuning.
"""

from __future__ import annotations

from hashbench.results.read.runs import (
    BASELINE,
    EFFICIENCY,
    EVALUATION,
    FURTHER_BASELINE,
    PAIRS,
    PRETRAINING,
    ROBUSTNESS,
)
from hashbench.store.kinds import KEY
from hashbench.store.views import VIEWS, of_version

# Further kinds that, by the stored plans, train no model
OTHERS = f"SELECT SUBSTR(key, {len(KEY) + 1}) FROM setting WHERE key LIKE '{KEY}%' AND value <> 'training'"
# Runs that are read like a training
TRAINED = (
    f"f.kind NOT IN ('{BASELINE}', '{ROBUSTNESS}', '{EVALUATION}', '{FURTHER_BASELINE}', '{PAIRS}') "
    f"AND f.kind NOT IN ({OTHERS})"
)
# a run under one label, finished or not; unsorted, since its spec would be sorted with it
RUNS = """
SELECT er.model, r.id, r.kind, r.task, r.seed, r.encoder, r.spec, r.state, r.data_fingerprint, er.metric, er.position
FROM experiment_run er JOIN run r ON r.id = er.run_id
WHERE er.experiment_id = :experiment
"""
# what the runs of an experiment are, and which runs they need
LABELLED_RUNS = """
SELECT er.model, r.id, r.kind, r.seed FROM experiment_run er JOIN run r ON r.id = er.run_id
WHERE er.experiment_id = :experiment ORDER BY er.position, er.model, r.id
"""
NEEDS = """
SELECT DISTINCT d.run_id, d.needs_run_id FROM dependency d JOIN experiment_run er ON er.run_id = d.run_id
WHERE er.experiment_id = :experiment ORDER BY d.run_id, d.needs_run_id
"""
# why an attempt gave no result; the last attempt of a run counts
REASONS = """
SELECT a.run_id, a.reason FROM attempt a
WHERE a.reason IS NOT NULL AND EXISTS (
    SELECT 1 FROM experiment_run er WHERE er.run_id = a.run_id AND er.experiment_id = :experiment
) ORDER BY a.id
"""
# an experiment, the one that was swept last first
VERSIONS = "SELECT id, name, called_at, fingerprint FROM experiment ORDER BY called_at DESC, id DESC"
# an experiment with its keys, and the command that planned it
CALLS = "SELECT name, config, command FROM experiment ORDER BY id"
# kind, model, task and seed of each experiment's runs
MEMBERS_OF_ALL = """
SELECT er.experiment_id, er.model, r.kind, r.task, r.encoder, MIN(er.position) AS position
FROM experiment_run er JOIN run r ON r.id = er.run_id
GROUP BY er.experiment_id, er.model, r.kind, r.task, r.encoder ORDER BY er.experiment_id, position
"""
# how many runs of each experiment are in a state
STATES_OF_ALL = """
SELECT er.experiment_id, r.state, COUNT(DISTINCT er.run_id) AS n
FROM experiment_run er JOIN run r ON r.id = er.run_id GROUP BY er.experiment_id, r.state
"""
# the state of one run
STATE_OF_RUN = "SELECT state FROM run WHERE id = :id"
# time and notes of a finished run, and the environment that it was made in
ORIGINS = """
SELECT f.run_id, a.environment_id, a.notes, a.seconds, f.finished_at
FROM finished_versions f JOIN attempt a ON a.id = f.attempt_id
WHERE f.experiment_id = :experiment
"""
# code, machine and packages; apart from ORIGINS, since thousands of runs share one long text
ENVIRONMENTS = """
SELECT id, git_commit, git_tree, CASE WHEN git_diff = '' THEN 0 ELSE 1 END, hardware_name, packages FROM environment
"""
# an experiment that a run of this one belongs to as well
EXPERIMENTS_OF_RUNS = """
SELECT DISTINCT mine.run_id, e.name
FROM experiment_run mine JOIN experiment_run other ON other.run_id = mine.run_id
JOIN experiment e ON e.id = other.experiment_id
WHERE mine.experiment_id = :experiment ORDER BY mine.run_id, e.name
"""

# a score of a run at its best or last evaluation; of the reported model too under another way of evaluating
SCORES = of_version(
    """
SELECT model, run_id, metric, split, condition, own, value, reason FROM evaluated
WHERE (:checkpoint = 'last' OR checkpoint = 'best')
  AND checkpoint = CASE WHEN condition = '' THEN :checkpoint ELSE 'best' END
ORDER BY position, seed
""",
    "evaluated",
)
# what `hashbench.results` has: a score at the best or last evaluation; :own = 1: only those that reports show
SCORE_COLUMNS = (
    "experiment", "encoder", "model", "kind", "task", "seed", "metric", "split", "checkpoint", "step", "value",
    "reason", "own", "data_fingerprint", "run_id", "experiment_id",
)  # fmt: skip
SCORES_OF_ALL = f"""
SELECT {", ".join(SCORE_COLUMNS)} FROM scores WHERE (:own = 0 OR (own = 1 AND checkpoint = 'best'))
ORDER BY experiment_id, position, model, task, seed, metric, split, checkpoint
"""
SCORES_OF_EXPERIMENT = of_version(SCORES_OF_ALL, "evaluated", "scores")
# a training or trivial baseline with its score on the rows that its checkpoint was chosen on: a test set chooses no
# model; kept: 1 where its weights and head were kept
TRAINED_RUNS = of_version(
    """
SELECT s.task, s.model, s.seed, s.run_id, s.kind, s.data_fingerprint, s.metric, COALESCE(c.split, s.split) AS split,
       COALESCE(c.value, s.value) AS value,
       CASE WHEN EXISTS (SELECT 1 FROM artifact a WHERE a.attempt_id = s.attempt_id AND a.kind = 'head')
       THEN 1 ELSE 0 END AS kept,
       -- only a training on fewer rows of train has this key in its spec
       CASE WHEN r.spec LIKE '%"train_rows":%' THEN 1 ELSE 0 END AS on_fewer_rows
FROM scores s JOIN run r ON r.id = s.run_id
  LEFT JOIN scores c ON c.experiment_id = s.experiment_id AND c.model = s.model AND c.run_id = s.run_id
  AND c.metric = s.metric AND c.checkpoint = s.checkpoint AND c.split IN ('validation', 'holdout')
WHERE s.own = 1 AND s.checkpoint = 'best' AND s.value IS NOT NULL
ORDER BY s.position, s.seed
""",
    "evaluated",
    "scores",
)
# how many examples a run predicted on a split
EXAMPLES = """
SELECT f.run_id, f.task, p.split, p.n FROM finished_versions f JOIN predictions p ON p.attempt_id = f.attempt_id
WHERE f.experiment_id = :experiment AND p.checkpoint = :checkpoint AND p.condition = ''
"""
# every stored number of a finished run
METRICS = """
SELECT f.run_id, m.split, m.name, m.step, m.condition, m.value, m.reason
FROM finished_versions f JOIN metric m ON m.attempt_id = f.attempt_id
WHERE f.experiment_id = :experiment
ORDER BY m.step, m.split, m.name, m.condition
"""

# PRR of a model on a task, or of its average: view prr, with narrower views under the names that it reads. Over the
# stored views it would read all scores of the database eight times.
RATIOS = of_version(
    f"""
WITH scores_by_model AS MATERIALIZED (
    SELECT * FROM ({VIEWS["scores_by_model"]}) AS means WHERE experiment_id = :experiment AND checkpoint = :checkpoint
),
paper_scores AS MATERIALIZED (SELECT * FROM ({VIEWS["paper_scores"]}) AS papers WHERE paper = :paper)
SELECT model, encoder, task, value, n_tasks FROM ({VIEWS["prr"]}) AS ratios
""",
    "evaluated",
    "scores",
)
# the tasks of runs whose exported forms were measured
TASKS_OF_FORMS = """
SELECT DISTINCT f.task FROM finished_versions f JOIN metric m ON m.attempt_id = f.attempt_id
WHERE f.experiment_id = :experiment AND m.split = '' AND m.step = 0 AND m.name IN ('float32_score', 'int8_score')
"""
# the metric and split that a paper reads for a task
READINGS = "SELECT task, metric, split FROM reading WHERE paper = :paper"
FACT = "experiment_id, experiment, baseline, encoder, model, position, kind, run_id, name, task, source"
# a fact of a model, over its runs and tasks; then, formed = 1, a row of view costs, over the same facts
MODEL_FACTS = of_version(
    f"""
WITH noted AS MATERIALIZED (  -- by thousands of trainings: only their extremes count
    SELECT MIN(experiment_id) AS experiment_id, MIN(experiment) AS experiment, MIN(baseline) AS baseline, encoder,
           model, MIN(position) AS position, MIN(kind) AS kind, MIN(run_id) AS run_id, name, '' AS task,
           MIN(value) AS low, MAX(value) AS high, 3 AS source
    FROM ({VIEWS["facts"]}) AS of_trainings WHERE experiment_id = :experiment AND source = 3
    GROUP BY model, encoder, name
),
facts AS MATERIALIZED (
    SELECT {FACT}, value FROM ({VIEWS["facts"]}) AS measured WHERE experiment_id = :experiment AND source < 3
    UNION ALL SELECT {FACT}, low FROM noted
    UNION ALL SELECT {FACT}, high FROM noted WHERE high > low
),
efficiency AS MATERIALIZED ({VIEWS["efficiency"]}),
pcr AS MATERIALIZED ({VIEWS["pcr"]}),
poep AS MATERIALIZED ({VIEWS["poep"]}),
speed_up AS MATERIALIZED ({VIEWS["speed_up"]})
SELECT 0 AS formed, model, encoder, name AS column_name, MIN(value) AS value,
       CASE WHEN MAX(value) > MIN(value) THEN MAX(value) END AS value_high,
       CAST(NULL AS DOUBLE PRECISION) AS low, CAST(NULL AS DOUBLE PRECISION) AS high
FROM facts GROUP BY model, encoder, name
UNION ALL  -- of trivial baselines what their exported forms take: they note no other fact
SELECT 0, f.model, f.encoder, m.name, MIN(m.value), CASE WHEN MAX(m.value) > MIN(m.value) THEN MAX(m.value) END,
       NULL, NULL
FROM finished_versions f JOIN metric m ON m.attempt_id = f.attempt_id
WHERE f.experiment_id = :experiment AND f.kind = '{BASELINE}' AND m.split = '' AND m.name NOT LIKE '%_step'
GROUP BY f.model, f.encoder, m.name
UNION ALL
SELECT 1, model, encoder, name, value, value_high, low, high FROM ({VIEWS["costs"]}) AS formed
ORDER BY formed
"""
)
# a fact that a training noted about itself
FACTS_OF_RUNS = """
SELECT f.run_id, m.name, m.value FROM finished_versions f JOIN metric m ON m.attempt_id = f.attempt_id
WHERE f.experiment_id = :experiment AND f.task IS NOT NULL AND m.split = '' AND m.step = 0
"""
# the bytes of one trivial baseline: as it noted them, else of its export
BYTES_OF_BASELINES = f"""
SELECT f.run_id, m.value FROM finished_versions f JOIN metric m ON m.attempt_id = f.attempt_id
WHERE f.experiment_id = :experiment AND f.kind = '{BASELINE}' AND m.split = '' AND m.step = 0
  AND m.name IN ('bytes', 'int8_bytes') AND m.value IS NOT NULL
ORDER BY m.name DESC
"""
# a time of one efficiency run
TIMES = of_version(
    f"""
SELECT model, run_id, name, task, value FROM facts
WHERE kind = '{EFFICIENCY}' AND value IS NOT NULL ORDER BY model, run_id
""",
    "facts",
)
# a time with its ratio to the baseline's of the same run
SPEED_UPS = of_version(
    """
SELECT model, name, task, model_ms, value FROM speed_up
WHERE name IN ('infer_ms', 'pretrain_ms') ORDER BY position, task
""",
    "facts",
    "speed_up",
)

# the reported metric of a run on a task at one evaluation, on `split`
CURVE_OF_SCORES = f"""
SELECT f.model AS model, f.task AS panel, f.seed AS seed, f.own_metric AS label, m.step AS step, m.value AS value
FROM finished_versions f JOIN metric m ON m.attempt_id = f.attempt_id AND m.name = f.own_metric AND m.split = :split
WHERE f.experiment_id = :experiment AND {TRAINED} AND m.condition = ''
  AND m.value IS NOT NULL
ORDER BY f.position, m.step
"""
# the same on the split that the experiment reports
CURVE_OF_OWN_SCORES = CURVE_OF_SCORES.replace(":split", "f.own_split")
# a metric of a pre-training at one step, in training or on held-out rows
CURVE_OF_PRETRAINING = f"""
SELECT f.model AS model, f.encoder AS encoder, f.task AS panel, f.seed AS seed, m.name AS label, m.step AS step,
  m.value AS value
FROM finished_versions f JOIN metric m ON m.attempt_id = f.attempt_id AND m.name = :metric AND m.split = :split
WHERE f.experiment_id = :experiment AND f.kind = '{PRETRAINING}' AND m.condition = '' AND m.value IS NOT NULL
ORDER BY f.position, m.step
"""
# the same of a training on a task
CURVE_OF_TRAINING = CURVE_OF_PRETRAINING.replace("f.kind =", "f.kind <>")
# every number of a finished run that has a step and a split: its losses and scores
CURVE_OF_RUN = """
SELECT m.step, m.name, m.split, m.value FROM run r JOIN metric m ON m.attempt_id = r.finished_attempt
WHERE r.id = :run AND r.state = 'done' AND m.step > 0 AND m.split <> '' AND m.condition = '' AND m.value IS NOT NULL
ORDER BY m.step, m.split, m.name
"""
# a number of a finished pre-training at its last step, as one on rows that it did not train on
FACT_OF_PRETRAINING = f"""
SELECT f.model AS model, f.seed AS seed, m.value AS value
FROM finished_versions f JOIN metric m ON m.attempt_id = f.attempt_id AND m.name = :metric AND m.split = :split
WHERE f.experiment_id = :experiment AND f.kind = '{PRETRAINING}' AND m.value IS NOT NULL
  AND NOT EXISTS (
    SELECT 1 FROM metric l
    WHERE l.attempt_id = m.attempt_id AND l.name = m.name AND l.split = m.split AND l.step > m.step
  )
ORDER BY f.position
"""
# a score of a robustness run under one condition
ROBUSTNESS_SCORES = of_version(
    """
SELECT model, position, task, seed, metric, split, condition, value, run_id, attempt_id FROM robustness
WHERE own = 1 ORDER BY position
""",
    "robustness",
)
# a model with the spec of one of its trainings
MODELS = f"""
SELECT er.model, MIN(f.spec) AS spec FROM experiment_run er JOIN run f ON f.id = er.run_id
WHERE er.experiment_id = :experiment AND {TRAINED} GROUP BY er.model
"""
# a fact of a data set or of a model's coder under one condition
ROBUSTNESS_FACTS = of_version(
    "SELECT model, position, task, name, condition, value FROM robustness_facts ORDER BY position", "robustness_facts"
)
# what one attempt predicted on a split under one condition
OUTPUTS_OF_ATTEMPT = """
SELECT a.run_id, p.* FROM predictions p JOIN attempt a ON a.id = p.attempt_id
WHERE p.attempt_id = :attempt AND p.checkpoint = 'best'
"""
# the outputs of a model on a split, of a further set too
OUTPUTS = f"""
SELECT f.run_id, p.outputs, p.n
FROM finished_versions f JOIN predictions p ON p.attempt_id = f.attempt_id
WHERE f.experiment_id = :experiment AND f.kind NOT IN ('{BASELINE}', '{ROBUSTNESS}', '{FURTHER_BASELINE}')
  AND p.checkpoint = :checkpoint AND p.condition = ''
"""
# what a fine-tuning predicted on a split
OUTPUTS_OF_FINETUNINGS = f"""
SELECT f.task, f.model, f.seed, f.run_id, p.*
FROM finished_versions f JOIN predictions p ON p.attempt_id = f.attempt_id
WHERE f.experiment_id = :experiment AND {TRAINED} AND p.checkpoint = 'best'
  AND p.condition = ''
"""

# an experiment at this moment; {now} is the database's clock
MEMBERS = "(SELECT run_id FROM experiment_run WHERE experiment_id = :experiment)"
LABEL = "(SELECT MIN(er.model) FROM experiment_run er WHERE er.experiment_id = :experiment AND er.run_id = r.id)"
# runs of a kind in a state, and how many of them were finished within so many seconds
RUNS_BY_KIND = f"""
SELECT kind, state, COUNT(*) AS n, SUM(CASE WHEN finished_at > {{now}} - :recent THEN 1 ELSE 0 END) AS n_recent,
       SUM(CASE WHEN finished_at > {{now}} - :hour THEN 1 ELSE 0 END) AS n_of_hour
FROM run WHERE id IN {MEMBERS} GROUP BY kind, state ORDER BY kind
"""
# an attempt in flight; seconds since it began and since its worker was heard of
ACTIVE_ATTEMPTS = f"""
SELECT r.id AS run_id, r.kind, {LABEL} AS model, r.task, r.seed, a.worker, COALESCE(v.host, '') AS host,
       COALESCE(v.hardware_name, '') AS hardware, {{now}} - a.started_at AS seconds, {{now}} - a.heartbeat_at AS silent
FROM attempt a JOIN run r ON r.id = a.run_id LEFT JOIN environment v ON v.id = a.environment_id
WHERE a.state = 'running' AND a.run_id IN {MEMBERS} ORDER BY host, a.worker, a.id
"""
# a reason for which runs failed or were made void, with one of them; the commonest first
REASONS_OF_FAILURES = f"""
SELECT state, reason, COUNT(*) AS n, MIN(id) AS run_id FROM (
    SELECT r.id, r.state, COALESCE(r.void_reason, (
        SELECT a.reason FROM attempt a WHERE a.run_id = r.id AND a.reason IS NOT NULL ORDER BY a.id DESC LIMIT 1
    ), '') AS reason
    FROM run r WHERE r.state IN ('failed', 'void') AND r.id IN {MEMBERS}
) AS ended GROUP BY state, reason ORDER BY n DESC, state, reason
"""
RUN_IN_WORDS = f"SELECT r.kind, {LABEL} AS model, r.task, r.seed FROM run r WHERE r.id = :run"
# attempts that ended without a result
ENDED_ATTEMPTS = f"""
SELECT state, COUNT(*) AS n FROM attempt
WHERE state IN ('failed', 'lost', 'interrupted') AND run_id IN {MEMBERS} GROUP BY state ORDER BY state
"""
# what finished runs of a column noted
NOTES_OF_COLUMNS = """
SELECT DISTINCT r.kind, r.task, er.model, a.notes
FROM experiment_run er JOIN run r ON r.id = er.run_id JOIN attempt a ON a.id = r.finished_attempt
WHERE er.experiment_id = :experiment AND r.state = 'done' ORDER BY r.kind, r.task, er.model
"""
