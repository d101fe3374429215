import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { Accepted, CheckResult, Status, UpdateResult } from '@station/protocol/agent-api';
import { AgentRefusal, AgentSilent, type Begun, type RunningAgent } from '../commands-ports.ts';
import { faultOf, readBody, sendRequest } from '../../core/adapters/http-request.ts';

/** Of the agent's errors (contracts, section 0) what a person is told. */
const Refused = Type.Object({ code: Type.String(), message: Type.String() });

const maxBytes = 4 * 1024 * 1024;
const readMs = 15_000;
/** The agent asks the update server before it answers. */
const changeMs = 120_000;

/** Asks the agent over TCP, as any program of this machine may (contracts, section 4). */
export function createRunningAgent(api: { host: string; port: number; token: string | null }): RunningAgent {
  const origin = `http://${reachable(api.host)}:${api.port}`;
  const headers = api.token === null ? {} : { authorization: `Bearer ${api.token}` };
  const shaped = <T extends TSchema>(schema: T, answer: unknown): Static<T> => {
    if (Value.Check(schema, answer)) return answer;
    throw new AgentSilent(`what answers at ${origin} is not this agent`);
  };
  const ask = async (method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> => {
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    let status: number;
    let answer: unknown;
    try {
      const response = await sendRequest(new URL(path, origin), {
        method,
        headers: { ...headers, ...type },
        ...content,
        signal: AbortSignal.timeout(method === 'GET' ? readMs : changeMs),
      });
      status = response.status;
      answer = JSON.parse(Buffer.from((await readBody(response, maxBytes)) ?? []).toString());
    } catch (error) {
      throw new AgentSilent(`the agent does not answer at ${origin} (${faultOf(error)})`, { cause: error });
    }
    if (status < 400) return answer;
    const { code, message } = shaped(Refused, answer);
    throw new AgentRefusal(code, message);
  };
  const begunBy = (answer: unknown): Begun => {
    if (Value.Check(Accepted, answer)) return { kind: 'started', operationId: answer.operationId };
    return { kind: 'already_current', version: shaped(UpdateResult, answer).to };
  };
  return {
    status: async () => shaped(Status, await ask('GET', '/status')),
    check: async () => shaped(CheckResult, await ask('POST', '/check')),
    update: async (version) => begunBy(await ask('POST', '/update?wait=false', version === null ? {} : { version })),
    rollback: async () => begunBy(await ask('POST', '/rollback?wait=false')),
  };
}

/** Where this machine reaches a server that listens there. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
