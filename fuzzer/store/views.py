"""Which questions does runs.db answer in plain SQL? One view a question.

`run_states`: how did each run go? `boundaries`: where are the edges? `deaths_by_run`: what did each run kill, and
how? `decisions`: why was each length asked, and what came of it? `recommendations`: which caps were recommended, on
which evidence? `latest_cap_per_model`: what is safe, as far as we know? `timeline`: what happened, row by row?
`coverage`: what did the samples of a fuzz cover?
"""

from __future__ import annotations

from typing import Final

VIEWS: Final = """
-- The seal that stands: a run that was resumed after it is open again.
CREATE VIEW standing_seals AS
SELECT s.*, c.hash AS head FROM seals s JOIN chain c USING (run, position)
WHERE s.position > (SELECT coalesce(max(position), 0) FROM resumes r WHERE r.run = s.run)
  AND s.position = (SELECT max(position) FROM seals t WHERE t.run = s.run);

CREATE VIEW run_states AS
SELECT
    runs.run, command, url, model, engine, engine_version, advertised_limit_tokens, plan,
    runs.at_utc AS started_utc, s.at_utc AS ended_utc, coalesce(s.status, 'open') AS status,
    s.finding, s.last_good_tokens, s.first_bad_tokens, s.cap_tokens,
    (SELECT count(*) FROM outcomes o WHERE o.run = runs.run) AS probes,
    (SELECT count(*) FROM canaries k WHERE k.run = runs.run) AS canaries,
    (SELECT count(*) FROM deaths d WHERE d.run = runs.run) AS deaths,
    s.position AS sealed_rows, s.head AS chain_head
FROM runs LEFT JOIN standing_seals s ON s.run = runs.run;

CREATE VIEW boundaries AS
SELECT run, url, model, engine, engine_version, advertised_limit_tokens, finding, last_good_tokens, first_bad_tokens,
    cap_tokens, probes, deaths, ended_utc
FROM run_states
WHERE finding IN ('death', 'error', 'hang', 'truncated', 'garbled', 'degraded');

CREATE VIEW deaths_by_run AS
SELECT
    r.run, r.url, r.model, r.engine_version, count(*) AS deaths,
    sum(d.corroboration = 'proven') AS proven, sum(d.corroboration = 'presumed') AS presumed,
    min(o.length_tokens) AS shortest_deadly_tokens, group_concat(DISTINCT nullif(d.signature, '')) AS signatures
FROM deaths d JOIN runs r USING (run) LEFT JOIN outcomes o ON o.run = d.run AND o.seq = d.seq
GROUP BY r.run;

CREATE VIEW decisions AS
SELECT p.run, p.seq, p.at_utc, p.at_s, p.role, p.asked_tokens, p.output_tokens, p.reason, o.outcome, o.length_tokens
FROM probes p LEFT JOIN outcomes o USING (run, seq);

CREATE VIEW recommendations AS
SELECT
    s.run, r.model, r.engine, r.engine_version, r.url, r.advertised_limit_tokens, s.cap_tokens, s.finding,
    s.last_good_tokens, s.first_bad_tokens, s.verified_up_to_tokens,
    s.finding_json ->> '$.confidence.last_good_passes' AS last_good_passes,
    s.finding_json ->> '$.confidence.first_bad_failures' AS first_bad_failures,
    s.finding_json ->> '$.confidence.failure_rate_upper_95' AS failure_rate_upper_95,
    s.finding_json ->> '$.cause' AS cause, s.finding_json -> '$.assumes' AS assumes_json, s.at_utc
FROM standing_seals s JOIN runs r USING (run)
WHERE s.cap_tokens IS NOT NULL;

CREATE VIEW latest_cap_per_model AS
SELECT model, engine, engine_version, url, cap_tokens, finding, run, max(ended_utc) AS ended_utc
FROM run_states
WHERE status = 'done' AND cap_tokens IS NOT NULL
GROUP BY model, engine, engine_version, url;

CREATE VIEW timeline AS
SELECT run, position, at_utc, 0.0 AS at_s, 'run' AS kind, command || ' ' || url AS what FROM runs
UNION ALL SELECT run, position, at_utc, at_s, 'resume', user || '@' || host FROM resumes
UNION ALL SELECT run, position, at_utc, at_s, 'intent',
    'probe ' || seq || ': ' || asked_tokens || ' + ' || output_tokens || ' tokens, ' || role || ': ' || reason
    FROM probes
UNION ALL SELECT run, position, at_utc, ended_s, 'outcome',
    'probe ' || seq || ': ' || outcome || ' at ' || length_tokens || ' tokens' FROM outcomes
UNION ALL SELECT run, position, at_utc, at_s, 'canary', purpose || iif(ok, ': fine', ': ' || fault) FROM canaries
UNION ALL SELECT run, position, at_utc, at_s, 'health', coalesce(status, fault) || ' ' || detail FROM health_events
UNION ALL SELECT run, position, at_utc, at_s, 'death', corroboration || coalesce(', probe ' || seq, '') FROM deaths
UNION ALL SELECT run, position, at_utc, at_s, 'revival',
    iif(came_back, 'back after ', 'not back after ') || round(took_s, 1) || ' s' FROM revivals
UNION ALL SELECT run, position, at_utc, at_s, 'note', text FROM notes
UNION ALL SELECT run, position, at_utc, at_s, 'seal', status || coalesce(': ' || finding, '') FROM seals;
"""

# What the samples of `fuzz` were sent under, and how many of them passed: a row for each value of each condition.
COVERAGE: Final = """
CREATE VIEW coverage AS
WITH samples AS (
    SELECT p.run, p.spec_json AS spec, o.outcome IN ('pass', 'degraded') AS passed
    FROM probes p JOIN outcomes o USING (run, seq)
    WHERE p.role = 'fuzz' AND o.outcome NOT IN ('abandoned', 'busy', 'infra')
), told AS (
    SELECT run, 'content' AS condition, spec ->> '$.content' AS value, passed FROM samples
    UNION ALL SELECT run, 'mode', spec ->> '$.mode', passed FROM samples
    UNION ALL SELECT run, 'stream', iif(spec ->> '$.stream', 'yes', 'no'), passed FROM samples
    UNION ALL SELECT run, 'temperature', spec ->> '$.temperature', passed FROM samples
    UNION ALL SELECT run, 'companions', json_array_length(spec, '$.companions'), passed FROM samples
    UNION ALL SELECT run, 'cache', iif(spec ->> '$.shared' IS NULL, spec ->> '$.cache', 'partly warm'), passed
        FROM samples
    UNION ALL SELECT run, 'max_tokens', CASE
        WHEN spec ->> '$.omit_max_tokens' THEN 'not said'
        WHEN spec ->> '$.stop_after' IS NOT NULL THEN 'more than is read'
        ELSE 'what is read' END, passed FROM samples
)
SELECT run, condition, CAST(value AS TEXT) AS value, count(*) AS samples, sum(passed) AS passes
FROM told GROUP BY run, condition, value;
"""


# In which order were the runs made? As they were begun, whatever the clock said. Time only places those that `merge`
# took in, in the order that they had, among the runs that were here.
def in_order(question: str = "m.question_json") -> str:
    """The query that numbers the runs; `question` is the JSON of a merge `m`."""
    return f"""
SELECT run, row_number() OVER (ORDER BY since, arrival) AS nth
FROM (
    SELECT r.run, r.rowid AS arrival, CASE WHEN came.with_merge IS NULL
        THEN max(r.at_utc) OVER (ORDER BY r.rowid)
        ELSE max(r.at_utc) OVER (PARTITION BY came.with_merge ORDER BY r.rowid) END AS since
    FROM runs r LEFT JOIN (
        SELECT told.value AS run, max(m.rowid) AS with_merge
        FROM runs m JOIN json_each({question}, '$.runs') told
        WHERE m.plan = 'merge' GROUP BY told.value
    ) came ON came.run = r.run AND r.rowid < came.with_merge
)
"""  # noqa: S608  (our own words)


LATEST: Final = f"""
DROP VIEW latest_cap_per_model;
CREATE VIEW latest_cap_per_model AS
SELECT model, engine, engine_version, url, cap_tokens, finding, run, ended_utc
FROM (
    SELECT s.*, row_number() OVER (PARTITION BY model, engine, engine_version, url ORDER BY nth DESC) AS back
    FROM run_states s JOIN ({in_order()}) USING (run)
    WHERE status = 'done' AND cap_tokens IS NOT NULL
)
WHERE back = 1;
"""  # noqa: S608  (our own names)
