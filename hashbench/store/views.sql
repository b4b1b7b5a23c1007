-- The views: all that readers see of the results, in the dialect that SQLite and PostgreSQL share.
--
-- Values are in their natural range: scores and shares 0 to 1, times in ms, sizes in bytes; the report multiplies and
-- rounds. Of an experiment file that was changed and swept again the newest version counts: every view but the first has
-- it alone, so that a name is one experiment. The equations are those of the HashFormers paper (Xue and Aletras 2022),
-- section 4.4, with the baseline that the experiment names. A run of any kind is read by its stored metrics. A view reads
-- tables and views above it.

CREATE VIEW finished_versions AS
-- a finished run under each label that a version of an experiment gives it; filter by experiment_id, since the versions
-- share a name
SELECT er.experiment_id, e.name AS experiment, e.baseline, r.encoder, er.model, er.position, r.id AS run_id, r.kind,
       r.task, r.seed, r.data_fingerprint, r.finished_attempt AS attempt_id, r.finished_at,
       er.metric AS own_metric, er.split AS own_split
FROM experiment_run er
JOIN experiment e ON e.id = er.experiment_id
JOIN run r ON r.id = er.run_id
WHERE r.state = 'done';

CREATE VIEW finished AS
-- the same of the newest version of each experiment, the one that was swept last
SELECT experiment_id, experiment, baseline, encoder, model, position, run_id, kind, task, seed, data_fingerprint,
       attempt_id, finished_at, own_metric, own_split
FROM finished_versions
WHERE experiment_id IN (
    SELECT e.id FROM experiment e WHERE NOT EXISTS (
        SELECT 1 FROM experiment later WHERE later.name = e.name
        AND (later.called_at > e.called_at OR later.called_at = e.called_at AND later.id > e.id)
    )
);

CREATE VIEW evaluated AS
-- a score at the best and at the last evaluation of a run on a task that names these steps, as trainings and trivial
-- baselines do, plain or under a condition; value: natural range; own: 1 where the experiment's own table reads this
-- metric and split
SELECT f.experiment_id, f.experiment, f.baseline, f.encoder, f.model, f.position, f.kind, f.task, f.seed,
       s.name AS metric, s.split, s.condition, CASE c.name WHEN 'best_step' THEN 'best' ELSE 'last' END AS checkpoint,
       s.step, s.value, s.reason, f.data_fingerprint, f.run_id, f.attempt_id,
       CASE WHEN s.name = f.own_metric AND s.split = f.own_split THEN 1 ELSE 0 END AS own
FROM finished f
JOIN metric c ON c.attempt_id = f.attempt_id AND c.split = '' AND c.name IN ('best_step', 'last_step') AND c.step = 0
JOIN metric s ON s.attempt_id = f.attempt_id AND s.step = CAST(c.value AS INTEGER)
WHERE f.task IS NOT NULL AND (s.condition <> '' OR s.split NOT IN ('', 'train'));

CREATE VIEW scores AS
-- a score at the best and at the last evaluation of a run on a task that names these steps, as trainings and trivial
-- baselines do; value: natural range; own: 1 where the experiment's own table reads this metric and split
SELECT experiment_id, experiment, baseline, encoder, model, position, kind, task, seed, metric, split, checkpoint,
       step, value, reason, data_fingerprint, run_id, attempt_id, own
FROM evaluated
WHERE condition = '';

CREATE VIEW scores_by_condition AS
-- a score of the reported model under another way of evaluating (condition: a beam width, a decile of the cases ...)
SELECT experiment_id, experiment, encoder, model, position, kind, task, seed, metric, split, condition, value, reason,
       data_fingerprint, run_id
FROM evaluated
WHERE condition <> '' AND checkpoint = 'best';

CREATE VIEW robustness AS
-- a score of a fine-tuned model on perturbed texts (condition 'swap=0.05': kind and share of the words changed; '':
-- the texts as they are); value: natural range; own: 1 where the experiment's own table reads this metric and split
SELECT f.experiment_id, f.experiment, f.baseline, f.encoder, f.model, f.position, f.task, f.seed,
       m.name AS metric, m.split, m.condition, m.value, m.reason, f.data_fingerprint,
       f.run_id, f.attempt_id,
       CASE WHEN m.name = f.own_metric AND m.split = f.own_split THEN 1 ELSE 0 END AS own
FROM finished f
JOIN metric m ON m.attempt_id = f.attempt_id
WHERE f.kind = 'robustness' AND m.split <> '';

CREATE VIEW robustness_facts AS
-- of a data set under a condition: shares of words changed, and of types and tokens that no pre-training saw; of a
-- model's coder on its types: types per bucket, share of tokens that share their code, agreement of misspelled words
SELECT f.experiment_id, f.experiment, f.encoder, f.model, f.position, f.task, f.seed,
       m.name, m.condition, m.value, m.reason, f.run_id
FROM finished f
JOIN metric m ON m.attempt_id = f.attempt_id
WHERE f.kind = 'robustness' AND m.split = '';

CREATE VIEW scores_by_model AS
-- mean over seeds; n: seeds with a value, n_missing: finished seeds whose score is undefined
SELECT experiment_id, experiment, baseline, encoder, model, MIN(position) AS position, task, metric, split, checkpoint,
       data_fingerprint, own, AVG(value) AS value, COUNT(value) AS n, COUNT(*) - COUNT(value) AS n_missing, kind
FROM scores
GROUP BY experiment_id, experiment, baseline, encoder, model, kind, task, metric, split, checkpoint, data_fingerprint,
         own;

CREATE VIEW paper_scores AS
-- the one number of a model and task that a paper reads (table reading; task '*' is any that has the metric), a mean
-- over seeds also where the paper prints medians; paper 'own': that the experiment itself reads
SELECT s.experiment_id, s.experiment, s.baseline, s.encoder, s.model, s.position, p.paper, s.task, s.checkpoint,
       s.metric, s.split, s.data_fingerprint, s.value, s.n, s.n_missing, s.kind
FROM scores_by_model s
JOIN reading p ON p.task IN (s.task, '*') AND p.metric = s.metric AND p.split = s.split
WHERE s.kind NOT IN (SELECT SUBSTR(key, 12) FROM setting WHERE key LIKE 'metrics of %' AND value <> 'training')
UNION ALL
SELECT experiment_id, experiment, baseline, encoder, model, position, 'own', task, checkpoint,
       metric, split, data_fingerprint, value, n, n_missing, kind
FROM scores_by_model s
WHERE own = 1;

CREATE VIEW paper_averages AS
-- unweighted mean of the tasks' means without further sets; n_tasks: with a value, compare only where it is equal
SELECT experiment_id, experiment, baseline, encoder, model, MIN(position) AS position, paper, checkpoint,
       AVG(value) AS value, COUNT(value) AS n_tasks, MIN(n) AS n
FROM paper_scores
WHERE value IS NOT NULL AND kind NOT LIKE 'evaluation%'
  AND kind NOT IN (SELECT SUBSTR(key, 12) FROM setting WHERE key LIKE 'metrics of %' AND value <> 'training')
GROUP BY experiment_id, experiment, baseline, encoder, model, paper, checkpoint;

CREATE VIEW prr AS
-- performance retention ratio, eq. 4: score / baseline score on the means over seeds, a share; task 'average': ratio of
-- the average scores over the n_tasks that both have (not the mean of the ratios); a baseline of 0 or less gives none
SELECT m.experiment_id, m.experiment, m.baseline, m.encoder, m.model, m.position, m.paper, m.task, m.checkpoint,
       CASE WHEN b.value > 0 THEN m.value / b.value END AS value,
       m.value AS score, b.value AS baseline_score, 1 AS n_tasks
FROM paper_scores m
JOIN paper_scores b ON b.experiment_id = m.experiment_id AND b.paper = m.paper AND b.task = m.task
                   AND b.checkpoint = m.checkpoint AND b.model = m.baseline
UNION ALL
SELECT m.experiment_id, m.experiment, m.baseline, m.encoder, m.model, MIN(m.position), m.paper, 'average', m.checkpoint,
       CASE WHEN AVG(b.value) > 0 THEN AVG(m.value) / AVG(b.value) END,
       AVG(m.value), AVG(b.value), COUNT(*)
FROM paper_scores m
JOIN paper_scores b ON b.experiment_id = m.experiment_id AND b.paper = m.paper AND b.task = m.task
                   AND b.checkpoint = m.checkpoint AND b.model = m.baseline
WHERE m.value IS NOT NULL AND b.value IS NOT NULL AND m.kind NOT LIKE 'evaluation%'
  AND m.kind NOT IN (SELECT SUBSTR(key, 12) FROM setting WHERE key LIKE 'metrics of %' AND value <> 'training')
GROUP BY m.experiment_id, m.experiment, m.baseline, m.encoder, m.model, m.paper, m.checkpoint;

CREATE VIEW facts AS
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
  AND m.step = 0 AND m.split <> 'train' AND m.condition = '';

CREATE VIEW efficiency AS
-- sizes and times of a model; parameters: count, weight and peak: bytes, times: ms a sample, low and high over tasks
SELECT experiment_id, experiment, baseline, encoder, model, MIN(position) AS position,
       COALESCE(MAX(CASE WHEN source = 1 AND name = 'total_params' AND task = '' THEN value END),
                MAX(CASE WHEN source = 2 AND name = 'total_params' AND task = '' THEN value END),
                MAX(CASE WHEN source = 3 AND name = 'total_params' AND task = '' THEN value END)) AS total_params,
       COALESCE(MAX(CASE WHEN source = 1 AND name = 'emb_params' AND task = '' THEN value END),
                MAX(CASE WHEN source = 2 AND name = 'emb_params' AND task = '' THEN value END),
                MAX(CASE WHEN source = 3 AND name = 'emb_params' AND task = '' THEN value END)) AS emb_params,
       COALESCE(MAX(CASE WHEN source = 1 AND name = 'weight_bytes' AND task = '' THEN value END),
                MAX(CASE WHEN source = 2 AND name = 'weight_bytes' AND task = '' THEN value END),
                MAX(CASE WHEN source = 3 AND name = 'weight_bytes' AND task = '' THEN value END)) AS weight_bytes,
       COALESCE(MAX(CASE WHEN source = 1 AND name = 'peak_bytes' AND task = '' THEN value END),
                MAX(CASE WHEN source = 2 AND name = 'peak_bytes' AND task = '' THEN value END),
                MAX(CASE WHEN source = 3 AND name = 'peak_bytes' AND task = '' THEN value END)) AS peak_bytes,
       AVG(CASE WHEN name = 'pretrain_ms' THEN value END) AS pretrain_ms,
       AVG(CASE WHEN name = 'baseline_pretrain_ms' THEN value END) AS baseline_pretrain_ms,
       AVG(CASE WHEN name = 'pretrain_optimizer_ms' THEN value END) AS pretrain_optimizer_ms,
       MIN(CASE WHEN name = 'infer_ms' THEN value END) AS infer_ms_low,
       MAX(CASE WHEN name = 'infer_ms' THEN value END) AS infer_ms_high,
       MIN(CASE WHEN name = 'infer_text_ms' THEN value END) AS infer_text_ms_low,
       MAX(CASE WHEN name = 'infer_text_ms' THEN value END) AS infer_text_ms_high
FROM facts
GROUP BY model, encoder, experiment_id, experiment, baseline;

CREATE VIEW pcr AS
-- parameter compression ratios, eq. 5 and 6: 1 - parameters / baseline's, of the whole model and of the embedding
SELECT m.experiment_id, m.experiment, m.baseline, m.encoder, m.model, m.position,
       CASE WHEN b.total_params > 0 THEN 1.0 - m.total_params / b.total_params END AS pcr_all,
       CASE WHEN b.emb_params > 0 THEN 1.0 - m.emb_params / b.emb_params END AS pcr_emb
FROM efficiency m
JOIN efficiency b ON b.experiment_id = m.experiment_id AND b.model = m.baseline;

CREATE VIEW poep AS
-- proportion of embedding parameters, eq. 7: embedding / whole model
SELECT experiment_id, experiment, baseline, encoder, model, position,
       CASE WHEN total_params > 0 THEN emb_params / total_params END AS poep
FROM efficiency;

CREATE VIEW speed_up AS
-- speed-up, eq. 8: baseline's time / model's, both measured in turn within one run; task '' where a time has no task;
-- low and high: ends of its 95 percent interval, NULL where too few pairs were measured
SELECT m.experiment_id, m.experiment, m.baseline, m.encoder, m.model, m.position, m.run_id, m.name, m.task,
       m.value AS model_ms, b.value AS baseline_ms,
       CASE WHEN m.value > 0 THEN b.value / m.value END AS value, l.value AS low, h.value AS high
FROM facts m
JOIN facts b ON b.experiment_id = m.experiment_id AND b.run_id = m.run_id AND b.model = m.model AND b.task = m.task
            AND b.name = 'baseline_' || m.name
LEFT JOIN facts l ON l.experiment_id = m.experiment_id AND l.run_id = m.run_id AND l.model = m.model
                 AND l.task = m.task AND l.name = m.name || '_speedup_low'
LEFT JOIN facts h ON h.experiment_id = m.experiment_id AND h.run_id = m.run_id AND h.model = m.model
                 AND h.task = m.task AND h.name = m.name || '_speedup_high'
WHERE SUBSTR(m.name, LENGTH(m.name) - 2) = '_ms';

CREATE VIEW costs AS
-- what a model costs, a row each: sizes and ratios (total_params, emb_params, pcr_all, pcr_emb, poep), ms a sample
-- (pt_ms, infer_ms) and speed-ups (pt_speedup, infer_speedup); value is the lowest, value_high the highest over tasks;
-- low and high: ends of the 95 percent intervals of speed-ups, the widest over tasks
SELECT experiment_id, experiment, encoder, model, position, 'total_params' AS name,
       total_params AS value, CAST(NULL AS DOUBLE PRECISION) AS value_high,
       CAST(NULL AS DOUBLE PRECISION) AS low, CAST(NULL AS DOUBLE PRECISION) AS high
FROM efficiency
UNION ALL
SELECT experiment_id, experiment, encoder, model, position, 'emb_params', emb_params, NULL, NULL, NULL FROM efficiency
UNION ALL
SELECT experiment_id, experiment, encoder, model, position, 'pcr_all', pcr_all, NULL, NULL, NULL FROM pcr
UNION ALL
SELECT experiment_id, experiment, encoder, model, position, 'pcr_emb', pcr_emb, NULL, NULL, NULL FROM pcr
UNION ALL
SELECT experiment_id, experiment, encoder, model, position, 'poep', poep, NULL, NULL, NULL FROM poep
UNION ALL
SELECT experiment_id, experiment, encoder, model, position, 'pt_ms', pretrain_ms, NULL, NULL, NULL FROM efficiency
UNION ALL
SELECT experiment_id, experiment, encoder, model, position, 'infer_ms', infer_ms_low, infer_ms_high, NULL, NULL
FROM efficiency
UNION ALL
SELECT experiment_id, experiment, encoder, model, MIN(position), 'pt_speedup', AVG(value), NULL, MIN(low), MAX(high)
FROM speed_up
WHERE name = 'pretrain_ms'
GROUP BY experiment_id, experiment, encoder, model
UNION ALL
SELECT experiment_id, experiment, encoder, model, MIN(position), 'infer_speedup', MIN(value), MAX(value),
       MIN(low), MAX(high)
FROM speed_up
WHERE name = 'infer_ms'
GROUP BY experiment_id, experiment, encoder, model;

CREATE VIEW run_origins AS
-- where a finished run was made; has_diff: 1 where the checkout had changes; git_tree: of the
-- package in that commit; packages and notes: JSON; seconds of work
SELECT f.experiment_id, f.experiment, f.encoder, f.model, f.position, f.run_id, f.kind, f.task, f.seed,
       COALESCE(v.git_commit, '') AS git_commit, CASE WHEN COALESCE(v.git_diff, '') = '' THEN 0 ELSE 1 END AS has_diff,
       COALESCE(v.hardware_name, '') AS hardware_name, COALESCE(v.packages, '{}') AS packages, a.notes,
       f.data_fingerprint, a.seconds, f.finished_at, COALESCE(v.git_tree, '') AS git_tree
FROM finished f
JOIN attempt a ON a.id = f.attempt_id
LEFT JOIN environment v ON v.id = a.environment_id;
