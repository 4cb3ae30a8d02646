"""Does a secret ever get past the mask, and does anything else get lost?"""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fuzzer.store.commands import secrets_of_command
from fuzzer.store.masking import MASK, Secrets, masked_argv, masked_command, masked_json, masked_text, masked_url

# A busy machine makes any single example slow now and then; that is no failure.
calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

SECRET = "s3cr3t-of-the-house"


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["--api-key", SECRET, "--lo", "8k"], ["--api-key", MASK, "--lo", "8k"]),
        ([f"--api-key={SECRET}"], [f"--api-key={MASK}"]),
        (["--api-key", "--header"], ["--api-key", MASK]),
        (["--header", f"X-Tenant: {SECRET}"], ["--header", f"X-Tenant: {MASK}"]),
        ([f"--header=X-Tenant:{SECRET}"], [f"--header=X-Tenant: {MASK}"]),
        (["--header", SECRET], ["--header", MASK]),
        (["--url", f"https://me:{SECRET}@host:8000/v1"], ["--url", f"https://{MASK}@host:8000/v1"]),
        ([f"--url=https://{SECRET}@host/"], [f"--url=https://{MASK}@host/"]),
        (["--on-death", f"curl -H 'Authorization: Bearer {SECRET}' x"], ["--on-death", None]),
        (["--on-death", f"curl https://u:{SECRET}@host/restart"], ["--on-death", f"curl https://{MASK}@host/restart"]),
        (["--on-death", f"TOKEN={SECRET} restart vllm"], ["--on-death", f"TOKEN={MASK} restart vllm"]),
        ([f"--engine-log-cmd=logs --key {SECRET} -n 5"], [f"--engine-log-cmd=logs --key {MASK} -n 5"]),
    ],
)
def test_argv_keeps_its_shape_and_loses_its_secrets(argv: list[str], shown: list[str | None]) -> None:
    masked = masked_argv(argv)
    assert SECRET not in " ".join(masked)
    assert len(masked) == len(argv)
    assert all(want is None or got == want for got, want in zip(masked, shown, strict=True))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://host:8000/v1", "http://host:8000/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        (
            f"http://a:{SECRET}@h:1/x?api-version=2024-02&api-key={SECRET}",
            f"http://{MASK}@h:1/x?api-version=2024-02&api-key={MASK}",
        ),
        (f"http://a:p@{SECRET}@h/?access_token={SECRET}&n=1", f"http://{MASK}@h/?access_token={MASK}&n=1"),
        (f"http://h/?code={SECRET}&encoding=utf8", f"http://h/?code={MASK}&encoding=utf8"),
        (f"http://[{SECRET}", MASK),
    ],
)
def test_url_keeps_its_place_and_loses_its_secrets(url: str, shown: str) -> None:
    assert masked_url(url) == shown
    assert masked_url(shown) == shown


def test_settings_are_masked_at_any_depth() -> None:
    settings = {"urls": [f"http://{SECRET}@h/"], "deep": {"cmd": f"x 'Basic {SECRET}'", "n": 5}, "api_key": SECRET}
    masked = masked_json(settings)
    assert SECRET not in json.dumps(masked)
    assert masked == {"urls": [f"http://{MASK}@h/"], "deep": {"cmd": f"x 'Basic {MASK}'", "n": 5}, "api_key": MASK}


def test_a_path_that_reads_like_a_credential_is_none() -> None:
    paths = {
        "content": "corpus:/data/Basic Training.txt", "contents": ["words", "corpus:/data/bearer services"],
        "tokenizer": "/models/basic tokenizer-v2", "engine_log": "/var/log/bearer service/engine.log",
        "junit": "/ci/Basic tests-of-ours.xml", "file": "/mnt/Basic training.db", "model": "basic llama-3.1-8b",
    }  # fmt: skip
    assert masked_json(paths) == paths
    assert Secrets(["training"]).out_of_json(paths) == paths
    known = {"content": f"corpus:/data/{SECRET} x", "tokenizer": f"/models/{SECRET}"}
    assert SECRET not in json.dumps(Secrets([SECRET]).out_of_json(known))
    assert masked_json({"model": f"http://u:{SECRET}@h/"}) == {"model": f"http://{MASK}@h/"}


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (f"curl -u admin:{SECRET} http://h/restart", f"curl -u admin:{MASK} http://h/restart"),
        (f"curl -sSu 'admin:{SECRET} 2' http://h", f"curl -sSu 'admin:{MASK}' http://h"),
        (f"curl --user=admin:{SECRET} http://h", f"curl --user=admin:{MASK} http://h"),
        (f"PGPASSWORD={SECRET} psql -c 'select 1'", f"PGPASSWORD={MASK} psql -c 'select 1'"),
        (f"export HF_TOKEN='{SECRET} 2'; vllm serve m &", f"export HF_TOKEN={MASK}; vllm serve m &"),
        (f"restart --password {SECRET} --now", f"restart --password {MASK} --now"),
        (f'restart --db-passwd="{SECRET} 2" --now', f"restart --db-passwd={MASK} --now"),
        (f"restart --client-secret {SECRET}", f"restart --client-secret {MASK}"),
        (f"restart --api-key={SECRET}", f"restart --api-key={MASK}"),
        (f"curl -H 'X-Api-Key: {SECRET} 2' http://h", f"curl -H 'X-Api-Key: {MASK}' http://h"),
        (f"curl -H X-Api-Key:{SECRET} http://h", f"curl -H X-Api-Key:{MASK} http://h"),
        (f'curl -H "Authorization: Token {SECRET}" http://h', f'curl -H "Authorization: {MASK}" http://h'),
        (f"""curl -d '{{"password": "{SECRET} 2", "n": 5}}' h""", f"""curl -d '{{"password": {MASK}, "n": 5}}' h"""),
        (f"curl -d 'n=5&token={SECRET}&m=6' h", f"curl -d 'n=5&token={MASK}&m=6' h"),
        (f"ssh box 'sudo TOKEN={SECRET} restart'", f"ssh box 'sudo TOKEN={MASK} restart'"),
        (f"sshpass -p {SECRET} ssh box restart", f"sshpass -p {MASK} ssh box restart"),
        (f"mysql -uroot -p{SECRET} -e 'select 1'", f"mysql -uroot -p{MASK} -e 'select 1'"),
        (f"docker login -u me -p {SECRET} host", f"docker login -u me -p {MASK} host"),
        (f"redis-cli -h box -a {SECRET} ping", f"redis-cli -h box -a {MASK} ping"),
        ("page sk-proj-Ab12Cd34", f"page {MASK}"),
        ("page hf_AbCdEfGh, ghp_AbCdEfGh", f"page {MASK}, {MASK}"),
        ("page github_pat_11ABCD glpat-AbCdEf12", f"page {MASK} {MASK}"),
        ("page xoxb-12-34-ab AKIAIOSFODNN7EXAMPLE eyJhbGciOi.eyJzdWIi.ab-c", f"page {MASK} {MASK} {MASK}"),
    ],
)
def test_a_command_keeps_its_shape_and_loses_its_secrets(command: str, shown: str) -> None:
    assert masked_command(command) == shown
    assert masked_command(shown) == shown
    assert masked_json({"deep": {"on_death": command, "engine_log_cmd": command}}) == {
        "deep": {"on_death": shown, "engine_log_cmd": shown}
    }
    if SECRET in command:
        assert SECRET not in Secrets(secrets_of_command(command)).out_of(f"sh: {SECRET}: not found")


@pytest.mark.parametrize(
    "command",
    [
        "systemctl restart vllm",
        "kubectl delete pod vllm-0 -n prod --grace-period=0",
        "kubectl logs --previous vllm-0 --tail=200",
        "docker run -d -u 1000:1000 -p 8000:8000 -v /models:/models --gpus all image",
        "vllm serve m --max-tokens 5 --tokenizer T --tokenizer-mode slow --max-num-batched-tokens=8192 &",
        "journalctl -u vllm -n 50; rsync -vu box:/var/log/vllm.log .",
        "ssh -i ~/.ssh/id_ed25519 -p 2222 ops@box 'docker restart monkey-1'",
        "bypass=1 TOKENS=5 ./restart --author 'A B' --keyboard us",
        'curl -H "Authorization: Bearer $TOKEN" -u "$NAME:$PASSWORD" http://h/restart',
        'TOKEN=$(cat /run/secrets/token) PASSWORD=`pass show x` API_KEY=${API_KEY} ./restart --password "$PW"',
    ],
)
def test_a_command_without_a_secret_stays_as_it_is(command: str) -> None:
    assert masked_command(command) == command


@pytest.mark.parametrize(
    "marked",
    [
        "ipmitool -I lanplus -H h -U admin -P «pA55-7391» power cycle",
        "echo «pA55-7391» | sudo -S systemctl restart vllm",
        "printf '%s' «pA55-7391» | docker login -u me --password-stdin",
        "sudo -kS reboot <<< «pA55-7391»",
        "sudo -S reboot <<END\n«pA55-7391\nEND»",
        "ssh box 'echo «pA55-7391» | sudo -S reboot'",
        "http -a «admin:pA55-7391» POST h/restart",
        "curl -b «sid=pA55-7391» h",
        "curl --cookie «'sid=pA55-7391; a=b'» h",
        "curl -U «proxy:pA55-7391» -u a:«b» h",
        "curl -X POST -uadmin:«pA55-7391» h",
        "docker exec -u root:root box curl -u ops:«pA55-7391» h",
        "docker exec box client -u ops:«pA55-7391» h",
        "docker run -e HF_TOKEN=«pA55-7391» image",
        "kubectl set env deploy/vllm HF_TOKEN=«pA55-7391»",
        "kubectl create secret generic x --from-literal=password=«pA55-7391»",
        "helm upgrade vllm --set hfToken=«pA55-7391»",
        "aws configure set aws_secret_access_key «pA55-7391»",
        "racadm -r h -u root -p «pA55-7391» serveraction powercycle",
        "openssl rsautl -passin pass:«pA55-7391»",
        "smbclient -U «user%pA55-7391» //h/x",
        "plink -pw «pA55-7391» box restart",
        "TOKEN=«${TOKEN:-pA55-7391}» ./restart",
        """sh -c "curl -d '{\\"apiKey\\": «\\"pA55-7391\\"»}' h\"""",
        "curl -H Authorization:«\\ Bearer\\ pA55-7391» h",
        "(cd /srv; KEY=«pA55-7391» ./restart) || exit 1",
        "./restart --token=«'pA55-7391'» # don't ask",
        "curl -H 'X-Vault: «pA55-7391»' -H 'Content-Type: application/json' http://h/restart",
        "curl -sSH X-Vault:«pA55-7391» h",
        "curl -H 'X-Pin: «482913»' -H 'X-Access-Code: «ops»' -H 'X-Encoding: utf8' h",
        "curl -H 'User-Agent: «9f86d081884c7d659a2feaa0c55ad015a3bf4f1b»' -H 'Title: vLLM died' h",
        "curl -H'X-Vault: «pA55-7391»' h",
        "curl --proxy-header 'X-Vault: «pA55-7391»' h",
        "wget -qO- --header='Private: «pA55-7391»' h",
        'ssh box "curl -H \\"X-Vault: «pA55-7391\\" h»"',
        "ssh box \"curl -H 'X-Vault: «pA55-7391»' h\"",
        "http POST h:8000/restart 'X-Vault: «pA55-7391»' n=5",
        "curl -X POST 'http://h/restart?t=«pA55-7391»&force=true'",
        "curl h:8000/restart?wait=1&t=«pA55-7391»",
        "curl -d '{}' https://hooks.slack.com/«services/T0/B0/pA55-7391»",
        "curl https://discord.com/api/webhooks/«12/pA55-7391»?wait=true",
        "curl https://acme.webhook.office.com/«webhookb2/pA55-7391»",
        "curl https://api.telegram.org/«bot12:pA55-7391/sendMessage»?chat_id=«-1001234567890»",
        "curl https://chat.acme.example/hooks/«xk3j5h6k7l8m9n0p1q2r»",
        "curl https://chat.acme.example/hooks/ops/«550e8400-e29b-41d4-a716-446655440000»",
        "curl hooks.slack.com/«services/T0/B0/SECRET»",
        "curl https://acme.example/notify/«Xk3j5H6k7L8m_9N0p1Q2r»/now",
        "curl http://h/docker -H 'X-Vault: «SECRET»'",
        'curl -H "X-Cluster: «Xk3j5H6k»" -H "X-Hook-Key: «gpu1»" h',
        "ssh box sudo docker exec web curl -H 'X-Private: «gpu-1»' h",
        "wget --header='Private: «SECRET»' h",
        'docker run curlimages/curl:8.1 -H "X-Vault: «SECRET»" h; $CURL -H "A: «SECRET»" h',
        "curl https://hooks.zapier.com/«hooks/catch/12345/abc12xy»",
        "xh POST h:8000/restart X-Vault:«gpu1»",
        "curl 'http://h/restart?t=«SECRET»&gpu=A100'",
        "curl 'http://h/restart?t=«x7k2m9q4»&sig=«abc»&session=«abc1»'",
        'export T=«SECRET»; curl -H "A: $T" h',
        "curl https://acme.example/notify/«Xk3j5H6k7L8m9N0p1Q2r»",
        'export T=«pA55-7391»; curl -H "A: $T" h',
        "export U=«pA55-7391»; T=$U; curl 'http://h/restart?t=${T}'",
        'HOOK=https://hooks.slack.com/«services/pA55-7391»; curl "$HOOK"',
        "H=«'X-Vault: pA55-7391'»; curl -H \"$H\" h",
        'P=«pA55-7391»; curl -u "$NAME:$P" h',
    ],
)
def test_a_secret_is_found_wherever_the_usual_clients_take_one(marked: str) -> None:
    assert masked_command(re.sub("[«»]", "", marked)) == re.sub("«[^»]*»", MASK, marked)


@pytest.mark.parametrize(
    "command",
    [
        "docker run -d -v /data/keys:/keys -v keys:/keys:ro -u root:root -l key=a image",
        "docker ps -q --filter label=key=vllm | xargs docker restart --time 30",
        "docker exec -u vllm:docker vllm pkill -f EngineCore",
        "docker run -d --env-file /run/secrets/env -e HF_TOKEN registry/auth:1.2 serve",
        "docker compose -p auth -f /srv/token/compose.yml up -d --force-recreate vllm",
        "podman run --secret hf,type=mount image",
        "kubectl rollout restart deploy/vllm -n auth && kubectl rollout status deploy/vllm -n auth",
        "kubectl delete pod -l app=vllm,key=a --force --grace-period=0",
        "kubectl get pods --selector=token=a -o name",
        "kubectl logs -p vllm-0 -c auth --tail=500",
        "kubectl --client-key=/etc/k8s/ops.pem delete pod vllm-0",
        "kubectl -n prod exec vllm-0 -- kill 1",
        "systemctl --user restart vllm@auth.service",
        "sudo -u vllm systemctl restart vllm",
        "sudo systemctl start vllm; sleep 5; journalctl -u vllm -n 20 --no-pager",
        "ssh -i ~/.ssh/key ops@box 'docker restart vllm'",
        "tmux send-keys -t auth:0 'vllm serve m' Enter",
        "nvidia-smi -r -i 0 && supervisorctl restart vllm",
        "curl -sS --cert /etc/ops.pem -X POST http://h:8000/restart",
        "curl -H 'Content-Type: application/json' -H 'Accept: */*' -d '{}' -X POST http://h:8000/restart",
        "curl -H 'Title: vLLM died' -H @/etc/ops.headers http://ntfy.example/ops",
        "curl 'http://h:2375/containers/vllm/restart?t=5&signal=SIGKILL' && curl 'h/logs?tail=200&follow=false'",
        "curl -X POST http://h:9000/hooks/redeploy-vllm",
        "curl -X POST http://h:8000/models/Meta-Llama-3-8B-Instruct/restart?timeout=30s",
        "/opt/hooks/restart_vllm_engine_2.sh && bash /opt/webhook/vllm/restart-engine-gpu0.sh",
        "/opt/hooks.d/on-death-7.sh; ./hooks/on_death_restart_vllm_01; git -C /srv/hooks/pre-receive-vllm-2024 pull",
        "docker run -v /models/Llama_3_1_70B_Instruct_FP8:/model image",
        "vllm serve s3://models/Qwen3_Coder_480B_A35B_Instruct; tail /var/log/vllm/Engine20261130T122000Log",
        "curl -X POST http://h:9000/hooks/restart-vllm-engine-gpu-2 && curl https://hooks.acme.example/restart-vllm",
        "curl -X POST 'http://host/restart?gpu=A100&engine=vllm-0&dry=True'",
        "curl -H 'X-Cluster: gpu-1' -H 'X-Author: ops' http://h/restart; http POST h:8000/restart X-Gpu:H100",
        'ssh box "curl -H \\"X-Cluster: gpu-1\\" http://h/restart"',
        'grep -H "Error: CUDA" /var/log/vllm.log; ps -eH; echo "did it die?reason=oom"',
        "docker -H tcp://h:2375 restart vllm; sudo -H -u vllm ./restart",
        'F=/run/secrets/hook; curl -H "X-Vault: $(cat $F)" -u "$NAME:$(cat $F)" h',
        "POD=vllm-0; kubectl delete pod $POD; http POST h:8000/restart n=5",
    ],
)
def test_the_usual_restarts_hold_no_secret(command: str) -> None:
    """Else a run that was interrupted could not go on without being told the command again."""
    assert masked_command(command) == command


@pytest.mark.parametrize(
    "unit",
    [
        "a-", "key.", "token: ", "key=$(", "'", '"', "'key': ", 'key=\\"', "eyJa-", "-u a:", "<<", "-H ", "-H a:",
        '-H "$', "?a=", "?a=b&", "hooks.slack.com/", "/hooks/", "hooks.a", "aA1_/", "$A ", "A=$B;B=$A -H $A;",
        "a://", "a://b/hooks/", "a-b.",
    ],
)  # fmt: skip
def test_the_time_that_it_takes_grows_with_the_command_and_no_faster(unit: str) -> None:
    """As long as the kernel takes one. A square of that is more than a minute."""
    began = time.process_time()
    masked_command(f"sudo -S {unit * (120_000 // len(unit))}")
    assert time.process_time() - began < 10


@calm
@given(st.text(), st.sampled_from(["--password ", "TOKEN=", "-u a:", "key: ", "'key':", '"']))
def test_any_text_may_be_a_command(text: str, before: str) -> None:
    masked_command(before + text)
    assert all(secret in before + text for secret in secrets_of_command(before + text))


@calm
@given(st.text(min_size=6), st.text(), st.text())
def test_a_known_secret_is_found_by_value_also_inside_json(secret: str, before: str, after: str) -> None:
    assume(secret not in MASK)
    text = before + secret + after
    hidden = Secrets([secret])
    assert MASK in hidden.out_of(text)
    assert json.loads(hidden.out_of(json.dumps(secret))) == MASK


@pytest.mark.parametrize(
    ("secret", "written"),
    [
        ("dXNlcjpwYXNz/w==", r"dXNlcjpwYXNz\/w=="),
        ("dXNlcjpwYXNz/w==", r"dXNlcjpwYXNz/w\u003d\u003D"),
        ("dXNlcjpwYXNz/w==", r"\u0064XNlcjpwYXNz/w=="),
        ("dXNlcjpwYXNz/w==", r"dXNlcjpwYXNz\\/w\\u003d="),  # JSON within JSON
        ("sk-a&b<c>1234", r"sk-a\u0026b\u003cc\u003e1234"),
        ("sk-a\\b/1234", r"sk-a\\b\/1234"),
        ('two "words"', r"two\u0020\"words\""),
        ("schl\u00fcssel-\U0001f511-7391", r"schl\u00FCssel-\uD83D\udd11-7391"),
    ],
)
def test_a_known_secret_is_found_however_json_escapes_it(secret: str, written: str) -> None:
    excerpt = f'{{"error":"bad {written}\\n", "n": 5}}'
    assert Secrets([secret]).out_of_json({"excerpt": excerpt}) == {"excerpt": f'{{"error":"bad {MASK}\\n", "n": 5}}'}


def test_a_key_of_many_backslashes_is_looked_for_in_no_time() -> None:
    began = time.process_time()
    assert MASK not in Secrets(["\\" * 40 + "x"]).out_of("\\" * 1_000)
    assert time.process_time() - began < 10


def test_a_key_of_one_word_is_masked_where_somebody_says_one_word() -> None:
    said = {
        "error": {"param": "hunter"}, "param": "hunter", "fault": "hunter", "finish_reason": "hunter",
        "death_signatures": ["Unauthorized:hunter"], "companion_faults": ["hunter"],
    }  # fmt: skip
    assert "hunter" not in json.dumps(Secrets(["hunter"]).out_of_json(said))
    ours = {"fault": "timeout", "finish_reason": "length"}
    assert Secrets(["timeout", "length"]).out_of_json(ours) == ours


def test_a_secret_too_short_to_be_one_leaves_texts_alone() -> None:
    assert Secrets(["x", "none", ""]).out_of("next to none") == "next to none"
    assert SECRET not in repr(Secrets([SECRET]))


CHANCE = ["search", "300000", "length", SECRET, '": "', "ms\\ncuda", 'hi":300000,']
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(300_000)
    | st.sampled_from(CHANCE).map(lambda said: f"a {said}"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["search", "300000", "reason", "headers", "model"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def without_texts(value: object) -> object:
    match value:
        case str():
            return str
        case dict():
            return {key: without_texts(item) for key, item in value.items()}
        case list():
            return [without_texts(item) for item in value]
        case _:
            return value


@calm
@given(JSON, st.sets(st.sampled_from(CHANCE), min_size=1))
def test_json_stays_what_it_was_but_for_its_texts(value: object, secrets: set[str]) -> None:
    masked = Secrets(secrets).out_of_json(value)
    assert without_texts(masked) == without_texts(value)
    assert json.loads(json.dumps(masked)) == masked


def test_a_plain_word_hides_no_name_and_is_masked_in_all_that_is_said() -> None:
    said = {
        "outcome": "search", "engine": {"name": "search", "version": "search 2"}, "model": "the search model",
        "url": "http://search:80", "hi": 300_000, "argv": ["ctxfuzz", "--model=search"],
        "reason": "search", "headers": {"x-request-id": "search"}, "notes": ["a search died"],
        "excerpt": '{"a":"search"}',
    }  # fmt: skip
    masked = Secrets(["search", "300000"]).out_of_json(said)
    names = ("outcome", "engine", "model", "url", "hi", "argv")
    assert {name: masked[name] for name in names} == {name: said[name] for name in names}
    assert masked | dict.fromkeys(names) == {
        **dict.fromkeys(names),
        "reason": MASK,
        "headers": {"x-request-id": MASK},
        "notes": [f"a {MASK} died"],
        "excerpt": f'{{"a":"{MASK}"}}',
    }


def test_what_no_name_would_be_is_masked_in_names_and_keys_too() -> None:
    said = {"model": f"m-{SECRET}", f'starts{{x="{SECRET}"}}': 5, "version": [SECRET], "deep": {"a": f'"{SECRET}"'}}
    assert SECRET not in json.dumps(Secrets([SECRET]).out_of_json(said))


def test_plain_text_is_left_alone() -> None:
    text = "CUDA error: an illegal memory access was encountered (basic checks at http://host/metrics)"
    assert masked_text(text) == text
