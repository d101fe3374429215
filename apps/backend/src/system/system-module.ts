import type { Clock } from '@station/kit/clock';
import type { ServerMessage } from '@station/protocol/socket';
import { type Module, opened } from '../platform/module.ts';
import { standingConditions } from '../store/station-event-store.ts';
import { startAgentEvents } from './agent-link.ts';
import { registerClockRoutes } from './clock-routes.ts';
import { registerOperatorRoutes } from './operator-routes.ts';
import { startStationHistory } from './station-history.ts';
import type { StationTime } from './station-time.ts';
import { registerSystemRoutes } from './system-routes.ts';

type SystemNeeds = {
  /** Of this release. */
  version: string;
  /** Null with several backends: the time is that of the database. */
  time: StationTime | null;
  /** Its wall clock may be wrong. */
  machine: Pick<Clock, 'now'>;
  /** Messages that are broadcast at /ws. */
  messages: { subscribe(listener: (message: ServerMessage) => void): Disposable };
  /** The agent asks this backend to stop, and starts it again. */
  onRestart: () => void;
};

/** The station as its agent runs it, and what happened to it. */
export const systemModule: Module<SystemNeeds, null> = {
  open: async (platform, { version, time, machine, messages, onRestart }) => {
    const { host, store, hub, conditions, stationEvents: events, trustedTime, leadership, tokens, agent } = platform;
    const { clock, logger, random } = host;
    await using opening = new AsyncDisposableStack();
    const facts = { events, conditions, messages, trustedTime, leadership, clock, logger, version };
    const standing = await standingConditions(store.db);
    opening.use(startStationHistory({ ...facts, standing, agent: agent.isConfigured ? agent : null }));
    if (agent.isConfigured) opening.use(startAgentEvents({ client: agent, hub, clock, logger, random }));
    return opened(opening.move(), null, {
      serve: async ({ app, closing }) => {
        await registerSystemRoutes(app, { agent, tokens, clock, closing, onRestart, logger });
        await registerOperatorRoutes(app, { agent, tokens, clock, closing, logger });
        await registerClockRoutes(app, { agent, time, clock, machine });
      },
    });
  },
};
