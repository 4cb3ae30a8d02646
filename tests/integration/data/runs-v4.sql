PRAGMA application_id = 1668577382;
PRAGMA user_version = 4;
BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
) STRICT;
INSERT INTO "_sqlite_migrations" VALUES(1,'ctxfuzz','0001_runs','2026-11-30 11:57:45.507080+00:00');
INSERT INTO "_sqlite_migrations" VALUES(2,'ctxfuzz','0002_coverage','2026-11-30 11:57:45.507487+00:00');
INSERT INTO "_sqlite_migrations" VALUES(3,'ctxfuzz','0003_relapses','2026-11-30 11:57:45.508301+00:00');
INSERT INTO "_sqlite_migrations" VALUES(4,'ctxfuzz','0004_order','2026-11-30 11:57:45.508612+00:00');
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
INSERT INTO "canaries" VALUES('1m8p52x5f2cv',5,'2026-11-30T11:57:45.535Z',1.6,1,'after-probe','{"ok":true,"duration_s":0.1,"status":null,"fault":"","timed_out":false,"busy":false,"error":"","text":"","garble":""}');
INSERT INTO "canaries" VALUES('1m8p52x5f2cv',8,'2026-11-30T11:57:45.546Z',2.6,2,'after-probe','{"ok":true,"duration_s":0.1,"status":null,"fault":"","timed_out":false,"busy":false,"error":"","text":"","garble":""}');
INSERT INTO "canaries" VALUES('1m8p52x5f2cv',11,'2026-11-30T11:57:45.548Z',3.6,3,'after-probe','{"ok":true,"duration_s":0.1,"status":null,"fault":"","timed_out":false,"busy":false,"error":"","text":"","garble":""}');
CREATE TABLE chain (
    run TEXT NOT NULL,
    position INTEGER NOT NULL CHECK (position > 0),
    kind TEXT NOT NULL,
    hash TEXT NOT NULL CHECK (length(hash) = 64),
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "chain" VALUES('1m8p52x5f2cv',1,'runs','1aa492313d34f33bb20a2aa9c0bebea1753eed1906ff30ee8a2c28d232c59fae');
INSERT INTO "chain" VALUES('1m8p52x5f2cv',2,'health_events','64e99e81fee1f0fa059f6d8da76c7937b1d4e44cb3189ea3e1e13c20bb2b5005');
INSERT INTO "chain" VALUES('1m8p52x5f2cv',3,'probes','97419bbf336edd6105f02520e20c39a8cb43def9e2af53eaa049e7f4408653b2');
INSERT INTO "chain" VALUES('1m8p52x5f2cv',4,'outcomes','b414fabb30fe55a475631a13fd8f3734441676a70565f38265909dc8190aaf83');
INSERT INTO "chain" VALUES('1m8p52x5f2cv',5,'canaries','9d41c820a3d3a057b55c401a8d04a65cd0c3165828e2c94183cc1e49e1f35f42');
INSERT INTO "chain" VALUES('1m8p52x5f2cv',6,'probes','2aa461e4424d1b5edabad9c8aa5436f94e293fdbb0038ac4d15c329af02a4113');
INSERT INTO "chain" VALUES('1m8p52x5f2cv',7,'outcomes','cae7f50390eb571ad93b90769f76ac6dd2bf37eb210d2fb0d17fc606c8549277');
INSERT INTO "chain" VALUES('1m8p52x5f2cv',8,'canaries','45f1986ccd2806dbb2e1016a3a23e459be22b5eb79dc27c5f09ee8526924eb8e');
INSERT INTO "chain" VALUES('1m8p52x5f2cv',9,'probes','38e431df6d35c6fab466d4fc1cd4cc31e7e171913bc81a7404ea001b260eb70f');
INSERT INTO "chain" VALUES('1m8p52x5f2cv',10,'outcomes','cc811810f70e18fd36fa440979e1299bc1a9d1ec10b2dd1e1c9f7047dbb5098a');
INSERT INTO "chain" VALUES('1m8p52x5f2cv',11,'canaries','ef5b17ae59f59b49687bd69cb2dc08d598e725b3aec549ddb57ef778d6537460');
INSERT INTO "chain" VALUES('1m8p52x5f2cv',12,'health_events','80b1b24a2c03801acbce6436019f1843f637861c75ce397497db1660815df963');
INSERT INTO "chain" VALUES('1m8p52x5f2cv',13,'deaths','8f09ba96f06f2bf3b92d64dfdad35678464320b5874c4f7bf604102161cc70cc');
INSERT INTO "chain" VALUES('1m8p52x5f2cv',14,'revivals','2d8f9c165d6b7de7c9cb6291fb49264b661f40f70bb97103f11acc59af0d67ef');
INSERT INTO "chain" VALUES('1m8p52x5f2cv',15,'health_events','a567ab7e74015815159b301e488b24e91a6e11f612af4248cd02c235b8796dd6');
INSERT INTO "chain" VALUES('1m8p52x5f2cv',16,'notes','9aa15d118155794bdc62735e72b55ab6e884328e86db3e15776643f2bd2d67c5');
INSERT INTO "chain" VALUES('1m8p52x5f2cv',17,'seals','f76937f6fb34659ab5905256fd82c7c044b04372bf4a148f59d845f8d984b100');
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
INSERT INTO "deaths" VALUES('1m8p52x5f2cv',13,'2026-11-30T11:57:45.555Z',3.6,3,'proven','</style><script>alert(1)</script><img src=x onerror=alert(1)>[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp','line one
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
INSERT INTO "health_events" VALUES('1m8p52x5f2cv',2,'2026-11-30T11:57:45.523Z',0.1,200,NULL,'');
INSERT INTO "health_events" VALUES('1m8p52x5f2cv',12,'2026-11-30T11:57:45.551Z',3.5,NULL,'refused','');
INSERT INTO "health_events" VALUES('1m8p52x5f2cv',15,'2026-11-30T11:57:45.567Z',5.0,200,NULL,'');
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
INSERT INTO "notes" VALUES('1m8p52x5f2cv',16,'2026-11-30T11:57:45.571Z',5.0,'info','</style><script>alert(1)</script><img src=x onerror=alert(1)>[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp','');
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
INSERT INTO "outcomes" VALUES('1m8p52x5f2cv',4,'2026-11-30T11:57:45.531Z',1,'{"outcome":"pass","length":64,"length_source":"usage","reason":"</style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp","corroboration":null,"clamped":false,"contended":false,"wedged":false,"deaths":0,"relapses":0,"blames":null,"sent_tokens":0,"completion_tokens":null,"cached_tokens":null,"refusal_limit":null,"started_s":1.0,"ended_s":1.5,"duration_s":0.4,"ttft_s":null,"cost_s":0.0,"revival_s":null,"revived":true,"incarnation":0,"ordinal":0,"fresh":false,"canaries":0,"draft":{"drafts":10,"draft_tokens":30,"accepted_tokens":4,"accepted_per_position":[]},"retry_after_s":null,"next_step":"","unusable":false,"refuses_ids":false,"several":false,"signature":"","signature_source":"client","cut_s":null,"yardstick":null,"resumed_after":false,"uncounted":false,"generated":null}','{}');
INSERT INTO "outcomes" VALUES('1m8p52x5f2cv',7,'2026-11-30T11:57:45.543Z',2,'{"outcome":"pass","length":300,"length_source":"usage","reason":"</style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp","corroboration":null,"clamped":false,"contended":false,"wedged":false,"deaths":0,"relapses":0,"blames":null,"sent_tokens":0,"completion_tokens":null,"cached_tokens":null,"refusal_limit":null,"started_s":2.0,"ended_s":2.5,"duration_s":0.4,"ttft_s":null,"cost_s":0.0,"revival_s":null,"revived":true,"incarnation":0,"ordinal":0,"fresh":false,"canaries":0,"draft":{"drafts":10,"draft_tokens":30,"accepted_tokens":4,"accepted_per_position":[]},"retry_after_s":null,"next_step":"","unusable":false,"refuses_ids":false,"several":false,"signature":"","signature_source":"client","cut_s":null,"yardstick":null,"resumed_after":false,"uncounted":false,"generated":null}','{}');
INSERT INTO "outcomes" VALUES('1m8p52x5f2cv',10,'2026-11-30T11:57:45.547Z',3,'{"outcome":"death","length":301,"length_source":"inferred","reason":"</style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp","corroboration":null,"clamped":false,"contended":false,"wedged":false,"deaths":1,"relapses":0,"blames":"this","sent_tokens":0,"completion_tokens":null,"cached_tokens":null,"refusal_limit":null,"started_s":3.0,"ended_s":3.5,"duration_s":0.4,"ttft_s":null,"cost_s":0.0,"revival_s":null,"revived":true,"incarnation":0,"ordinal":0,"fresh":false,"canaries":0,"draft":null,"retry_after_s":null,"next_step":"","unusable":false,"refuses_ids":false,"several":false,"signature":"</style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp","signature_source":"client","cut_s":null,"yardstick":null,"resumed_after":false,"uncounted":false,"generated":null}','{}');
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
INSERT INTO "probes" VALUES('1m8p52x5f2cv',3,'2026-11-30T11:57:45.527Z',1.0,1,64,'0000000000000000000000000000000000000000000000000000000000000000',5000,'{"tokens":64}','{"length":64,"output_tokens":32,"role":"search","reason":"</style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp","content":"words","mode":"ids","stream":true,"cache":"cold","stop_after":null,"wait_s":0.0,"omit_max_tokens":false,"companions":[],"temperature":0.0,"shared":null,"compared":null}');
INSERT INTO "probes" VALUES('1m8p52x5f2cv',6,'2026-11-30T11:57:45.539Z',2.0,2,300,'0000000000000000000000000000000000000000000000000000000000000000',5000,'{"tokens":300}','{"length":300,"output_tokens":32,"role":"search","reason":"</style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp","content":"words","mode":"ids","stream":true,"cache":"cold","stop_after":null,"wait_s":0.0,"omit_max_tokens":false,"companions":[],"temperature":0.0,"shared":null,"compared":null}');
INSERT INTO "probes" VALUES('1m8p52x5f2cv',9,'2026-11-30T11:57:45.547Z',3.0,3,301,'0000000000000000000000000000000000000000000000000000000000000000',5000,'{"tokens":301}','{"length":301,"output_tokens":32,"role":"search","reason":"</style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp","content":"words","mode":"ids","stream":true,"cache":"cold","stop_after":null,"wait_s":0.0,"omit_max_tokens":false,"companions":[],"temperature":0.0,"shared":null,"compared":null}');
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
INSERT INTO "revivals" VALUES('1m8p52x5f2cv',14,'2026-11-30T11:57:45.563Z',5.0,3,1.4,1,NULL,NULL,NULL);
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
INSERT INTO "runs" VALUES('1m8p52x5f2cv',1,'2026-11-30T11:57:45.520Z','bisect','["ctxfuzz","bisect","--url","http://host:8000"]','http://host:8000','tiny','vllm','0.32.0',4096,'bisect','{"lo":200,"hi":400,"output_tokens":32,"cache":"cold","content":"words","mode":"ids"}','{"seed":7}','root','vm','0.1.0');
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
INSERT INTO "seals" VALUES('1m8p52x5f2cv',17,'2026-11-30T11:57:45.575Z',6.0,'done','{"kind":"death","reason":"300 passes, 301 dies: </style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp","last_good":300,"first_bad":301,"last_good_total":332,"first_bad_total":null,"last_good_output":null,"first_bad_output":null,"first_rejected":null,"verified_up_to":null,"flaky":null,"islands":[],"cap":288,"cause":"</style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp","confidence":{"last_good_passes":9,"first_bad_failures":2,"failure_rate_upper_95":0.283},"assumes":["</style><script>alert(1)</script><img src=x onerror=alert(1)>\u001b[2J=cmd|'' /C calc''!A0 & | `x` ‮gnp"],"halt":null,"speculation_off_from":null,"reproducers":[]}','[]');
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
CREATE VIEW latest_cap_per_model AS
SELECT model, engine, engine_version, url, cap_tokens, finding, run, ended_utc
FROM (
    SELECT s.*, row_number() OVER (PARTITION BY model, engine, engine_version, url ORDER BY nth DESC) AS back
    FROM run_states s JOIN (
SELECT run, row_number() OVER (ORDER BY since, arrival) AS nth
FROM (
    SELECT r.run, r.rowid AS arrival, CASE WHEN came.with_merge IS NULL
        THEN max(r.at_utc) OVER (ORDER BY r.rowid)
        ELSE max(r.at_utc) OVER (PARTITION BY came.with_merge ORDER BY r.rowid) END AS since
    FROM runs r LEFT JOIN (
        SELECT told.value AS run, max(m.rowid) AS with_merge
        FROM runs m JOIN json_each(m.question_json, '$.runs') told
        WHERE m.plan = 'merge' GROUP BY told.value
    ) came ON came.run = r.run AND r.rowid < came.with_merge
)
) USING (run)
    WHERE status = 'done' AND cap_tokens IS NOT NULL
)
WHERE back = 1;
COMMIT;
