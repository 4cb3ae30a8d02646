"""Who stands in front of an engine? nginx and LiteLLM as processes of our own, with settings that a test chooses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.engines.install import environment
from tests.engines.keeping import Engine, free_port, kept

KEY = "sk-only-for-this-test"

NGINX = """\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  client_body_buffer_size 64m;
  server {{
    listen 127.0.0.1:{port};
    client_max_body_size {body};
    location / {{
      proxy_pass {upstream};
      proxy_http_version 1.1;
      proxy_buffering off;
      proxy_read_timeout {seconds}s;
    }}
  }}
}}
"""
LITELLM = """\
model_list:
  - model_name: tiny
    litellm_params: {{model: text-completion-openai/tiny, api_base: "{upstream}/v1", api_key: none}}
  - model_name: tiny-without-ids
    litellm_params: {{model: hosted_vllm/tiny, api_base: "{upstream}/v1", api_key: none}}
litellm_settings: {{num_retries: 0, request_timeout: {seconds}, telemetry: false}}
router_settings: {{num_retries: 0, disable_cooldowns: true}}
"""


@contextmanager
def nginx(upstream: str, folder: Path, *, body: str = "64m", seconds: int = 60) -> Iterator[Engine]:
    """nginx before `upstream`, with its limit on bodies and its patience in seconds. It must be on the path."""
    folder.mkdir()
    port, config = free_port(), folder / "nginx.conf"
    config.write_text(NGINX.format(folder=folder, port=port, upstream=upstream, body=body, seconds=seconds))
    command = ("nginx", "-c", str(config), "-p", str(folder))
    with kept(command, f"http://127.0.0.1:{port}", folder, within_s=20) as front:
        yield front


@contextmanager
def litellm(upstream: str, folder: Path, *, seconds: int = 60) -> Iterator[Engine]:
    """LiteLLM's proxy before `upstream`. It takes KEY."""
    folder.mkdir()
    port, config = free_port(), folder / "litellm.yaml"
    config.write_text(LITELLM.format(upstream=upstream, seconds=seconds))
    program = environment("litellm") / "bin" / "litellm"
    command = (str(program), "--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--num_workers", "1")
    env = {"LITELLM_MASTER_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    url = f"http://127.0.0.1:{port}"
    with kept(command, url, folder, within_s=120, env=env, health="/health/liveliness") as front:
        yield front
