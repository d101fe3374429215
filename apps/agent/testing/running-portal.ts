import { events as catalogue, type AgentEvent } from '@station/protocol/events';
import { request, type IncomingHttpHeaders } from 'node:http';
import { systemClock } from '@station/kit/clock';
import { createLogger } from '@station/kit/logger';
import { type JoinRequest, type Network, ssidFromText } from '../src/core/wifi-network.ts';
import type { PortalActions, PortalView } from '../src/core/hotspot-ports.ts';
import type { CodeGuard } from '../src/portal/code-guard.ts';
import { listenForPortal } from '../src/core/adapters/http-listener.ts';
import { openPortal } from '../src/portal/portal-server.ts';

export const network = (name: string, security: Network['security'], signal: number, isKnown = false): Network => ({
  ssid: ssidFromText(name),
  security,
  signal,
  isKnown,
});

export const quietView: PortalView = {
  hotspotSsid: ssidFromText('Station-1a2b'),
  isOpen: false,
  wasEverJoined: true,
  networks: [network('Home', 'wpa2', 82), network('Café', 'open', 55), network('Office', 'enterprise', 40)],
  joining: null,
  lastJoin: null,
  isLooking: false,
  stationAddress: 'http://station.local/',
};

/** Simulates the watchdog: shows a given view and records the requests. */
export function createSimulatedWatchdog(start: Partial<PortalView> = {}) {
  let view: PortalView = { ...quietView, ...start };
  let searching = Promise.withResolvers<void>();
  const state = { joins: [] as JoinRequest[], seen: 0, searches: 0 };
  const actions: PortalActions = {
    view: () => view,
    rescan: () => {
      state.searches += 1;
      return searching.promise;
    },
    join: (asked) => {
      if (view.joining !== null) return 'busy';
      state.joins.push(asked);
      view = { ...view, joining: asked.ssid };
      return 'accepted';
    },
    seen: () => void (state.seen += 1),
  };
  return {
    actions,
    state,
    set: (change: Partial<PortalView>) => void (view = { ...view, ...change }),
    /** Ends the running searches. */
    found: (networks: readonly Network[]) => {
      view = { ...view, networks };
      searching.resolve();
      searching = Promise.withResolvers<void>();
    },
  };
}

/** Takes one code; the tries are not counted. */
const simulatedGuard: CodeGuard = {
  check: async (given) => (given === simulatedCode ? { kind: 'right' } : { kind: 'wrong', left: 4, retryInMs: 0 }),
};
export const simulatedCode = 'BCDF-2345-GHJK';

/** The portal on a free port of this machine, with its log. */
export async function startPortal(actions: PortalActions, port = 0, guard = simulatedGuard) {
  const events: AgentEvent[] = [];
  const logger = createLogger({ catalogue, clock: systemClock, write: () => undefined, level: 'debug', secrets: [] });
  logger.subscribe((event) => void events.push(event));
  const stop = new AbortController();
  const portal = await openPortal({
    listenHttp: listenForPortal,
    address: '127.0.0.1',
    port,
    actions,
    guard,
    logger,
    clock: systemClock,
    random: Math.random,
    signal: stop.signal,
  });
  return {
    portal,
    events,
    /** Where the page is, without a slash at the end. */
    url: `http://${portal.address() ?? 'nowhere'}`,
    port: Number(portal.address()?.split(':')[1]),
    [Symbol.asyncDispose]: () => portal[Symbol.asyncDispose](),
  };
}

export type Reply = { status: number; headers: IncomingHttpHeaders; body: string };

/** One request on a connection of its own, with any name in Host. */
export function ask(
  port: number,
  options: { method?: string; path?: string; headers?: Record<string, string>; body?: string | Uint8Array },
): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const { method = 'GET', path = '/', headers = {} } = options;
  const asking = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (answer) => {
    const chunks: Buffer[] = [];
    answer.on('data', (chunk: Buffer) => void chunks.push(chunk));
    answer.on('error', reject);
    answer.on('end', () =>
      resolve({
        status: answer.statusCode ?? 0,
        headers: answer.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      }),
    );
  });
  asking.on('error', reject);
  asking.end(options.body);
  return promise;
}
