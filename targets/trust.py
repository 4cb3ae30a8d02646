"""Whom does TLS trust? The CA file that was given, else the environment's, else the bundle that comes with httpx."""

from __future__ import annotations

import os
import ssl

import httpx

from targets.errors import TargetUnusable, UnreadableEnvironment

CA_FILE = "SSL_CERT_FILE"
KEY_LOG = "SSLKEYLOGFILE"  # Python has every context write the keys of its connections there


def ssl_context(cacert: str | None, *, insecure: bool, trust_env: bool, needed: bool) -> ssl.SSLContext:
    """Whom to trust. Nobody, where nothing is asked over TLS: the CA bundle takes 0.1 s to load.

    Raises TargetUnusable where the CA file is none, UnreadableEnvironment where one that a variable names is.
    """
    if needed:
        _refuse_deaf_key_log()
    if cacert is not None:
        try:
            return ssl.create_default_context(cafile=cacert)
        except OSError as error:
            raise TargetUnusable(
                f"The CA file {cacert!r} cannot be read ({error}): give --cacert a PEM file."
            ) from None
    if not needed:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        return httpx.create_ssl_context(verify=not insecure, trust_env=trust_env)
    except OSError:
        if not trust_env or not os.environ.get(CA_FILE):
            raise
        raise UnreadableEnvironment(
            f"{CA_FILE} names no file of certificates in PEM form that can be read: mend it, or give --cacert."
        ) from None


def _refuse_deaf_key_log() -> None:
    log = os.environ.get(KEY_LOG)
    if log:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).keylog_filename = log
        except OSError:
            raise UnreadableEnvironment(f"{KEY_LOG} names a file that cannot be written: mend or unset it.") from None
