import { connectAsync, type MqttClient } from 'mqtt';
import { brokerAddress } from '../../core/adapters/broker-address.ts';

export type DynsecCommand = { command: string } & Record<string, unknown>;
export type DynsecAnswer = { command: string; error?: string; data?: Record<string, unknown> };

export type DynsecBroker = {
  url: string;
  username: string;
  password: string;
  /** Certificates (PEM) of the authorities for an `mqtts://` broker; null: Node's default list. */
  authority: string | null;
  /** How long the broker may take to answer. */
  answerMs?: number;
};

const controlTopic = '$CONTROL/dynamic-security/v1';
const answerTopic = `${controlTopic}/response`;
const answerWithinMs = 5_000;
const connectMs = 5_000;

/** The broker has connected, and does not answer: it may have no such plugin. */
export class NoAnswer extends Error {}

/**
 * Sends commands to Mosquitto's dynamic-security plugin on a connection of its own: it is rarely needed, and the other one serves devices.
 * @throws (rejects) NoAnswer, or why the connection failed.
 */
export async function askDynsec(
  { url, username, password, authority, answerMs = answerWithinMs }: DynsecBroker,
  commands: readonly DynsecCommand[],
): Promise<DynsecAnswer[]> {
  const trust = authority === null ? {} : { ca: authority };
  const login = { username, password };
  const options = { ...login, ...brokerAddress(url), ...trust, reconnectPeriod: 0, connectTimeout: connectMs };
  const client = await connectAsync('', options, false);
  try {
    const answer = nextAnswer(client, answerMs);
    const asking = async (): Promise<DynsecAnswer[]> => {
      await client.subscribeAsync(answerTopic, { qos: 1 });
      await client.publishAsync(controlTopic, JSON.stringify({ commands }), { qos: 1 });
      return answer;
    };
    // When the connection ends, the pending calls never settle.
    return await Promise.race([asking(), answer]);
  } finally {
    await client.endAsync(true);
  }
}

function nextAnswer(client: MqttClient, answerMs: number): Promise<DynsecAnswer[]> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new NoAnswer('The broker did not answer; it may have no dynamic-security plugin')),
      answerMs,
    );
    const end = (error: Error): void => {
      clearTimeout(timer);
      reject(error);
    };
    client.once('error', end);
    client.once('close', () => end(new Error('The broker ended the connection')));
    client.on('message', (_topic, payload) => {
      clearTimeout(timer);
      try {
        resolve((JSON.parse(payload.toString('utf8')) as { responses: DynsecAnswer[] }).responses);
      } catch (error) {
        reject(new Error('The answer of the broker could not be read', { cause: error }));
      }
    });
  });
}
