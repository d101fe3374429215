import type { Clock } from '@station/kit/clock';
import { reach, type Air, type SimulatedRouter } from './air.ts';
import { createSimulatedRadio } from './radio.ts';

/** The password of every network at home that has one. */
export const homePassword = 'correct horse';

const hex = (name: string): string => Buffer.from(name, 'utf8').toString('hex');

const router = (name: string, signal: number, changes: Partial<SimulatedRouter> = {}): SimulatedRouter => ({
  ssid: hex(name),
  password: homePassword,
  isOn: true,
  isHidden: false,
  givesAddresses: true,
  answers: true,
  internet: true,
  signal,
  ...changes,
});

/** A station in the network `Home`, with others nearby: in the same house, hidden, open, and one behind which nothing answers. */
function homeAir(): Air {
  const saved = { isSaved: true, isAutomatic: true, owner: null, settledBy: null, isFailed: false };
  return {
    routers: [
      router('Home', 82),
      router('Home upstairs', 47),
      router('Café Затишок', 35, { password: null }),
      router('Broken router', 22, { answers: false }),
      router('Cellar', 60, { isHidden: true }),
    ],
    profiles: [{ id: 'home', ssid: hex('Home'), password: homePassword, ...saved }],
    manager: 'running',
    hasRadio: true,
    blocked: 'no',
    cable: null,
    hotspot: null,
    hasLeftovers: false,
    phones: 0,
    active: 'home',
    autoconnectMs: null,
    nextId: 0,
    version: 0,
  };
}

/** Nobody wants to wait for a simulated radio as long as for a real one. */
const faster = 5;

/** The radio of the agent of `npm start`, and what can be reached over it. */
export function createHomeRadio(clock: Clock) {
  const air = homeAir();
  const quick: Clock = {
    ...clock,
    monotonic: () => clock.monotonic() * faster,
    sleep: (ms, signal) => clock.sleep(ms / faster, signal),
  };
  return {
    radio: createSimulatedRadio({ air, clock: quick, owner: process.pid, gate: () => 'ok' }),
    reachability: { probe: async (gateway: string | null) => reach(air, gateway) },
  };
}
