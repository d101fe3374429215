import { hash, X509Certificate } from 'node:crypto';
import { globalAgent as plainAgent } from 'node:http';
import { globalAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { WebSocket } from 'ws';
import { describeError } from '@station/kit/station-error';
import { maxCloudFrameBytes, tokenRejectedCode } from '@station/protocol/cloud-messages';

/** One connection to the cloud. */
export type CloudSocket = {
  /** Bytes that were sent here but not yet accepted by the kernel. */
  readonly bufferedAmount: number;
  /** @param done called when the kernel accepted the frame, or never will. */
  send(text: string, done?: (error?: Error) => void): void;
  ping(): void;
  /** Stops reading, so that the other side has to wait. */
  pause(): void;
  resume(): void;
  /** Sends a closing frame and cuts the connection soon after, whatever the other side does. It emits no more events. */
  end(): void;
};

type CloudSocketHandler = {
  onOpen(): void;
  /** @param text null for a binary frame. */
  onMessage(text: string | null): void;
  onPong(): void;
  onClose(loss: CloudLoss): void;
};

export type CloudLoss = {
  /** `cloud` also when the connection was reset; `network` when it broke on the way. */
  by: 'cloud' | 'network';
  /** Null without a closing frame. */
  code: number | null;
  reason: string;
  /** The other side could not prove its identity; `clock`: its certificate is not valid yet. */
  trouble: 'certificate' | 'clock' | null;
};

export type OpenCloudSocket = (handler: CloudSocketHandler) => CloudSocket;

type CloudSocketOptions = {
  /** `wss://…`; `ws://` only for a loopback address, which the configuration checks. */
  url: string;
  /** PEM of certificates to trust instead of Node's default list; null: the default list. */
  ca: string | null;
  /** SHA-256 of public keys (SPKI, base64), one of which must be in the chain; empty: any chain that verifies. */
  pins: readonly string[];
};

/** The library cuts a link with 60 unsent pongs and does not say why; `passControlFrames` does. Its types do not know the option yet. */
const ownLimits = { maxPendingAutoPongs: 0 };
const handshakeTimeoutMs = 10_000;
const cutOffMs = 1_000;
/** The library answers pings by itself, before the queue of frames could slow the cloud down. A cloud pings every few seconds. */
const maxControlFrames = 200;
const controlWindowMs = 10_000;
/** Errors of the network; any other end of an open connection was caused by the other side. */
const networkErrors = new Set(['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'ECONNABORTED', 'ENOTCONN']);

const notYetValid = 'CERT_NOT_YET_VALID';
const noPinnedKey = 'STATION_NO_PINNED_KEY';
/** Node's codes for a chain that does not verify (nodejs.org/api/tls.html, "X509 certificate error codes"), and for a wrong name. */
const distrustCodes = new Set([
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERROR_IN_CERT_NOT_AFTER_FIELD',
  'ERROR_IN_CERT_NOT_BEFORE_FIELD',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  noPinnedKey,
]);

/** Opens WebSockets to the cloud: the certificate must verify, and hold a pinned key if any is pinned (RFC 7469, section 2.4, for the form). */
export const createCloudSockets =
  (options: CloudSocketOptions): OpenCloudSocket =>
  (handler) =>
    openCloudSocket(options, handler);

type SocketState = {
  socket: WebSocket;
  handler: CloudSocketHandler;
  error: NodeJS.ErrnoException | null;
  /** No more events are emitted. */
  isOver: boolean;
  /** Call it before each write. */
  gather: () => void;
};

function openCloudSocket({ url, ca, pins }: CloudSocketOptions, handler: CloudSocketHandler): CloudSocket {
  const socket = new WebSocket(url, {
    // They know the proxy of this network.
    agent: url.startsWith('wss:') ? globalAgent : plainAgent,
    handshakeTimeout: handshakeTimeoutMs,
    maxPayload: maxCloudFrameBytes,
    perMessageDeflate: false,
    followRedirects: false,
    ...ownLimits,
    // Overrides NODE_TLS_REJECT_UNAUTHORIZED: without the chain check, neither name nor pins would be checked.
    rejectUnauthorized: true,
    checkServerIdentity: ((host: string, certificate: PeerCertificate) =>
      checkServerIdentity(host, certificate) ?? checkPins(certificate, pins)) as never,
    ...(ca === null ? {} : { ca }),
  });
  const state: SocketState = { socket, handler, error: null, isOver: false, gather: () => undefined };
  passEvents(state);
  passControlFrames(state);
  return {
    get bufferedAmount() {
      return socket.bufferedAmount;
    },
    send: (text, done) => {
      state.gather();
      socket.send(text, done && ((failure) => done(failure ?? undefined)));
    },
    ping: () => socket.ping(() => undefined),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    end: () => {
      state.isOver = true;
      if (socket.readyState === WebSocket.CONNECTING) return socket.terminate();
      socket.close(1000);
      setTimeout(() => socket.terminate(), cutOffMs).unref();
    },
  };
}

function passEvents(state: SocketState): void {
  const { socket, handler } = state;
  socket.on('upgrade', ({ socket: connection }) => {
    state.gather = gatherWrites(connection);
  });
  socket.on('open', () => !state.isOver && handler.onOpen());
  socket.on('message', (data, isBinary) => {
    if (state.isOver) return;
    const bytes = Buffer.isBuffer(data)
      ? data
      : Buffer.concat([data as ArrayBuffer].flat().map((part) => Buffer.from(part)));
    handler.onMessage(isBinary ? null : bytes.toString('utf8'));
  });
  socket.on('error', (error) => (state.error ??= error));
  socket.on('unexpected-response', (request, response) => {
    const status = response.statusCode ?? 0;
    request.destroy();
    const code = status === 401 || status === 403 ? tokenRejectedCode : null;
    close(state, { by: 'cloud', code, reason: `The cloud answered with status ${status}.`, trouble: null });
  });
  socket.on('close', (code, reason) => {
    const { error } = state;
    const errorCode = error?.code ?? '';
    close(state, {
      by: networkErrors.has(errorCode) ? 'network' : 'cloud',
      // 1006: there was no closing frame.
      code: code === 1006 ? null : code,
      reason: reasonOf(code, String(reason), error),
      trouble: troubleOf(errorCode),
    });
  });
}

function passControlFrames(state: SocketState): void {
  const { socket, handler } = state;
  const isWithinLimit = createWindow(maxControlFrames, controlWindowMs);
  const limited = (onFrame: () => void) => (): void => {
    if (state.isOver) return;
    if (isWithinLimit()) return onFrame();
    const reason = 'The cloud sent more pings and pongs than it may.';
    close(state, { by: 'cloud', code: null, reason, trouble: null });
    socket.terminate();
  };
  socket.on(
    'ping',
    limited(() => undefined),
  );
  socket.on('pong', limited(handler.onPong));
}

function close(state: SocketState, loss: CloudLoss): void {
  if (state.isOver) return;
  state.isOver = true;
  state.handler.onClose(loss);
}

/** @returns whether one more frame is within the limit for the period. */
function createWindow(most: number, ms: number): () => boolean {
  let count = 0;
  let endMs = 0;
  return () => {
    const nowMs = performance.now();
    if (nowMs >= endMs) {
      count = 0;
      endMs = nowMs + ms;
    }
    count += 1;
    return count <= most;
  };
}

/** Replaces the sockets when no certificates can be trusted: each attempt fails with the same reason. */
export function createNoSockets(reason: string): OpenCloudSocket {
  const nothing = (): void => undefined;
  return (handler) => {
    setImmediate(() => handler.onClose({ by: 'network', code: null, reason, trouble: 'certificate' }));
    return { bufferedAmount: 0, send: nothing, ping: nothing, pause: nothing, resume: nothing, end: nothing };
  };
}

function troubleOf(errorCode: string): CloudLoss['trouble'] {
  if (errorCode === notYetValid) return 'clock';
  return distrustCodes.has(errorCode) ? 'certificate' : null;
}

function reasonOf(code: number, reason: string, error: Error | null): string {
  if (error !== null) return describeError(error);
  if (code === 1006) return 'The connection was cut.';
  return `The cloud closed the link with code ${code}${reason === '' ? '' : `: ${reason}`}`.slice(0, 300);
}

function checkPins(certificate: PeerCertificate, pins: readonly string[]): Error | undefined {
  if (pins.length === 0) return undefined;
  const chain = chainOf(certificate);
  if (chain.some((one) => pins.includes(pinOf(one.raw)))) return undefined;
  return Object.assign(new Error('No certificate of the cloud has a pinned key.'), { code: noPinnedKey });
}

/** The presented and verified chain; a root is its own issuer. */
function chainOf(certificate: PeerCertificate): PeerCertificate[] {
  const chain: PeerCertificate[] = [];
  let at: PeerCertificate | undefined = certificate;
  while (at !== undefined && !chain.includes(at)) {
    chain.push(at);
    at = (at as { issuerCertificate?: PeerCertificate }).issuerCertificate;
  }
  return chain;
}

/** @param der a certificate. @returns SHA-256 of its SubjectPublicKeyInfo, base64. */
export function pinOf(der: Uint8Array): string {
  return hash('sha256', new X509Certificate(der).publicKey.export({ type: 'spki', format: 'der' }), 'base64');
}

/** A larger block would leave the other side idle while this side still works. */
const mostAtOnce = 8;

/**
 * Sends what is written to a connection in one turn with few system calls. Otherwise each answer to a packet of many calls would cost one.
 * Call the result before each write.
 */
export function gatherWrites(connection: Pick<Duplex, 'cork' | 'uncork'>): () => void {
  let held = 0;
  const release = (): void => {
    if (held === 0) return;
    held = 0;
    connection.uncork();
  };
  return () => {
    if (held === mostAtOnce) release();
    held += 1;
    if (held > 1) return;
    connection.cork();
    // Runs after the promises of this turn (the answers), and before more is read.
    process.nextTick(release);
  };
}
