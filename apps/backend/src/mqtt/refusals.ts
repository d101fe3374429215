import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { createRateLimitedCounter } from '@station/kit/rate-limited-counter';
import type { ConnectionRefusal, LoginRefusal } from '@station/protocol/backend-events';

/** Who was refused, as far as it was said. */
export type RefusedClient = { login: string | null; clientId: string | null; protocol: string | null; address: string };

export type Refusals = {
  /** A connection ended before its log-in. */
  connection(reason: ConnectionRefusal, client: RefusedClient): void;
  /** The user name or the password is wrong. */
  login(reason: LoginRefusal, client: RefusedClient): void;
};

const help: Record<ConnectionRefusal, string> = {
  protocol_version:
    'The embedded broker speaks MQTT 3.1 and 3.1.1. Set the client to 3.1.1, or use Mosquitto (MQTT_URL).',
  client_id: 'Give the client an id; without one it needs MQTT 3.1.1 and a clean session.',
  too_large: 'A client may send 4 KiB before its log-in. Make its CONNECT smaller.',
  too_much: 'It sent far more than it may a moment ago. It may connect again in some seconds.',
  too_many_connections: 'Too many connections are open or wait for their log-in. Find out what opens them.',
  timeout: 'No CONNECT arrived within 10 s. Check that the client speaks MQTT on this port.',
  tls_failed:
    'The TLS handshake failed. The client must speak TLS on this port, and trust the authority of the station (/ca.crt).',
  unreadable: 'It is not MQTT. Check that the client uses this port without TLS, HTTP and WebSocket.',
  unavailable: 'The station could not read its devices. The client tries again by itself.',
};

const loginHelp: Record<LoginRefusal, string> = {
  no_login: 'Set the id of the device as user name, and its token as password.',
  unknown_name: 'The station has no device of this id. Add the device, or correct its user name.',
  wrong_password: 'The password is not the token of this device. Set the device up again.',
};

/** Names with a line of their own; all further ones share a line, because anybody can make up names. */
const maxOwnLines = 20;
const renewEveryMs = 60 * 60_000;

/** Logs why clients of the embedded broker are refused: the first of each client and reason at once, then at most once a minute. */
export function createRefusals({ clock, logger }: { clock: Clock; logger: BackendLogger }): Refusals {
  type Detail = { client: RefusedClient } & (
    | { kind: 'connection'; reason: ConnectionRefusal }
    | { kind: 'login'; reason: LoginRefusal }
  );
  const newCounter = () =>
    createRateLimitedCounter<string, Detail>({
      clock,
      report: ({ sinceReport: count, detail }) => {
        const { login, clientId, protocol, address } = detail.client;
        const from = { clientId: shown(clientId), protocol, address };
        if (detail.kind === 'connection') {
          const { reason } = detail;
          logger.event('mqtt_connection_refused', { reason, count, login: shown(login), ...from, help: help[reason] });
        } else {
          const { reason } = detail;
          const externalId = shown(login) ?? '';
          logger.event('mqtt_login_refused', { reason, count, externalId, ...from, help: loginHelp[reason] });
        }
      },
    });
  let counter = newCounter();
  let own = new Set<string>();
  let renewedMs = clock.monotonic();
  const count = (detail: Detail): void => {
    const nowMs = clock.monotonic();
    if (nowMs - renewedMs >= renewEveryMs) {
      counter = newCounter();
      own = new Set();
      renewedMs = nowMs;
    }
    const key = `${detail.reason} ${detail.client.login ?? detail.client.address}`;
    if (own.size < maxOwnLines) own.add(key);
    counter.count(own.has(key) ? key : detail.reason, detail);
  };
  return {
    connection: (reason, client) => count({ kind: 'connection', reason, client }),
    login: (reason, client) => count({ kind: 'login', reason, client }),
  };
}

/** The length of a UUID. A token is longer: a sketch that confuses the two must not write it into the log. */
const longestShown = 36;
const shown = (name: string | null): string | null =>
  name === null || name.length <= longestShown ? name : `${name.slice(0, 8)}… (${name.length} characters)`;
