"""Is a secret found wherever a command may hold one, and is nothing else in a command taken for one?"""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzer.store.commands import secrets_of_command
from fuzzer.store.masking import MASK, Secrets, masked_command, masked_json

# A busy machine makes any single example slow now and then; that is no failure.
calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

SECRET = "s3cr3t-of-the-house"


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
