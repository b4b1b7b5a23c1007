"""What readers see: SQL text in the dialect that SQLite and PostgreSQL share, made anew whenever it changes.

Values are in their natural range (scores 0 to 1, shares 0 to 1, times in ms, sizes in bytes); the report multiplies and
rounds. Every view has `experiment_id`: filter by it, since two experiments may share a name. The equations are those of
the HashFormers paper (Xue and Aletras 2022), section 4.4, with the baseline that the experiment names. A run of any
kind is read by what it stored. Longer than other files, so that the text of all views stands in one place.
"""

from __future__ import annotations

import csv
import hashlib
from importlib.resources import files

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hashbench.store.schema import reading, setting

SETTING = "views"  # the key under which a database remembers the text that its views were made from
NAMES = "view_names"  # and their names, since another version may have others

VIEWS: dict[str, str] = {}

VIEWS["finished"] = """
-- a finished run under each label that an experiment gives it
SELECT er.experiment_id, e.name AS experiment, e.baseline, r.encoder, er.model, er.position, r.id AS run_id, r.kind,
       r.task, r.seed, r.data_fingerprint, r.finished_attempt AS attempt_id, r.finished_at,
       er.metric AS own_metric, er.split AS own_split
FROM experiment_run er
JOIN experiment e ON e.id = er.experiment_id
JOIN run r ON r.id = er.run_id
WHERE r.state = 'done'
"""

# a score at the best and at the last evaluation of a run on a task, plain or under a condition
EVALUATED = """
SELECT f.experiment_id, f.experiment, f.baseline, f.encoder, f.model, f.position, f.kind, f.task, f.seed,
       s.name AS metric, s.split, s.condition, CASE c.name WHEN 'best_step' THEN 'best' ELSE 'last' END AS checkpoint,
       s.step, s.value, s.reason, f.data_fingerprint, f.run_id, f.attempt_id,
       CASE WHEN s.name = f.own_metric AND s.split = f.own_split THEN 1 ELSE 0 END AS own
FROM finished f
JOIN metric c ON c.attempt_id = f.attempt_id AND c.split = '' AND c.name IN ('best_step', 'last_step') AND c.step = 0
JOIN metric s ON s.attempt_id = f.attempt_id AND s.step = CAST(c.value AS INTEGER)
WHERE f.task IS NOT NULL AND (s.condition <> '' OR s.split NOT IN ('', 'train'))
"""

VIEWS["scores"] = f"""
-- a score at the best and at the last evaluation of a run on a task that names these steps, as trainings and trivial
-- baselines do; value: natural range; own: 1 where the experiment's own table reads this metric and split
SELECT experiment_id, experiment, baseline, encoder, model, position, kind, task, seed, metric, split, checkpoint,
       step, value, reason, data_fingerprint, run_id, attempt_id, own
FROM ({EVALUATED}) AS evaluated
WHERE condition = ''
"""

VIEWS["scores_by_condition"] = f"""
-- a score of the reported model under another way of evaluating (condition: a beam width, a decile of the cases ...)
SELECT experiment_id, experiment, encoder, model, position, kind, task, seed, metric, split, condition, value, reason,
       data_fingerprint, run_id
FROM ({EVALUATED}) AS evaluated
WHERE condition <> '' AND checkpoint = 'best'
"""

VIEWS["robustness"] = """
-- a score of a fine-tuned model on perturbed texts (condition 'swap=0.05': kind and share of the words changed; '':
-- the texts as they are); value: natural range; own: 1 where the experiment's own table reads this metric and split
SELECT f.experiment_id, f.experiment, f.baseline, f.encoder, f.model, f.position, f.task, f.seed,
       m.name AS metric, m.split, m.condition, m.value, m.reason, f.data_fingerprint,
       f.run_id, f.attempt_id,
       CASE WHEN m.name = f.own_metric AND m.split = f.own_split THEN 1 ELSE 0 END AS own
FROM finished f
JOIN metric m ON m.attempt_id = f.attempt_id
WHERE f.kind = 'robustness' AND m.split <> ''
"""

VIEWS["robustness_facts"] = """
-- of a data set under a condition: shares of words changed, and of types and tokens that no pre-training saw; of a
-- model's coder on its types: types per bucket, share of tokens that share their code, agreement of misspelled words
SELECT f.experiment_id, f.experiment, f.encoder, f.model, f.position, f.task, f.seed,
       m.name, m.condition, m.value, m.reason, f.run_id
FROM finished f
JOIN metric m ON m.attempt_id = f.attempt_id
WHERE f.kind = 'robustness' AND m.split = ''
"""

VIEWS["scores_by_model"] = """
-- mean over seeds; n: seeds with a value, n_missing: finished seeds whose score is undefined
SELECT experiment_id, experiment, baseline, encoder, model, MIN(position) AS position, task, metric, split, checkpoint,
       data_fingerprint, own, AVG(value) AS value, COUNT(value) AS n, COUNT(*) - COUNT(value) AS n_missing, kind
FROM scores
GROUP BY experiment_id, experiment, baseline, encoder, model, kind, task, metric, split, checkpoint, data_fingerprint,
         own
"""


def paper_scores(scores_by_model: str) -> str:
    """View paper_scores over scores_by_model, or rows of it under another name."""
    return f"""
-- the one number of a model and task that a paper reads (table reading; task '*' is any that has the metric), a mean
-- over seeds also where the paper prints medians; paper 'own': that the experiment itself reads
SELECT s.experiment_id, s.experiment, s.baseline, s.encoder, s.model, s.position, p.paper, s.task, s.checkpoint,
       s.metric, s.split, s.data_fingerprint, s.value, s.n, s.n_missing, s.kind
FROM {scores_by_model} s
JOIN reading p ON p.task IN (s.task, '*') AND p.metric = s.metric AND p.split = s.split
UNION ALL
SELECT experiment_id, experiment, baseline, encoder, model, position, 'own', task, checkpoint,
       metric, split, data_fingerprint, value, n, n_missing, kind
FROM {scores_by_model} s
WHERE own = 1
"""


VIEWS["paper_scores"] = paper_scores("scores_by_model")

VIEWS["paper_averages"] = """
-- unweighted mean of the tasks' means without further sets; n_tasks: with a value, compare only where it is equal
SELECT experiment_id, experiment, baseline, encoder, model, MIN(position) AS position, paper, checkpoint,
       AVG(value) AS value, COUNT(value) AS n_tasks, MIN(n) AS n
FROM paper_scores
WHERE value IS NOT NULL AND kind NOT LIKE 'evaluation%'
GROUP BY experiment_id, experiment, baseline, encoder, model, paper, checkpoint
"""


def prr(paper_scores: str) -> str:
    """View prr over paper_scores, or rows of it under another name."""
    return f"""
-- performance retention ratio, eq. 4: score / baseline score on the means over seeds, a share; task 'average': ratio of
-- the average scores over the n_tasks that both have (not the mean of the ratios); a baseline of 0 or less gives none
SELECT m.experiment_id, m.experiment, m.baseline, m.encoder, m.model, m.position, m.paper, m.task, m.checkpoint,
       CASE WHEN b.value > 0 THEN m.value / b.value END AS value,
       m.value AS score, b.value AS baseline_score, 1 AS n_tasks
FROM {paper_scores} m
JOIN {paper_scores} b ON b.experiment_id = m.experiment_id AND b.paper = m.paper AND b.task = m.task
                   AND b.checkpoint = m.checkpoint AND b.model = m.baseline
UNION ALL
SELECT m.experiment_id, m.experiment, m.baseline, m.encoder, m.model, MIN(m.position), m.paper, 'average', m.checkpoint,
       CASE WHEN AVG(b.value) > 0 THEN AVG(m.value) / AVG(b.value) END,
       AVG(m.value), AVG(b.value), COUNT(*)
FROM {paper_scores} m
JOIN {paper_scores} b ON b.experiment_id = m.experiment_id AND b.paper = m.paper AND b.task = m.task
                   AND b.checkpoint = m.checkpoint AND b.model = m.baseline
WHERE m.value IS NOT NULL AND b.value IS NOT NULL AND m.kind NOT LIKE 'evaluation%'
GROUP BY m.experiment_id, m.experiment, m.baseline, m.encoder, m.model, m.paper, m.checkpoint
"""


VIEWS["prr"] = prr("paper_scores")

VIEWS["facts"] = """
-- a fact that was measured of a model, or that a training noted on its way; task '' where it has none; source: 1 a run
-- of the model as such, 2 a pre-training (it has a seed), 3 a training on a task (it names its best step)
SELECT f.experiment_id, f.experiment, f.baseline, f.encoder, f.model, f.position, f.kind, f.run_id,
       m.name, m.split AS task, m.value,
       CASE WHEN f.task IS NOT NULL THEN 3 WHEN f.seed IS NOT NULL THEN 2 ELSE 1 END AS source
FROM finished f
JOIN metric m ON m.attempt_id = f.attempt_id
LEFT JOIN metric c ON c.attempt_id = f.attempt_id AND c.split = '' AND c.name = 'best_step' AND c.step = 0
                  AND c.condition = ''
WHERE (f.task IS NULL OR f.seed IS NOT NULL AND c.name IS NOT NULL AND m.split = '')
  AND m.step = 0 AND m.split <> 'train' AND m.condition = ''
"""


def _counted(name: str) -> str:
    """A size from the first source that has it: measured of the model, noted by a pre-training, by a training."""
    sources = [f"MAX(CASE WHEN source = {n} AND name = '{name}' AND task = '' THEN value END)" for n in (1, 2, 3)]
    return "COALESCE(" + ",\n                ".join(sources) + ")"


def _timed(aggregate: str, name: str) -> str:
    return f"{aggregate}(CASE WHEN name = '{name}' THEN value END)"


def efficiency(facts: str) -> str:
    """View efficiency over facts, or rows of it under another name."""
    return f"""
-- sizes and times of a model; parameters: count, weight and peak: bytes, times: ms a sample, low and high over tasks
SELECT experiment_id, experiment, baseline, encoder, model, MIN(position) AS position,
       {_counted("total_params")} AS total_params,
       {_counted("emb_params")} AS emb_params,
       {_counted("weight_bytes")} AS weight_bytes,
       {_counted("peak_bytes")} AS peak_bytes,
       {_timed("AVG", "pretrain_ms")} AS pretrain_ms,
       {_timed("AVG", "baseline_pretrain_ms")} AS baseline_pretrain_ms,
       {_timed("AVG", "pretrain_optimizer_ms")} AS pretrain_optimizer_ms,
       {_timed("MIN", "infer_ms")} AS infer_ms_low,
       {_timed("MAX", "infer_ms")} AS infer_ms_high,
       {_timed("MIN", "infer_text_ms")} AS infer_text_ms_low,
       {_timed("MAX", "infer_text_ms")} AS infer_text_ms_high
FROM {facts}
GROUP BY model, encoder, experiment_id, experiment, baseline
"""


VIEWS["efficiency"] = efficiency("facts")


def pcr(efficiency: str) -> str:
    """View pcr over efficiency, or rows of it under another name."""
    return f"""
-- parameter compression ratios, eq. 5 and 6: 1 - parameters / baseline's, of the whole model and of the embedding
SELECT m.experiment_id, m.experiment, m.baseline, m.encoder, m.model, m.position,
       CASE WHEN b.total_params > 0 THEN 1.0 - m.total_params / b.total_params END AS pcr_all,
       CASE WHEN b.emb_params > 0 THEN 1.0 - m.emb_params / b.emb_params END AS pcr_emb
FROM {efficiency} m
JOIN {efficiency} b ON b.experiment_id = m.experiment_id AND b.model = m.baseline
"""


VIEWS["pcr"] = pcr("efficiency")


def poep(efficiency: str) -> str:
    """View poep over efficiency, or rows of it under another name."""
    return f"""
-- proportion of embedding parameters, eq. 7: embedding / whole model
SELECT experiment_id, experiment, baseline, encoder, model, position,
       CASE WHEN total_params > 0 THEN emb_params / total_params END AS poep
FROM {efficiency}
"""


VIEWS["poep"] = poep("efficiency")


def speed_up(facts: str) -> str:
    """View speed_up over facts, or rows of it under another name."""
    return f"""
-- speed-up, eq. 8: baseline's time / model's, both measured in turn within one run; task '' where a time has no task;
-- low and high: ends of its 95 percent interval, NULL where too few pairs were measured
SELECT m.experiment_id, m.experiment, m.baseline, m.encoder, m.model, m.position, m.run_id, m.name, m.task,
       m.value AS model_ms, b.value AS baseline_ms,
       CASE WHEN m.value > 0 THEN b.value / m.value END AS value, l.value AS low, h.value AS high
FROM {facts} m
JOIN {facts} b ON b.experiment_id = m.experiment_id AND b.run_id = m.run_id AND b.model = m.model AND b.task = m.task
            AND b.name = 'baseline_' || m.name
LEFT JOIN {facts} l ON l.experiment_id = m.experiment_id AND l.run_id = m.run_id AND l.model = m.model
                 AND l.task = m.task AND l.name = m.name || '_speedup_low'
LEFT JOIN {facts} h ON h.experiment_id = m.experiment_id AND h.run_id = m.run_id AND h.model = m.model
                 AND h.task = m.task AND h.name = m.name || '_speedup_high'
WHERE SUBSTR(m.name, LENGTH(m.name) - 2) = '_ms'
"""


VIEWS["speed_up"] = speed_up("facts")


def costs(efficiency: str, pcr: str, poep: str, speed_up: str) -> str:
    """View costs over these four, or rows of them under other names."""
    return f"""
-- what a model costs, a row each: sizes and ratios (total_params, emb_params, pcr_all, pcr_emb, poep), ms a sample
-- (pt_ms, infer_ms) and speed-ups (pt_speedup, infer_speedup); value is the lowest, value_high the highest over tasks;
-- low and high: ends of the 95 percent intervals of speed-ups, the widest over tasks
SELECT experiment_id, experiment, encoder, model, position, 'total_params' AS name,
       total_params AS value, CAST(NULL AS DOUBLE PRECISION) AS value_high,
       CAST(NULL AS DOUBLE PRECISION) AS low, CAST(NULL AS DOUBLE PRECISION) AS high
FROM {efficiency}
UNION ALL
SELECT experiment_id, experiment, encoder, model, position, 'emb_params', emb_params, NULL, NULL, NULL FROM {efficiency}
UNION ALL
SELECT experiment_id, experiment, encoder, model, position, 'pcr_all', pcr_all, NULL, NULL, NULL FROM {pcr}
UNION ALL
SELECT experiment_id, experiment, encoder, model, position, 'pcr_emb', pcr_emb, NULL, NULL, NULL FROM {pcr}
UNION ALL
SELECT experiment_id, experiment, encoder, model, position, 'poep', poep, NULL, NULL, NULL FROM {poep}
UNION ALL
SELECT experiment_id, experiment, encoder, model, position, 'pt_ms', pretrain_ms, NULL, NULL, NULL FROM {efficiency}
UNION ALL
SELECT experiment_id, experiment, encoder, model, position, 'infer_ms', infer_ms_low, infer_ms_high, NULL, NULL
FROM {efficiency}
UNION ALL
SELECT experiment_id, experiment, encoder, model, MIN(position), 'pt_speedup', AVG(value), NULL, MIN(low), MAX(high)
FROM {speed_up}
WHERE name = 'pretrain_ms'
GROUP BY experiment_id, experiment, encoder, model
UNION ALL
SELECT experiment_id, experiment, encoder, model, MIN(position), 'infer_speedup', MIN(value), MAX(value),
       MIN(low), MAX(high)
FROM {speed_up}
WHERE name = 'infer_ms'
GROUP BY experiment_id, experiment, encoder, model
"""


VIEWS["costs"] = costs("efficiency", "pcr", "poep", "speed_up")

VIEWS["hashformers_table_1"] = """
-- HashFormers table 1: a score by model and task or 'average' (over n_tasks), natural range
SELECT experiment_id, experiment, encoder, model, position, task AS column_name, checkpoint, value, n, 1 AS n_tasks
FROM paper_scores
WHERE paper = 'hashformers'
UNION ALL
SELECT experiment_id, experiment, encoder, model, position, 'average', checkpoint, value, n, n_tasks
FROM paper_averages
WHERE paper = 'hashformers'
"""

VIEWS["hashformers_table_2"] = """
-- HashFormers table 2: ratios as shares, parameters as counts; checkpoint '' where a column has none
SELECT experiment_id, experiment, encoder, model, position, 'prr_' || task AS column_name, checkpoint, value, n_tasks
FROM prr
WHERE paper = 'hashformers'
UNION ALL
SELECT experiment_id, experiment, encoder, model, position, name, '', value, 0
FROM costs
WHERE name IN ('total_params', 'emb_params', 'pcr_all', 'pcr_emb', 'poep')
"""

VIEWS["hashformers_table_3"] = """
-- HashFormers table 3: ms a sample and speed-ups; value is the lowest and value_high the highest over the tasks
SELECT experiment_id, experiment, encoder, model, position, name AS column_name, value, value_high
FROM costs
WHERE name IN ('pt_ms', 'infer_ms', 'pt_speedup', 'infer_speedup')
"""

VIEWS["hashformers_table_6"] = """
-- HashFormers table 6: the rows of table 1 of a model on word pieces ('X-bpe') and of its partner on words ('X')
SELECT t.experiment_id, t.experiment, t.encoder, t.model, t.position, t.column_name, t.checkpoint,
       t.value, t.n, t.n_tasks
FROM hashformers_table_1 t
WHERE SUBSTR(t.model, LENGTH(t.model) - 3) = '-bpe'
   OR EXISTS (SELECT 1 FROM experiment_run p WHERE p.experiment_id = t.experiment_id AND p.model = t.model || '-bpe')
"""

VIEWS["run_origins"] = """
-- where a finished run was made; has_diff: 1 where the checkout had changes; git_tree: of the
-- package in that commit; packages and notes: JSON; seconds of work
SELECT f.experiment_id, f.experiment, f.encoder, f.model, f.position, f.run_id, f.kind, f.task, f.seed,
       COALESCE(v.git_commit, '') AS git_commit, CASE WHEN COALESCE(v.git_diff, '') = '' THEN 0 ELSE 1 END AS has_diff,
       COALESCE(v.hardware_name, '') AS hardware_name, COALESCE(v.packages, '{}') AS packages, a.notes,
       f.data_fingerprint, a.seconds, f.finished_at, COALESCE(v.git_tree, '') AS git_tree
FROM finished f
JOIN attempt a ON a.id = f.attempt_id
LEFT JOIN environment v ON v.id = a.environment_id
"""

VIEWS["glue_scores"] = """
-- the former name of scores, for one release
SELECT * FROM scores
"""

VIEWS["provenance"] = """
-- the former name of run_origins, for one release
SELECT * FROM run_origins
"""


def readings() -> list[dict[str, str]]:
    """Rows (paper, task, metric, split) of readings.csv: which number a paper prints for a task."""
    text = (files("hashbench.store") / "readings.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def fingerprint() -> str:
    """sha256 of all that `create` writes."""
    return hashlib.sha256(repr((VIEWS, readings())).encode()).hexdigest()


def are_current(connection: Connection) -> bool:
    """Whether a database of this schema has the views of this program."""
    known = connection.execute(sa.select(setting.c.value).where(setting.c.key == SETTING)).scalar()
    return known == fingerprint()


def create(connection: Connection) -> None:
    """Make all views and the readings; what was there under their names goes. Any number of times."""
    drop(connection)
    connection.execute(sa.delete(reading))
    connection.execute(sa.insert(reading), readings())
    for name, text in VIEWS.items():
        # psycopg takes % for a placeholder
        sql = text.replace("%", "%%") if connection.dialect.name == "postgresql" else text
        connection.exec_driver_sql(f"CREATE VIEW {name} AS{sql}")
    settings = [{"key": SETTING, "value": fingerprint()}, {"key": NAMES, "value": ",".join(VIEWS)}]
    connection.execute(sa.insert(setting), settings)


def drop(connection: Connection) -> None:
    """Take away our views, those of another version of this program too; a user's own stay."""
    names = connection.execute(sa.select(setting.c.value).where(setting.c.key == NAMES)).scalar()
    known = names.split(",") if names else []
    for name in [*reversed(known), *(name for name in reversed(VIEWS) if name not in known)]:
        connection.exec_driver_sql(f"DROP VIEW IF EXISTS {name}")
    connection.execute(sa.delete(setting).where(setting.c.key.in_((SETTING, NAMES))))


def temporary() -> list[str]:
    """Statements that lay the views of this program over a database without changing it."""
    statements = ["CREATE TEMP TABLE reading (paper TEXT, task TEXT, metric TEXT, split TEXT)"]
    for row in readings():
        values = ", ".join(f"'{value}'" for value in row.values())
        statements.append(f"INSERT INTO reading VALUES ({values})")
    return statements + [f"CREATE TEMP VIEW {name} AS{text}" for name, text in VIEWS.items()]
