/**
 * The parts of Node's host modules that only compute. Other files import them from here, so that an import of `node:net` or
 * `node:http` always means access to the host (tests/architecture).
 */
export { STATUS_CODES as statusTexts } from 'node:http';
export { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
