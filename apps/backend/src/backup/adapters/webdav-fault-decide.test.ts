import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultOfCode, faultOfStatus } from './webdav-fault-decide.ts';

test('each status has one reason', () => {
  for (const [step, status, expected] of [
    ['look', 200, 'not_webdav'],
    ['look', 400, 'not_webdav'],
    ['look', 401, 'login_refused'],
    ['look', 403, 'forbidden'],
    ['look', 405, 'not_webdav'],
    ['look', 501, 'not_webdav'],
    ['look', 421, 'not_webdav'],
    ['open', 400, 'name_refused'],
    ['open', 405, 'forbidden'],
    ['open', 409, 'not_found'],
    ['write', 400, 'name_refused'],
    ['write', 404, 'not_found'],
    ['write', 405, 'forbidden'],
    ['write', 413, 'size_limit'],
    ['write', 414, 'name_refused'],
    ['write', 415, 'name_refused'],
    ['write', 422, 'name_refused'],
    ['write', 423, 'locked'],
    ['read', 425, 'server_busy'],
    ['write', 429, 'server_busy'],
    ['write', 500, 'server_failed'],
    ['write', 502, 'proxy'],
    ['write', 503, 'server_busy'],
    ['write', 504, 'proxy'],
    ['write', 507, 'no_space'],
    ['write', 408, 'unreachable'],
    ['look', 521, 'proxy'],
    ['write', 524, 'proxy'],
    ['look', 530, 'proxy'],
    ['read', 410, 'not_found'],
    ['look', 505, 'server_failed'],
    ['write', 508, 'server_busy'],
    ['write', 509, 'server_busy'],
    ['look', 511, 'not_webdav'],
    ['write', 599, 'server_failed'],
    ['remove', 207, 'forbidden'],
    ['remove', 403, 'forbidden'],
    ['write', 418, 'failed'],
  ] as const)
    assert.equal(faultOfStatus(step, status), expected, `${step} ${status}`);
});

test('each fault of the connection has one reason', () => {
  for (const [code, expected] of [
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'certificate'],
    ['CERT_HAS_EXPIRED', 'certificate'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'certificate'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'no_tls'],
    ['ERR_SSL_PACKET_LENGTH_TOO_LONG', 'no_tls'],
    ['UNSPECIFIED', 'certificate'],
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'old_tls'],
    ['ERR_SSL_UNSUPPORTED_PROTOCOL', 'old_tls'],
    ['ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE', 'old_tls'],
    ['ERR_SSL_DH_KEY_TOO_SMALL', 'old_tls'],
    ['ERR_SSL_UNSAFE_LEGACY_RENEGOTIATION_DISABLED', 'old_tls'],
    ['ENOTFOUND', 'host_unknown'],
    ['EAI_AGAIN', 'host_unknown'],
    ['ECONNREFUSED', 'unreachable'],
    ['', 'unreachable'],
  ] as const)
    assert.equal(faultOfCode(code), expected, code);
});
