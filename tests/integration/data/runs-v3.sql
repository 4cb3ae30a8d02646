PRAGMA application_id = 1668577382;
PRAGMA user_version = 3;
BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
) STRICT;
INSERT INTO "_sqlite_migrations" VALUES(1,'ctxfuzz','0001_runs','2026-11-30 01:35:19.589321+00:00');
INSERT INTO "_sqlite_migrations" VALUES(2,'ctxfuzz','0002_coverage','2026-11-30 01:35:19.589820+00:00');
INSERT INTO "_sqlite_migrations" VALUES(3,'ctxfuzz','0003_relapses','2026-11-30 01:35:19.591283+00:00');
CREATE TABLE canaries (
    run TEXT NOT NULL,
    position INTEGER NOT NULL,
    at_utc TEXT NOT NULL,

    at_s REAL NOT NULL,
    seq INTEGER,
    purpose TEXT NOT NULL,
    canary_json TEXT NOT NULL,
    ok INTEGER GENERATED ALWAYS AS (canary_json ->> '$.ok') VIRTUAL,
    duration_s REAL GENERATED ALWAYS AS (canary_json ->> '$.duration_s') VIRTUAL,
    status INTEGER GENERATED ALWAYS AS (canary_json ->> '$.status') VIRTUAL,
    fault TEXT GENERATED ALWAYS AS (canary_json ->> '$.fault') VIRTUAL,
    FOREIGN KEY (run, seq) REFERENCES probes (run, seq),
    
    PRIMARY KEY (run, position),
    FOREIGN KEY (run, position) REFERENCES chain (run, position) DEFERRABLE INITIALLY DEFERRED

) STRICT;
INSERT INTO "canaries" VALUES('1m8n1f6hxw01',5,'2026-11-30T01:35:19.643Z',1.6,1,'after-probe','{"ok":true,"duration_s":0.1,"status":null,"fault":"","timed_out":false,"busy":false,"error":"","text":"","garble":""}');
INSERT INTO "canaries" VALUES('1m8n1f6hxw01',8,'2026-11-30T01:35:19.661Z',2.6,2,'after-probe','{"ok":true,"duration_s":0.1,"status":null,"fault":"","timed_out":false,"busy":false,"error":"","text":"","garble":""}');
INSERT INTO "canaries" VALUES('1m8n1f6hxw01',11,'2026-11-30T01:35:19.669Z',3.6,3,'after-probe','{"ok":true,"duration_s":0.1,"status":null,"fault":"","timed_out":false,"busy":false,"error":"","text":"","garble":""}');
CREATE TABLE chain (
    run TEXT NOT NULL,
    position INTEGER NOT NULL CHECK (position > 0),
    kind TEXT NOT NULL,
    hash TEXT NOT NULL CHECK (length(hash) = 64),
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "chain" VALUES('1m8n1f6hxw01',1,'runs','0c5a9087ccfcbafde2986705e460c5778d6042c51ca332141324791290526d8e');
INSERT INTO "chain" VALUES('1m8n1f6hxw01',2,'health_events','5d4019d30be2ee84d4d00cb5e5209ac105f122f69c7002cef7ea6b01cb773619');
INSERT INTO "chain" VALUES('1m8n1f6hxw01',3,'probes','d33792ccb5d790003740c082b4dbc7a67500529effd0bd654f5aaa32a5f52f1c');
INSERT INTO "chain" VALUES('1m8n1f6hxw01',4,'outcomes','e1bacd046f149779c624f27fa169b2e5a7b901d2df482b4722d50c558d8f7bde');
INSERT INTO "chain" VALUES('1m8n1f6hxw01',5,'canaries','ac0d8e334562a824f9f80d221a53687da18930a14c91d17c4e2decb0903caac6');
INSERT INTO "chain" VALUES('1m8n1f6hxw01',6,'probes','33683277815126701e26fe9b809ecaa38066f0062e1900b61a8e839dfa426382');
INSERT INTO "chain" VALUES('1m8n1f6hxw01',7,'outcomes','f863d9f5ee8222370fc037182abe4ba46ef1e8d3ef54f5c7d64a15ef2ca2a01e');
INSERT INTO "chain" VALUES('1m8n1f6hxw01',8,'canaries','a2f73a46512a45a6fd96e454dc4e59b6da946f397af18403c73879528c85ee3f');
INSERT INTO "chain" VALUES('1m8n1f6hxw01',9,'probes','a0516740ccfb13f44073b3d58672efb1f47d0afa11496909b576d354b7ffb1e6');
INSERT INTO "chain" VALUES('1m8n1f6hxw01',10,'outcomes','cf98536ae6e660b97f54a5e42cc77fcfcb0f3f5b9932e3d74acc7febdd73ec6c');
INSERT INTO "chain" VALUES('1m8n1f6hxw01',11,'canaries','7d49f3d03a78f4538c979ca6eee317182b296a889b6caee8f0f4ab5b4275f017');
INSERT INTO "chain" VALUES('1m8n1f6hxw01',12,'health_events','1682ba759996ee5e87cffb7eba1c5d185ab32a5800cf61f210582f9b51fcac7a');
INSERT INTO "chain" VALUES('1m8n1f6hxw01',13,'deaths','24c2bfe9ba38ad76463cc71f6a71359f2317f0e36782b824c0459bb3d3911eee');
INSERT INTO "chain" VALUES('1m8n1f6hxw01',14,'revivals','1f40e3976688b28f013333981ffebe902b5b6099c1ff4c5fedc2515ca344b7b2');
INSERT INTO "chain" VALUES('1m8n1f6hxw01',15,'health_events','1fc4b8febfcf0ea7c1ec9a2451d90656076dd6f0063a5f4ba203bd2a4c175872');
INSERT INTO "chain" VALUES('1m8n1f6hxw01',16,'notes','13c1b9f8cc48e641f19bc0567de377d1f40dd38ea89b1fe1a13f851112be62de');
INSERT INTO "chain" VALUES('1m8n1f6hxw01',17,'seals','e3aa39f8ab835a4dfb3d2dd0f1c048d9cb562969ef1baeebce2334b96ef764db');
CREATE TABLE deaths (
    run TEXT NOT NULL,
    position INTEGER NOT NULL,
    at_utc TEXT NOT NULL,

    at_s REAL NOT NULL,
    seq INTEGER,
    corroboration TEXT NOT NULL,
    signature TEXT NOT NULL,
    last_words TEXT NOT NULL,
    FOREIGN KEY (run, seq) REFERENCES probes (run, seq),
    
    PRIMARY KEY (run, position),
    FOREIGN KEY (run, position) REFERENCES chain (run, position) DEFERRABLE INITIALLY DEFERRED

) STRICT;
INSERT INTO "deaths" VALUES('1m8n1f6hxw01',13,'2026-11-30T01:35:19.684Z',3.6,3,'proven','</style><script>alert(1)</script><img src=x onerror=alert(1)>[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp','line one
</style><script>alert(1)</script><img src=x onerror=alert(1)>[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp');
CREATE TABLE health_events (
    run TEXT NOT NULL,
    position INTEGER NOT NULL,
    at_utc TEXT NOT NULL,

    at_s REAL NOT NULL,
    status INTEGER,
    fault TEXT,
    detail TEXT NOT NULL,
    
    PRIMARY KEY (run, position),
    FOREIGN KEY (run, position) REFERENCES chain (run, position) DEFERRABLE INITIALLY DEFERRED

) STRICT;
INSERT INTO "health_events" VALUES('1m8n1f6hxw01',2,'2026-11-30T01:35:19.617Z',0.1,200,NULL,'');
INSERT INTO "health_events" VALUES('1m8n1f6hxw01',12,'2026-11-30T01:35:19.674Z',3.5,NULL,'refused','');
INSERT INTO "health_events" VALUES('1m8n1f6hxw01',15,'2026-11-30T01:35:19.688Z',5.0,200,NULL,'');
CREATE TABLE notes (
    run TEXT NOT NULL,
    position INTEGER NOT NULL,
    at_utc TEXT NOT NULL,

    at_s REAL NOT NULL,
    level TEXT NOT NULL,
    text TEXT NOT NULL,
    hint TEXT NOT NULL,
    
    PRIMARY KEY (run, position),
    FOREIGN KEY (run, position) REFERENCES chain (run, position) DEFERRABLE INITIALLY DEFERRED

) STRICT;
INSERT INTO "notes" VALUES('1m8n1f6hxw01',16,'2026-11-30T01:35:19.695Z',5.0,'info','</style><script>alert(1)</script><img src=x onerror=alert(1)>[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp','');
CREATE TABLE outcomes (
    run TEXT NOT NULL,
    position INTEGER NOT NULL,
    at_utc TEXT NOT NULL,

    seq INTEGER NOT NULL,
    observation_json TEXT NOT NULL,
    evidence_json TEXT NOT NULL,
    outcome TEXT GENERATED ALWAYS AS (observation_json ->> '$.outcome') VIRTUAL,
    length_tokens INTEGER GENERATED ALWAYS AS (observation_json ->> '$.length') VIRTUAL,
    length_source TEXT GENERATED ALWAYS AS (observation_json ->> '$.length_source') VIRTUAL,
    reason TEXT GENERATED ALWAYS AS (observation_json ->> '$.reason') VIRTUAL,
    corroboration TEXT GENERATED ALWAYS AS (observation_json ->> '$.corroboration') VIRTUAL,
    clamped INTEGER GENERATED ALWAYS AS (observation_json ->> '$.clamped') VIRTUAL,
    contended INTEGER GENERATED ALWAYS AS (observation_json ->> '$.contended') VIRTUAL,
    wedged INTEGER GENERATED ALWAYS AS (observation_json ->> '$.wedged') VIRTUAL,
    deaths INTEGER GENERATED ALWAYS AS (observation_json ->> '$.deaths') VIRTUAL,
    completion_tokens INTEGER GENERATED ALWAYS AS (observation_json ->> '$.completion_tokens') VIRTUAL,
    cached_tokens INTEGER GENERATED ALWAYS AS (observation_json ->> '$.cached_tokens') VIRTUAL,
    drafts REAL GENERATED ALWAYS AS (observation_json ->> '$.draft.drafts') VIRTUAL,
    draft_tokens REAL GENERATED ALWAYS AS (observation_json ->> '$.draft.draft_tokens') VIRTUAL,
    accepted_tokens REAL GENERATED ALWAYS AS (observation_json ->> '$.draft.accepted_tokens') VIRTUAL,
    started_s REAL GENERATED ALWAYS AS (observation_json ->> '$.started_s') VIRTUAL,
    ended_s REAL GENERATED ALWAYS AS (observation_json ->> '$.ended_s') VIRTUAL,
    duration_s REAL GENERATED ALWAYS AS (observation_json ->> '$.duration_s') VIRTUAL,
    ttft_s REAL GENERATED ALWAYS AS (observation_json ->> '$.ttft_s') VIRTUAL,
    incarnation INTEGER GENERATED ALWAYS AS (observation_json ->> '$.incarnation') VIRTUAL,
    ordinal INTEGER GENERATED ALWAYS AS (observation_json ->> '$.ordinal') VIRTUAL,
    signature TEXT GENERATED ALWAYS AS (observation_json ->> '$.signature') VIRTUAL,
    UNIQUE (run, seq),
    FOREIGN KEY (run, seq) REFERENCES probes (run, seq),
    
    PRIMARY KEY (run, position),
    FOREIGN KEY (run, position) REFERENCES chain (run, position) DEFERRABLE INITIALLY DEFERRED

) STRICT;
INSERT INTO "outcomes" VALUES('1m8n1f6hxw01',4,'2026-11-30T01:35:19.623Z',1,'{"outcome":"pass","length":64,"length_source":"usage","reason":"</style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp","corroboration":null,"clamped":false,"contended":false,"wedged":false,"deaths":0,"relapses":0,"blames":null,"sent_tokens":0,"completion_tokens":null,"cached_tokens":null,"refusal_limit":null,"started_s":1.0,"ended_s":1.5,"duration_s":0.4,"ttft_s":null,"cost_s":0.0,"revival_s":null,"revived":true,"incarnation":0,"ordinal":0,"fresh":false,"canaries":0,"draft":{"drafts":10,"draft_tokens":30,"accepted_tokens":4,"accepted_per_position":[]},"retry_after_s":null,"next_step":"","unusable":false,"signature":"","signature_source":"client","cut_s":null,"yardstick":null,"resumed_after":false,"generated":null}','{}');
INSERT INTO "outcomes" VALUES('1m8n1f6hxw01',7,'2026-11-30T01:35:19.656Z',2,'{"outcome":"pass","length":300,"length_source":"usage","reason":"</style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp","corroboration":null,"clamped":false,"contended":false,"wedged":false,"deaths":0,"relapses":0,"blames":null,"sent_tokens":0,"completion_tokens":null,"cached_tokens":null,"refusal_limit":null,"started_s":2.0,"ended_s":2.5,"duration_s":0.4,"ttft_s":null,"cost_s":0.0,"revival_s":null,"revived":true,"incarnation":0,"ordinal":0,"fresh":false,"canaries":0,"draft":{"drafts":10,"draft_tokens":30,"accepted_tokens":4,"accepted_per_position":[]},"retry_after_s":null,"next_step":"","unusable":false,"signature":"","signature_source":"client","cut_s":null,"yardstick":null,"resumed_after":false,"generated":null}','{}');
INSERT INTO "outcomes" VALUES('1m8n1f6hxw01',10,'2026-11-30T01:35:19.664Z',3,'{"outcome":"death","length":301,"length_source":"inferred","reason":"</style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp","corroboration":null,"clamped":false,"contended":false,"wedged":false,"deaths":1,"relapses":0,"blames":"this","sent_tokens":0,"completion_tokens":null,"cached_tokens":null,"refusal_limit":null,"started_s":3.0,"ended_s":3.5,"duration_s":0.4,"ttft_s":null,"cost_s":0.0,"revival_s":null,"revived":true,"incarnation":0,"ordinal":0,"fresh":false,"canaries":0,"draft":null,"retry_after_s":null,"next_step":"","unusable":false,"signature":"</style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp","signature_source":"client","cut_s":null,"yardstick":null,"resumed_after":false,"generated":null}','{}');
CREATE TABLE probes (
    run TEXT NOT NULL,
    position INTEGER NOT NULL,
    at_utc TEXT NOT NULL,

    at_s REAL NOT NULL,
    seq INTEGER NOT NULL,
    sent_tokens INTEGER NOT NULL,
    body_sha256 TEXT NOT NULL,
    body_bytes INTEGER NOT NULL,
    recipe_json TEXT NOT NULL,
    spec_json TEXT NOT NULL,
    asked_tokens INTEGER GENERATED ALWAYS AS (spec_json ->> '$.length') VIRTUAL,
    output_tokens INTEGER GENERATED ALWAYS AS (spec_json ->> '$.output_tokens') VIRTUAL,
    role TEXT GENERATED ALWAYS AS (spec_json ->> '$.role') VIRTUAL,
    reason TEXT GENERATED ALWAYS AS (spec_json ->> '$.reason') VIRTUAL,
    content TEXT GENERATED ALWAYS AS (spec_json ->> '$.content') VIRTUAL,
    mode TEXT GENERATED ALWAYS AS (spec_json ->> '$.mode') VIRTUAL,
    stream INTEGER GENERATED ALWAYS AS (spec_json ->> '$.stream') VIRTUAL,
    cache TEXT GENERATED ALWAYS AS (spec_json ->> '$.cache') VIRTUAL,
    stop_after_tokens INTEGER GENERATED ALWAYS AS (spec_json ->> '$.stop_after') VIRTUAL,
    UNIQUE (run, seq),
    
    PRIMARY KEY (run, position),
    FOREIGN KEY (run, position) REFERENCES chain (run, position) DEFERRABLE INITIALLY DEFERRED

) STRICT;
INSERT INTO "probes" VALUES('1m8n1f6hxw01',3,'2026-11-30T01:35:19.619Z',1.0,1,64,'0000000000000000000000000000000000000000000000000000000000000000',5000,'{"tokens":64}','{"length":64,"output_tokens":32,"role":"search","reason":"</style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp","content":"words","mode":"ids","stream":true,"cache":"cold","stop_after":null,"wait_s":0.0,"omit_max_tokens":false,"companions":[],"temperature":0.0,"shared":null,"compared":null}');
INSERT INTO "probes" VALUES('1m8n1f6hxw01',6,'2026-11-30T01:35:19.647Z',2.0,2,300,'0000000000000000000000000000000000000000000000000000000000000000',5000,'{"tokens":300}','{"length":300,"output_tokens":32,"role":"search","reason":"</style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp","content":"words","mode":"ids","stream":true,"cache":"cold","stop_after":null,"wait_s":0.0,"omit_max_tokens":false,"companions":[],"temperature":0.0,"shared":null,"compared":null}');
INSERT INTO "probes" VALUES('1m8n1f6hxw01',9,'2026-11-30T01:35:19.663Z',3.0,3,301,'0000000000000000000000000000000000000000000000000000000000000000',5000,'{"tokens":301}','{"length":301,"output_tokens":32,"role":"search","reason":"</style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp","content":"words","mode":"ids","stream":true,"cache":"cold","stop_after":null,"wait_s":0.0,"omit_max_tokens":false,"companions":[],"temperature":0.0,"shared":null,"compared":null}');
CREATE TABLE resumes (
    run TEXT NOT NULL,
    position INTEGER NOT NULL,
    at_utc TEXT NOT NULL,

    at_s REAL NOT NULL,
    argv_json TEXT NOT NULL,
    user TEXT NOT NULL,
    host TEXT NOT NULL,
    ctxfuzz_version TEXT NOT NULL,
    
    PRIMARY KEY (run, position),
    FOREIGN KEY (run, position) REFERENCES chain (run, position) DEFERRABLE INITIALLY DEFERRED

) STRICT;
CREATE TABLE revivals (
    run TEXT NOT NULL,
    position INTEGER NOT NULL,
    at_utc TEXT NOT NULL,

    at_s REAL NOT NULL,
    seq INTEGER,
    took_s REAL NOT NULL,
    came_back INTEGER NOT NULL,
    cost_s REAL,
    canaries INTEGER, relapses INTEGER,
    FOREIGN KEY (run, seq) REFERENCES probes (run, seq),
    
    PRIMARY KEY (run, position),
    FOREIGN KEY (run, position) REFERENCES chain (run, position) DEFERRABLE INITIALLY DEFERRED

) STRICT;
INSERT INTO "revivals" VALUES('1m8n1f6hxw01',14,'2026-11-30T01:35:19.687Z',5.0,3,1.4,1,NULL,NULL,NULL);
CREATE TABLE runs (
    run TEXT NOT NULL,
    position INTEGER NOT NULL,
    at_utc TEXT NOT NULL,

    command TEXT NOT NULL,
    argv_json TEXT NOT NULL,
    url TEXT NOT NULL,
    model TEXT NOT NULL,
    engine TEXT NOT NULL,
    engine_version TEXT,
    advertised_limit_tokens INTEGER,
    plan TEXT NOT NULL,
    question_json TEXT NOT NULL,
    settings_json TEXT NOT NULL,
    user TEXT NOT NULL,
    host TEXT NOT NULL,
    ctxfuzz_version TEXT NOT NULL,
    CHECK (position = 1),
    
    PRIMARY KEY (run, position),
    FOREIGN KEY (run, position) REFERENCES chain (run, position) DEFERRABLE INITIALLY DEFERRED

) STRICT;
INSERT INTO "runs" VALUES('1m8n1f6hxw01',1,'2026-11-30T01:35:19.614Z','bisect','["ctxfuzz","bisect","--url","http://host:8000"]','http://host:8000','tiny','vllm','0.32.0',4096,'bisect','{"lo":200,"hi":400,"output_tokens":32,"cache":"cold","content":"words","mode":"ids"}','{"seed":7}','root','vm','0.1.0');
CREATE TABLE seals (
    run TEXT NOT NULL,
    position INTEGER NOT NULL,
    at_utc TEXT NOT NULL,

    at_s REAL NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'interrupted', 'halted')),
    finding_json TEXT,
    previous_heads_json TEXT NOT NULL,
    finding TEXT GENERATED ALWAYS AS (finding_json ->> '$.kind') VIRTUAL,
    last_good_tokens INTEGER GENERATED ALWAYS AS (finding_json ->> '$.last_good') VIRTUAL,
    first_bad_tokens INTEGER GENERATED ALWAYS AS (finding_json ->> '$.first_bad') VIRTUAL,
    first_rejected_tokens INTEGER GENERATED ALWAYS AS (finding_json ->> '$.first_rejected') VIRTUAL,
    verified_up_to_tokens INTEGER GENERATED ALWAYS AS (finding_json ->> '$.verified_up_to') VIRTUAL,
    cap_tokens INTEGER GENERATED ALWAYS AS (finding_json ->> '$.cap') VIRTUAL,
    reason TEXT GENERATED ALWAYS AS (finding_json ->> '$.reason') VIRTUAL,
    
    PRIMARY KEY (run, position),
    FOREIGN KEY (run, position) REFERENCES chain (run, position) DEFERRABLE INITIALLY DEFERRED

) STRICT;
INSERT INTO "seals" VALUES('1m8n1f6hxw01',17,'2026-11-30T01:35:19.699Z',6.0,'done','{"kind":"death","reason":"300 passes, 301 dies: </style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp","last_good":300,"first_bad":301,"last_good_total":332,"first_bad_total":null,"last_good_output":null,"first_bad_output":null,"first_rejected":null,"verified_up_to":null,"flaky":null,"islands":[],"cap":288,"cause":"</style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp","confidence":{"last_good_passes":9,"first_bad_failures":2,"failure_rate_upper_95":0.283},"assumes":["</style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp"],"halt":null,"speculation_off_from":null,"reproducers":[]}','[]');
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE INDEX runs_of_build ON runs (model, engine_version);
CREATE INDEX runs_by_time ON runs (at_utc);
CREATE TRIGGER chain_never_change BEFORE UPDATE ON chain
BEGIN SELECT RAISE(ABORT, 'a recorded row is never changed'); END;
CREATE TRIGGER chain_never_go BEFORE DELETE ON chain
BEGIN SELECT RAISE(ABORT, 'a recorded row is never deleted'); END;
CREATE TRIGGER chain_only_grow BEFORE INSERT ON chain
WHEN NEW.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM chain WHERE run = NEW.run)
BEGIN SELECT RAISE(ABORT, 'a row is only added at the end of its run'); END;
CREATE TRIGGER runs_never_change BEFORE UPDATE ON runs
BEGIN SELECT RAISE(ABORT, 'a recorded row is never changed'); END;
CREATE TRIGGER runs_never_go BEFORE DELETE ON runs
BEGIN SELECT RAISE(ABORT, 'a recorded row is never deleted'); END;
CREATE TRIGGER runs_only_grow BEFORE INSERT ON runs
WHEN NEW.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM chain WHERE run = NEW.run)
BEGIN SELECT RAISE(ABORT, 'a row is only added at the end of its run'); END;
CREATE TRIGGER resumes_never_change BEFORE UPDATE ON resumes
BEGIN SELECT RAISE(ABORT, 'a recorded row is never changed'); END;
CREATE TRIGGER resumes_never_go BEFORE DELETE ON resumes
BEGIN SELECT RAISE(ABORT, 'a recorded row is never deleted'); END;
CREATE TRIGGER resumes_only_grow BEFORE INSERT ON resumes
WHEN NEW.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM chain WHERE run = NEW.run)
BEGIN SELECT RAISE(ABORT, 'a row is only added at the end of its run'); END;
CREATE TRIGGER probes_never_change BEFORE UPDATE ON probes
BEGIN SELECT RAISE(ABORT, 'a recorded row is never changed'); END;
CREATE TRIGGER probes_never_go BEFORE DELETE ON probes
BEGIN SELECT RAISE(ABORT, 'a recorded row is never deleted'); END;
CREATE TRIGGER probes_only_grow BEFORE INSERT ON probes
WHEN NEW.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM chain WHERE run = NEW.run)
BEGIN SELECT RAISE(ABORT, 'a row is only added at the end of its run'); END;
CREATE TRIGGER outcomes_never_change BEFORE UPDATE ON outcomes
BEGIN SELECT RAISE(ABORT, 'a recorded row is never changed'); END;
CREATE TRIGGER outcomes_never_go BEFORE DELETE ON outcomes
BEGIN SELECT RAISE(ABORT, 'a recorded row is never deleted'); END;
CREATE TRIGGER outcomes_only_grow BEFORE INSERT ON outcomes
WHEN NEW.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM chain WHERE run = NEW.run)
BEGIN SELECT RAISE(ABORT, 'a row is only added at the end of its run'); END;
CREATE TRIGGER canaries_never_change BEFORE UPDATE ON canaries
BEGIN SELECT RAISE(ABORT, 'a recorded row is never changed'); END;
CREATE TRIGGER canaries_never_go BEFORE DELETE ON canaries
BEGIN SELECT RAISE(ABORT, 'a recorded row is never deleted'); END;
CREATE TRIGGER canaries_only_grow BEFORE INSERT ON canaries
WHEN NEW.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM chain WHERE run = NEW.run)
BEGIN SELECT RAISE(ABORT, 'a row is only added at the end of its run'); END;
CREATE TRIGGER health_events_never_change BEFORE UPDATE ON health_events
BEGIN SELECT RAISE(ABORT, 'a recorded row is never changed'); END;
CREATE TRIGGER health_events_never_go BEFORE DELETE ON health_events
BEGIN SELECT RAISE(ABORT, 'a recorded row is never deleted'); END;
CREATE TRIGGER health_events_only_grow BEFORE INSERT ON health_events
WHEN NEW.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM chain WHERE run = NEW.run)
BEGIN SELECT RAISE(ABORT, 'a row is only added at the end of its run'); END;
CREATE TRIGGER deaths_never_change BEFORE UPDATE ON deaths
BEGIN SELECT RAISE(ABORT, 'a recorded row is never changed'); END;
CREATE TRIGGER deaths_never_go BEFORE DELETE ON deaths
BEGIN SELECT RAISE(ABORT, 'a recorded row is never deleted'); END;
CREATE TRIGGER deaths_only_grow BEFORE INSERT ON deaths
WHEN NEW.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM chain WHERE run = NEW.run)
BEGIN SELECT RAISE(ABORT, 'a row is only added at the end of its run'); END;
CREATE TRIGGER revivals_never_change BEFORE UPDATE ON revivals
BEGIN SELECT RAISE(ABORT, 'a recorded row is never changed'); END;
CREATE TRIGGER revivals_never_go BEFORE DELETE ON revivals
BEGIN SELECT RAISE(ABORT, 'a recorded row is never deleted'); END;
CREATE TRIGGER revivals_only_grow BEFORE INSERT ON revivals
WHEN NEW.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM chain WHERE run = NEW.run)
BEGIN SELECT RAISE(ABORT, 'a row is only added at the end of its run'); END;
CREATE TRIGGER notes_never_change BEFORE UPDATE ON notes
BEGIN SELECT RAISE(ABORT, 'a recorded row is never changed'); END;
CREATE TRIGGER notes_never_go BEFORE DELETE ON notes
BEGIN SELECT RAISE(ABORT, 'a recorded row is never deleted'); END;
CREATE TRIGGER notes_only_grow BEFORE INSERT ON notes
WHEN NEW.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM chain WHERE run = NEW.run)
BEGIN SELECT RAISE(ABORT, 'a row is only added at the end of its run'); END;
CREATE TRIGGER seals_never_change BEFORE UPDATE ON seals
BEGIN SELECT RAISE(ABORT, 'a recorded row is never changed'); END;
CREATE TRIGGER seals_never_go BEFORE DELETE ON seals
BEGIN SELECT RAISE(ABORT, 'a recorded row is never deleted'); END;
CREATE TRIGGER seals_only_grow BEFORE INSERT ON seals
WHEN NEW.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM chain WHERE run = NEW.run)
BEGIN SELECT RAISE(ABORT, 'a row is only added at the end of its run'); END;
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
COMMIT;
