import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StationClock } from '@station/protocol/rest';
import { jumpingClock, type JumpingClock } from './jumping-clock.ts';
import { owner, refreshCookie, runBackend, type RunningBackend } from './running-backend.ts';
import { simulateAgent, type SimulatedAgent } from './simulated-agent.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** What the agent says about the clock; null: there is no agent. */
export type AgentSays = 'right' | 'wrong' | null;

export type JumpingStation = AsyncDisposable & {
  running: RunningBackend;
  machine: JumpingClock;
  /** From now on. */
  agentSays(word: 'right' | 'wrong'): void;
  /** The clock jumps, and the backend has had time to notice it. */
  jump(wallMs: number | null, says: AgentSays): Promise<void>;
  /** Time passes until `ms` after the start; the loops run in the last minute, which is the longest wait of a loop. */
  passTo(ms: number): Promise<void>;
  /** As the owner, who logs in with the refresh cookie when the access token is not valid. */
  call(method: 'GET' | 'POST' | 'PUT', url: string, payload?: object): Promise<{ statusCode: number; body: string }>;
  clock(): Promise<StationClock>;
};

const agentToken = 'the-token-of-the-agent';
/** Milliseconds of the station in which its loops run, and of the test meanwhile. */
const turnMs = 2_000;
const realMs = 4;
/** The loops run for so long after a jump, and before the time that is passed to. */
const afterJumpMs = 30_000;
const beforeMs = 60_000;

/** The whole backend on a machine whose clock jumps; its monotonic clock only goes forward. */
export async function jumpingStation(wallMs: number, says: AgentSays): Promise<JumpingStation> {
  await using starting = new AsyncDisposableStack();
  const machine = jumpingClock(wallMs);
  const agent = says === null ? null : await startAgent(starting, machine, says);
  const running = starting.use(await runBackend({ clock: machine, env: agent?.env ?? {} }));
  const { http } = running;
  const setUp = { code: (await running.setupCode()).trim(), ...owner };
  const first = await http.inject({ method: 'POST', url: '/api/auth/setup', payload: setUp });
  let cookie = refreshCookie(first);
  let token = first.json<{ accessToken: string }>().accessToken;
  const startedMs = machine.monotonic();
  const letRun = async (ms: number): Promise<void> => {
    for (let turn = 0; turn < ms / turnMs; turn++) {
      await machine.advance(turnMs);
      await sleep(realMs);
    }
  };
  const ask = (method: 'GET' | 'POST' | 'PUT', url: string, payload?: object) =>
    http.inject({ method, url, headers: { authorization: `Bearer ${token}` }, ...(payload ? { payload } : {}) });
  const station: Omit<JumpingStation, typeof Symbol.asyncDispose> = {
    running,
    machine,
    agentSays: (word) => agent?.says(word),
    jump: async (to, word) => {
      if (word !== null) agent?.says(word);
      if (to !== null) machine.set(to);
      await letRun(afterJumpMs);
    },
    passTo: async (ms) => {
      const leftMs = startedMs + ms - machine.monotonic() - beforeMs;
      if (leftMs < 0) throw new Error(`The station is already past ${ms} ms`);
      machine.pass(leftMs);
      await letRun(beforeMs);
    },
    call: async (method, url, payload) => {
      const answer = await ask(method, url, payload);
      if (answer.statusCode !== 401) return answer;
      const refreshed = await http.inject({ method: 'POST', url: '/api/auth/refresh', headers: { cookie } });
      if (refreshed.statusCode !== 200) return refreshed;
      cookie = refreshCookie(refreshed);
      token = refreshed.json<{ accessToken: string }>().accessToken;
      return ask(method, url, payload);
    },
    clock: async () => JSON.parse((await station.call('GET', '/api/system/clock')).body) as StationClock,
  };
  const started = starting.move();
  return { ...station, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

/** An agent that says about the clock what the test wants. Setting the clock is left to the test. */
async function startAgent(starting: AsyncDisposableStack, machine: JumpingClock, first: 'right' | 'wrong') {
  const socketPath = join(starting.use(await temporaryFolder()).path, 'agent.sock');
  const agent: SimulatedAgent = starting.use(await simulateAgent(socketPath));
  const says = (word: 'right' | 'wrong'): void =>
    agent.answer('/clock', 200, {
      trusted: word === 'right',
      source: word === 'right' ? 'ntp' : 'none',
      now: new Date(machine.now()).toISOString(),
    });
  says(first);
  return { says, env: { AGENT_SOCKET: socketPath, AGENT_TOKEN: agentToken } };
}
