import { once } from 'node:events';
import { get } from 'node:http';
import { connect as connectSocket } from 'node:net';
import { parseJson } from '@station/kit/json';
import { responseOf } from '@station/kit/response-of';
import { connect as connectMqtt } from 'mqtt';
import { brokerAddress } from '../../core/adapters/broker-address.ts';
import type { BrokerProbe, HttpProbe } from '../../core/doctor-facts.ts';

const maxBodyBytes = 64 * 1024;

/** Asks this machine's own server. Never throws. */
export async function probeHttp(url: string, signal: AbortSignal): Promise<HttpProbe> {
  try {
    const request = get(url, { signal, agent: false });
    const response = await responseOf(request);
    let text = '';
    for await (const chunk of response) {
      text += String(chunk);
      if (text.length > maxBodyBytes) break;
    }
    return { kind: 'answer', status: response.statusCode ?? 0, body: parseJson(text) ?? null };
  } catch (error) {
    return codeOf(error) === 'ECONNREFUSED' ? { kind: 'refused' } : { kind: 'failed', reason: reasonOf(error) };
  }
}

/** Whether a program accepts connections at this address. */
export async function isListening(host: string, port: number, signal: AbortSignal): Promise<boolean> {
  const socket = connectSocket({ host, port, signal });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

const connectTimeoutMs = 5_000;

/**
 * Logs in at a broker with a session of its own, which ends at once: the session of the backend is not touched. Never throws.
 * @param login.authority PEM of the authorities for an `mqtts://` broker; null: Node's default list.
 */
export async function probeBroker(
  url: string,
  login: { username: string | null; password: string | null; authority: string | null },
): Promise<BrokerProbe> {
  const { username, password, authority } = login;
  const client = connectMqtt({
    protocolVersion: 4,
    clean: true,
    clientId: `doctor-${process.pid}`,
    reconnectPeriod: 0,
    connectTimeout: connectTimeoutMs,
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
    ...(authority === null ? {} : { ca: authority }),
    ...brokerAddress(url),
  });
  const { promise, resolve } = Promise.withResolvers<BrokerProbe>();
  client.on('connect', () => resolve({ kind: 'ok' }));
  client.on('error', (error) => resolve(failureOf(error)));
  client.on('close', () => resolve({ kind: 'silent', reason: 'it ended the connection' }));
  try {
    return await promise;
  } finally {
    await client.endAsync(true).catch(() => undefined);
  }
}

/** CONNACK return codes of MQTT 3.1.1 (section 3.2.2.3) for a refused login. */
const refusals: Readonly<Record<number, string>> = { 4: 'wrong user name or password', 5: 'not authorised' };

function failureOf(error: Error): BrokerProbe {
  const code = 'code' in error ? error.code : undefined;
  const refusal = typeof code === 'number' ? refusals[code] : undefined;
  return refusal === undefined ? { kind: 'silent', reason: reasonOf(error) } : { kind: 'refused', reason: refusal };
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);

/** A code rather than a message: a message of TLS or of a parser may repeat what was sent. */
function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (typeof code === 'string') return code;
  return error instanceof Error && error.name === 'AbortError' ? 'no answer in time' : 'no answer';
}
