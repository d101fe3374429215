/**
 * What Node's host modules only compute: nothing here opens a socket. Everything else imports these from here, so that an import of
 * `node:net` or `node:http` always means the host (tests/architecture).
 */
export { STATUS_CODES as statusTexts } from 'node:http';
export { isIP, isIPv4, isIPv6 } from 'node:net';
