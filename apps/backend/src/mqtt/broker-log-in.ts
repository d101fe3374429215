import { randomUUID } from 'node:crypto';
import type { AedesOptions, AuthenticateError, Client } from 'aedes';
import type { LoginRefusal } from '@station/protocol/backend-events';
import { isHandshakeError, isParserError } from './adapters/mqtt-server.ts';
import type { ExpectedDevices } from '../core/expected-devices-port.ts';
import type { ForeignDevices } from '../core/foreign-devices-port.ts';
import { hashToken, isSameHash } from '../core/secrets.ts';
import type { UnregisteredDevices } from './ports.ts';
import type { RefusedClient, Refusals } from './refusals.ts';

export type LogInParts = {
  /** @returns SHA-256 (hex) of the token of the device with this external id; null: there is no such device. */
  findTokenHash: (externalId: string) => Promise<string | null>;
  unregistered: Pick<UnregisteredDevices, 'mayLogIn'>;
  expected: Pick<ExpectedDevices, 'mayLogIn'>;
  foreign: Pick<ForeignDevices, 'findLogin' | 'refused'>;
  refusals: Refusals;
};

/** CONNECT return codes (MQTT 3.1.1, section 3.2.2.3). */
const codes = { version: 1, clientId: 2, unavailable: 3, badLogin: 4 } as const;

/** What a client said in its CONNECT. */
type Connect = { login: string; clientId: string; version: number; isClean: boolean; willTopic: string | null };

type LogInRules = {
  options: Pick<AedesOptions, 'preConnect' | 'authenticate' | 'maxClientsIdLength'>;
  /** For the errors of clients that have no id yet. */
  failed: (client: Client, error: Error & { errorCode?: number; code?: unknown }) => void;
};

/**
 * Who may log in to the embedded broker, and why others are refused. Ids have any length: MQTT 3.1 allows 23 characters, and its clients
 * use more.
 */
export function logInRules(
  parts: LogInParts,
  on: {
    loggedIn: (client: Client, login: string, connect: { clientId: string; isClean: boolean }) => void;
    loginReplaced: (login: string) => void;
    /** False: it sent far too much a moment ago. */
    mayConnect: (login: string) => boolean;
  },
): LogInRules {
  const { refusals } = parts;
  const connects = new WeakMap<Client, Connect>();
  const describe = (client: Client): RefusedClient => {
    const said = connects.get(client);
    const { remoteAddress } = client.conn as { remoteAddress?: string };
    return {
      login: said?.login ?? null,
      clientId: said?.clientId ?? null,
      protocol: said === undefined ? null : nameOf(said.version),
      address: remoteAddress ?? '',
    };
  };
  const preConnect: AedesOptions['preConnect'] = (client, packet, done) => {
    const { username: login = '', clientId, clean: isClean = true, protocolVersion: version = 0, will } = packet;
    connects.set(client, { login, clientId, version, isClean, willTopic: will?.topic ?? null });
    // The user name is part of the client id, so that no device can take over another device's session.
    packet.clientId = `${login}/${clientId === '' ? randomUUID() : clientId}`;
    done(null, true);
  };
  const authenticate: AedesOptions['authenticate'] = (client, username, password, done) => {
    const refuse = (code: number): void => done(connectError(code), false);
    if (lacksId(connects.get(client))) {
      refusals.connection('client_id', describe(client));
      return refuse(codes.clientId);
    }
    judgeLogin(parts, { username, password }, on.loginReplaced).then(
      (judged) => {
        if (judged === 'allowed' && !on.mayConnect(username ?? '')) {
          refusals.connection('too_much', describe(client));
          return refuse(codes.unavailable);
        }
        if (judged === 'allowed') {
          const { clientId = '', isClean = true } = connects.get(client) ?? {};
          on.loggedIn(client, username ?? '', { clientId, isClean });
          return done(null, true);
        }
        refusals.login(judged, describe(client));
        const willTopic = connects.get(client)?.willTopic ?? null;
        if (willTopic !== null) parts.foreign.refused(willTopic);
        refuse(codes.badLogin);
      },
      () => {
        refusals.connection('unavailable', describe(client));
        refuse(codes.unavailable);
      },
    );
  };
  return {
    options: { preConnect, authenticate, maxClientsIdLength: Infinity },
    failed: (client, error) => {
      if (error.errorCode === codes.version) refusals.connection('protocol_version', describe(client));
      else if (isParserError(client, error)) refusals.connection('unreadable', describe(client));
      else if (isHandshakeError(error)) refusals.connection('tls_failed', describe(client));
      // The system's errors have a code: the client went away.
      else if (error.code === undefined) refusals.connection('timeout', describe(client));
    },
  };
}

const nameOf = (version: number): string =>
  version === 3 ? 'MQTT 3.1' : version === 4 ? 'MQTT 3.1.1' : `MQTT ${version}`;

/** Sections 3.1.3.1 of MQTT 3.1.1 (a session that is kept needs an id) and 3.1 of MQTT 3.1 (always). */
const lacksId = (said: Connect | undefined): boolean =>
  said !== undefined && said.clientId === '' && (!said.isClean || said.version === 3);

async function judgeLogin(
  { findTokenHash, unregistered, expected, foreign }: LogInParts,
  { username, password }: { username: string | undefined; password: Buffer | undefined },
  loginReplaced: (login: string) => void,
): Promise<'allowed' | LoginRefusal> {
  if (username === undefined || password === undefined) return 'no_login';
  const tokenHash = hashToken(password.toString('utf8'));
  const gateway = foreign.findLogin(username);
  if (gateway !== null) return isSameHash(gateway.tokenHash, tokenHash) ? 'allowed' : 'wrong_password';
  const known = await findTokenHash(username);
  // The token of a device that was accepted with an external broker is not known: that text has another length.
  if (known !== null && isSameHash(known, tokenHash)) return 'allowed';
  if (await expected.mayLogIn(username, tokenHash)) {
    loginReplaced(username);
    return 'allowed';
  }
  if (known !== null) return 'wrong_password';
  return (await unregistered.mayLogIn(username, tokenHash)) ? 'allowed' : 'unknown_name';
}

const connectError = (returnCode: number): AuthenticateError =>
  Object.assign<Error, Pick<AuthenticateError, 'returnCode'>>(new Error('The log-in is refused'), { returnCode });
