import type { BackupFault } from '@station/protocol/backup-api';
import { ownValue } from '@station/protocol/own-value';

/** What was tried. `look`: whether a folder is there, or what is in it. `open`: making a folder. */
export type WebdavStep = 'look' | 'open' | 'write' | 'read' | 'remove';

/** Statuses that mean the same at each step (RFC 4918, RFC 9110). */
const always: Readonly<Record<string, BackupFault>> = {
  401: 'login_refused',
  403: 'forbidden',
  404: 'not_found',
  408: 'unreachable',
  409: 'not_found',
  410: 'not_found',
  413: 'size_limit',
  414: 'name_refused',
  421: 'not_webdav',
  423: 'locked',
  425: 'server_busy',
  429: 'server_busy',
  500: 'server_failed',
  502: 'proxy',
  503: 'server_busy',
  504: 'proxy',
  507: 'no_space',
  // Of hosts with shared servers: the account has used its share for now.
  508: 'server_busy',
  509: 'server_busy',
  // The network asks for a log-in (RFC 6585, section 6).
  511: 'not_webdav',
};

/** Why a server did not do what it was asked for. */
export function faultOfStatus(step: WebdavStep, status: number): BackupFault {
  const known = ownValue(always, String(status));
  if (known !== undefined) return known;
  // Cloudflare's own, for a server that it does not reach; 530: its tunnel has nobody at the other end.
  if (status >= 520 && status <= 530) return 'proxy';
  // A page for people in place of a listing, or methods that are not known: a web server without WebDAV, or one that only lets read.
  if (status < 300 || status === 405 || status === 501) return step === 'look' ? 'not_webdav' : 'forbidden';
  if (status === 400 || status === 415 || status === 422) return step === 'look' ? 'not_webdav' : 'name_refused';
  return status >= 500 ? 'server_failed' : 'failed';
}

/** UNSPECIFIED: of what OpenSSL finds in a certificate, Node names no more; its key is too short, for example. */
const certificates =
  /^(UNSPECIFIED$|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)/;

/** There is TLS, but no version or cipher that both have, or one of its keys is too short. */
const weakTls =
  /^ERR_SSL_.*(PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|HANDSHAKE_FAILURE|INSUFFICIENT_SECURITY|TOO_SMALL|LEGACY_RENEG)/;

/** Why a server was not reached; `code` as OpenSSL and the operating system name it. */
export function faultOfCode(code: string): BackupFault {
  if (certificates.test(code)) return 'certificate';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EAI_NODATA') return 'host_unknown';
  if (weakTls.test(code)) return 'old_tls';
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_') || code === 'EPROTO') return 'no_tls';
  return 'unreachable';
}
