BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0006');
CREATE TABLE artifact (
	attempt_id INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	url TEXT NOT NULL, 
	bytes BIGINT NOT NULL, 
	sha256 TEXT NOT NULL, 
	PRIMARY KEY (attempt_id, kind), 
	FOREIGN KEY(attempt_id) REFERENCES attempt (id)
);
INSERT INTO "artifact" VALUES(1,'weights','a',1,'ab');
INSERT INTO "artifact" VALUES(2,'weights','a',1,'ab');
INSERT INTO "artifact" VALUES(3,'weights','a',1,'ab');
CREATE TABLE attempt (
	id INTEGER NOT NULL, 
	run_id TEXT NOT NULL, 
	token TEXT NOT NULL, 
	worker TEXT NOT NULL, 
	environment_id TEXT, 
	started_at DOUBLE NOT NULL, 
	heartbeat_at DOUBLE NOT NULL, 
	lease_until DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	state TEXT NOT NULL, 
	reason TEXT, 
	log TEXT DEFAULT '' NOT NULL, 
	notes TEXT DEFAULT '{}' NOT NULL, 
	seconds DOUBLE, 
	PRIMARY KEY (id), 
	CONSTRAINT state_known CHECK (state IN ('running', 'done', 'failed', 'lost', 'interrupted', 'void')), 
	FOREIGN KEY(run_id) REFERENCES run (id), 
	UNIQUE (token), 
	FOREIGN KEY(environment_id) REFERENCES environment (id)
);
INSERT INTO "attempt" VALUES(1,'a000000000000000000000000000000000000000000000000000000000000000','ec51504efe79404a825be99ce60299a7','w','c4fa4024c6fdad2cca8874a85a52341c9b143cd6dcdcd8b34d72a43549f00371',1.79526937801900053019e+09,1.79526937801900053019e+09,1.79526943801900053026e+09,1.79526937802201795582e+09,'done',NULL,'','{}',1.0);
INSERT INTO "attempt" VALUES(2,'b000000000000000000000000000000000000000000000000000000000000000','2d93cceb86a44245beae20a306fbb981','w','c4fa4024c6fdad2cca8874a85a52341c9b143cd6dcdcd8b34d72a43549f00371',1.79526937805500936507e+09,1.79526937805500936507e+09,1.79526943805500936507e+09,1.79526937805698060986e+09,'done',NULL,'','{}',1.0);
INSERT INTO "attempt" VALUES(3,'c000000000000000000000000000000000000000000000000000000000000000','0a6008175fe94fb7b05aa6adb98500b4','w','c4fa4024c6fdad2cca8874a85a52341c9b143cd6dcdcd8b34d72a43549f00371',1.79526937807001614575e+09,1.79526937807001614575e+09,1.79526943807001614569e+09,1.79526937807898807528e+09,'done',NULL,'','{}',1.0);
CREATE TABLE content_sum (
	kind TEXT NOT NULL, 
	"of" TEXT NOT NULL, 
	sha256 TEXT NOT NULL, 
	PRIMARY KEY (kind, "of")
);
INSERT INTO "content_sum" VALUES('attempt','1','9c8e30dab737d256aa8a5a3f0c9bece43dab3524bbabd93db2857b9082b85c5d');
INSERT INTO "content_sum" VALUES('attempt','2','8c8127e6cb4ef6a5f1810dbdc9f6a540eebd9ee6f039129d34725a27f8762812');
INSERT INTO "content_sum" VALUES('attempt','3','3e133f6c9cc6a5ca52a85c4dd78de985701cfa6096593008b45742a4d192e1ed');
INSERT INTO "content_sum" VALUES('run','d000000000000000000000000000000000000000000000000000000000000000','323641e5c6d6cfaacce383997240d7cec8c8d9915374f8ad6cadd2708880bb34');
INSERT INTO "content_sum" VALUES('run','c000000000000000000000000000000000000000000000000000000000000000','409cb8784fb70cd4271edb1fef3fcc058cc399a394d32a2d33a54cc4f06ca2bb');
INSERT INTO "content_sum" VALUES('run','b000000000000000000000000000000000000000000000000000000000000000','e90be1c9412fe335fc79a752ccbcdda7731c4370f754f9c7a1cad4396c67770e');
INSERT INTO "content_sum" VALUES('run','a000000000000000000000000000000000000000000000000000000000000000','1dc9eeec5c3af176a8df508e5813106a5b53256b7e6d14a79bc2c0d24567fe79');
INSERT INTO "content_sum" VALUES('experiment','1','0914a8e3e064233019d85083bff7aa73ec12bed8835c3f12d2326af7125e158f');
INSERT INTO "content_sum" VALUES('member','1 8f5545ae07102eec03e7a8086304c088db828bce99604e879aed5942437f2554','1cf439c1f996492747d65e04f4f0ab47c1d3999ece4e2789c258ce2b68281ed3');
INSERT INTO "content_sum" VALUES('member','1 1f19344a5bac2af362173f1cafa3fbc1e04f648a8598206f731852e6722ab9ae','afc7623efdc7ced99e56fcb7ebc4ee721f167bf73a61c275fb5126ba75acf7e7');
INSERT INTO "content_sum" VALUES('member','1 2af32a0e258c7a1fc5bdddeb2e26b48865b7e85e5072f053e53295e160617a0e','b077c5cd0b29531f5928e36fee9efb321e9b0ad8070282ba830646578d125c4c');
INSERT INTO "content_sum" VALUES('member','1 323968a9c2afd611f67bafd6635fca7edffa0ed689b2687c7fca8ab3dc891f8f','7eecf5671116c78872f76b5607ab923d070312e2d4001255bb5cb0b4204c490e');
CREATE TABLE dependency (
	run_id TEXT NOT NULL, 
	needs_run_id TEXT NOT NULL, 
	PRIMARY KEY (run_id, needs_run_id), 
	FOREIGN KEY(run_id) REFERENCES run (id), 
	FOREIGN KEY(needs_run_id) REFERENCES run (id)
);
CREATE TABLE environment (
	id TEXT NOT NULL, 
	host TEXT NOT NULL, 
	git_commit TEXT NOT NULL, 
	git_diff TEXT NOT NULL, 
	packages TEXT NOT NULL, 
	hardware TEXT NOT NULL, 
	hardware_name TEXT NOT NULL, git_tree TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "environment" VALUES('c4fa4024c6fdad2cca8874a85a52341c9b143cd6dcdcd8b34d72a43549f00371','host','abc','','{"torch":"2.13.0"}','{}','machine','4b825dc642cb6eb9a060e54bf8d69288fbee4904');
CREATE TABLE experiment (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	baseline TEXT NOT NULL, 
	config TEXT NOT NULL, 
	command TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	called_at DOUBLE NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT experiment_once UNIQUE (name, fingerprint)
);
INSERT INTO "experiment" VALUES(1,'old','0c418815e2a8f6bc8eab84e5d39247923948dd1af04dfa8dd4531c35979c3c9d','bert-mlm','{"name":"old"}','hashbench sweep old.yaml',1.79526937795901298522e+09,1.79526937797100257874e+09);
CREATE TABLE experiment_run (
	experiment_id INTEGER NOT NULL, 
	run_id TEXT NOT NULL, 
	model TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	metric TEXT, 
	split TEXT, turn INTEGER DEFAULT '0' NOT NULL, free_tries INTEGER, 
	PRIMARY KEY (experiment_id, run_id, model), 
	FOREIGN KEY(experiment_id) REFERENCES experiment (id), 
	FOREIGN KEY(run_id) REFERENCES run (id)
);
INSERT INTO "experiment_run" VALUES(1,'a000000000000000000000000000000000000000000000000000000000000000','bert-mlm',0,'matthews','validation',0,NULL);
INSERT INTO "experiment_run" VALUES(1,'b000000000000000000000000000000000000000000000000000000000000000','bert-mlm',1,'matthews','validation',1,NULL);
INSERT INTO "experiment_run" VALUES(1,'c000000000000000000000000000000000000000000000000000000000000000','mine',2,'matthews','validation',2,NULL);
INSERT INTO "experiment_run" VALUES(1,'d000000000000000000000000000000000000000000000000000000000000000','mine',3,'matthews','validation',3,0);
CREATE TABLE metric (
	attempt_id INTEGER NOT NULL, 
	split TEXT NOT NULL, 
	name TEXT NOT NULL, 
	step INTEGER NOT NULL, 
	condition TEXT NOT NULL, 
	value DOUBLE, 
	reason TEXT, 
	PRIMARY KEY (attempt_id, split, name, step, condition), 
	CONSTRAINT missing_has_reason CHECK (value IS NOT NULL OR reason IS NOT NULL), 
	FOREIGN KEY(attempt_id) REFERENCES attempt (id)
)
 WITHOUT ROWID

;
INSERT INTO "metric" VALUES(1,'','best_step',0,'',3.0,NULL);
INSERT INTO "metric" VALUES(1,'','last_step',0,'',3.0,NULL);
INSERT INTO "metric" VALUES(1,'validation','matthews',3,'',0.25,NULL);
INSERT INTO "metric" VALUES(2,'','best_step',0,'',3.0,NULL);
INSERT INTO "metric" VALUES(2,'','last_step',0,'',3.0,NULL);
INSERT INTO "metric" VALUES(2,'validation','matthews',3,'',0.75,NULL);
INSERT INTO "metric" VALUES(3,'','best_step',0,'',3.0,NULL);
INSERT INTO "metric" VALUES(3,'','last_step',0,'',3.0,NULL);
INSERT INTO "metric" VALUES(3,'validation','matthews',3,'',0.25,NULL);
CREATE TABLE predictions (
	attempt_id INTEGER NOT NULL, 
	split TEXT NOT NULL, 
	checkpoint TEXT NOT NULL, 
	outputs BLOB NOT NULL, 
	targets BLOB NOT NULL, 
	index_fingerprint TEXT NOT NULL, 
	n INTEGER NOT NULL, 
	condition TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (attempt_id, split, checkpoint, condition), 
	CONSTRAINT checkpoint_known CHECK (checkpoint IN ('best', 'last')), 
	FOREIGN KEY(attempt_id) REFERENCES attempt (id)
);
INSERT INTO "predictions" VALUES(1,'validation','best',X'789C9BEC17EA1B10C9C850C650AD9E925A9C5CA46EA5A06E9366A2AEA3A09E965F54529498179F5F94920A12774BCC294E058A17672416A402F91A863A9A3A0AB50A14002E0606067B00BFF11B97',X'789C9BEC17EA1B10C9C850C650AD9E925A9C5CA46EA5A06E9366A2AEA3A09E965F54529498179F5F94920A12774BCC294E058A17672416A402F91A863A9A3A0AB50A14002E0606067B00BFF11B97','x',1,'');
INSERT INTO "predictions" VALUES(2,'validation','best',X'789C9BEC17EA1B10C9C850C650AD9E925A9C5CA46EA5A06E9366A2AEA3A09E965F54529498179F5F94920A12774BCC294E058A17672416A402F91A863A9A3A0AB50A14002E0606067B00BFF11B97',X'789C9BEC17EA1B10C9C850C650AD9E925A9C5CA46EA5A06E9366A2AEA3A09E965F54529498179F5F94920A12774BCC294E058A17672416A402F91A863A9A3A0AB50A14002E0606067B00BFF11B97','x',1,'');
INSERT INTO "predictions" VALUES(3,'validation','best',X'789C9BEC17EA1B10C9C850C650AD9E925A9C5CA46EA5A06E9366A2AEA3A09E965F54529498179F5F94920A12774BCC294E058A17672416A402F91A863A9A3A0AB50A14002E0606067B00BFF11B97',X'789C9BEC17EA1B10C9C850C650AD9E925A9C5CA46EA5A06E9366A2AEA3A09E965F54529498179F5F94920A12774BCC294E058A17672416A402F91A863A9A3A0AB50A14002E0606067B00BFF11B97','x',1,'');
CREATE TABLE reading (
	paper TEXT NOT NULL, 
	task TEXT NOT NULL, 
	metric TEXT NOT NULL, 
	split TEXT NOT NULL, 
	PRIMARY KEY (paper, task)
);
INSERT INTO "reading" VALUES('hashformers','mnli','accuracy','validation_matched');
INSERT INTO "reading" VALUES('hashformers','qnli','accuracy','validation');
INSERT INTO "reading" VALUES('hashformers','qqp','f1','validation');
INSERT INTO "reading" VALUES('hashformers','rte','accuracy','validation');
INSERT INTO "reading" VALUES('hashformers','sst2','accuracy','validation');
INSERT INTO "reading" VALUES('hashformers','mrpc','accuracy','validation');
INSERT INTO "reading" VALUES('hashformers','cola','matthews','validation');
INSERT INTO "reading" VALUES('hashformers','stsb','spearman','validation');
INSERT INTO "reading" VALUES('eelbert','cola','matthews','validation');
INSERT INTO "reading" VALUES('eelbert','sst2','accuracy','validation');
INSERT INTO "reading" VALUES('eelbert','mrpc','accuracy','validation');
INSERT INTO "reading" VALUES('eelbert','stsb','pearson','validation');
INSERT INTO "reading" VALUES('eelbert','qqp','accuracy','validation');
INSERT INTO "reading" VALUES('eelbert','mnli','accuracy','validation_matched');
INSERT INTO "reading" VALUES('eelbert','qnli','accuracy','validation');
INSERT INTO "reading" VALUES('eelbert','rte','accuracy','validation');
INSERT INTO "reading" VALUES('proformer','mrda','accuracy','test');
INSERT INTO "reading" VALUES('proformer','atis','accuracy','test');
INSERT INTO "reading" VALUES('proformer','ag_news','accuracy','test');
INSERT INTO "reading" VALUES('proformer','yahoo_answers','accuracy','test');
INSERT INTO "reading" VALUES('superbloom','*','rec@1','test');
CREATE TABLE run (
	id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	model TEXT NOT NULL, 
	task TEXT, 
	seed INTEGER, 
	encoder TEXT NOT NULL, 
	spec TEXT NOT NULL, 
	data_fingerprint TEXT, 
	state TEXT DEFAULT 'planned' NOT NULL, 
	tries INTEGER DEFAULT '0' NOT NULL, 
	finished_attempt INTEGER, 
	void_reason TEXT, 
	created_at DOUBLE NOT NULL, 
	finished_at DOUBLE, 
	PRIMARY KEY (id), 
	CONSTRAINT state_known CHECK (state IN ('planned', 'running', 'done', 'failed', 'void')), 
	CONSTRAINT done_has_results CHECK (state <> 'done' OR finished_attempt IS NOT NULL)
);
INSERT INTO "run" VALUES('d000000000000000000000000000000000000000000000000000000000000000','finetune','mine','rte',0,'tiny','{"run":"d"}',NULL,'planned',0,NULL,NULL,1.7952693779720082283e+09,NULL);
INSERT INTO "run" VALUES('c000000000000000000000000000000000000000000000000000000000000000','finetune','mine','cola',0,'tiny','{"run":"c"}',NULL,'done',0,3,NULL,1.7952693779720082283e+09,1.79526937807999396323e+09);
INSERT INTO "run" VALUES('b000000000000000000000000000000000000000000000000000000000000000','finetune','bert-mlm','cola',1,'tiny','{"run":"b"}',NULL,'done',0,2,NULL,1.7952693779720082283e+09,1.79526937805798649785e+09);
INSERT INTO "run" VALUES('a000000000000000000000000000000000000000000000000000000000000000','finetune','bert-mlm','cola',0,'tiny','{"run":"a"}',NULL,'done',0,1,NULL,1.7952693779720082283e+09,1.79526937803300166126e+09);
CREATE TABLE setting (
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "setting" VALUES('views','6ef7b47bd80eafe2fa75a7bd90aa7a21ba0aad3abda32583a0364c0736cd2876');
INSERT INTO "setting" VALUES('view_names','finished,evaluated,scores,scores_by_condition,robustness,robustness_facts,scores_by_model,paper_scores,paper_averages,prr,facts,efficiency,pcr,poep,speed_up,costs,run_origins');
CREATE INDEX experiment_run_by_run ON experiment_run (run_id);
CREATE INDEX dependency_by_need ON dependency (needs_run_id);
CREATE INDEX attempt_by_run ON attempt (run_id);
CREATE INDEX attempt_by_lease ON attempt (state, lease_until);
CREATE UNIQUE INDEX one_running_attempt ON attempt (run_id) WHERE state = 'running';
CREATE INDEX experiment_run_free ON experiment_run (experiment_id, turn, free_tries) WHERE free_tries IS NOT NULL;
CREATE VIEW finished AS
-- a finished run under each label that an experiment gives it
SELECT er.experiment_id, e.name AS experiment, e.baseline, r.encoder, er.model, er.position, r.id AS run_id, r.kind,
       r.task, r.seed, r.data_fingerprint, r.finished_attempt AS attempt_id, r.finished_at,
       er.metric AS own_metric, er.split AS own_split
FROM experiment_run er
JOIN experiment e ON e.id = er.experiment_id
JOIN run r ON r.id = er.run_id
WHERE r.state = 'done';
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
COMMIT;
