import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { HistoryEntry } from '@station/protocol/agent-api';
import type { ServerMessage } from '@station/protocol/socket';
import type { AgentClient } from '../core/adapters/agent-client.ts';
import type { BackendConditions } from '../core/conditions.ts';
import type { Leadership } from '../core/leadership.ts';
import type { StationEvents } from '../core/station-events.ts';
import type { TrustedTime } from '../core/trusted-time.ts';

export type StationHistoryParts = {
  events: StationEvents;
  /** Conditions that were raised, and not cleared, when the previous backend stopped, as `source:id`. */
  standing: ReadonlySet<string>;
  conditions: Pick<BackendConditions, 'list'>;
  /** Messages for browsers: events of the agent are among them. */
  messages: { subscribe(listener: (message: ServerMessage) => void): Disposable };
  trustedTime: TrustedTime;
  /** Null: this backend has none. */
  agent: Pick<AgentClient, 'call'> | null;
  leadership: Leadership;
  version: string;
  clock: Clock;
  logger: BackendLogger;
};

/** After a start it takes a while until all facts are known; what is over then, was over before. */
const settleMs = 3 * 60_000;

/** Notes what happens to the station, for the activity. With several backends only the leading one does. */
export function startStationHistory(parts: StationHistoryParts): AsyncDisposable {
  const { events, messages, trustedTime, leadership, version, clock, logger } = parts;
  const stopping = new AbortController();
  const standing = new Set(parts.standing);
  const seen = new Set<string>();
  const readUpdates = (): void =>
    void noteUpdates(parts).catch((error: unknown) => logger.failed('updates in the activity', error));
  const noteAgentEvent = (event: Extract<ServerMessage, { type: 'agent_event' }>['event']): void => {
    if (endings.includes(event.event)) return readUpdates();
    const { condition, severity, from, to } = event as { [key: string]: unknown };
    if (event.event === 'condition_raised' && typeof condition === 'string')
      return raise(parts, standing, { source: 'agent', condition, severity: String(severity) });
    if (event.event === 'condition_cleared' && typeof condition === 'string')
      return clear(parts, standing, { source: 'agent', condition });
    if (event.event === 'hotspot_started' || event.event === 'hotspot_stopped') return events.note(event.event, {});
    if (event.event !== 'wifi_state') return;
    if (from === 'CONNECTED') events.note('network_lost', {});
    // From its start on a station is on its way into the network.
    else if (to === 'CONNECTED' && from !== 'INIT' && from !== 'CHECK') events.note('network_back', {});
  };
  const onMessage = (message: ServerMessage): void => {
    if (!leadership.isLeader()) return;
    if (message.type === 'conditions_changed') noteConditions(parts, standing, seen);
    if (message.type === 'agent_link' && message.connected) readUpdates();
    if (message.type === 'agent_event') noteAgentEvent(message.event);
  };
  const listening = messages.subscribe(onMessage);
  const correcting = trustedTime.subscribe((stepMs) => {
    if (leadership.isLeader()) events.note('clock_corrected', { stepMs });
  });
  events.note('backend_started', { version });
  noteConditions(parts, standing, seen);
  readUpdates();
  const settling = clock.sleep(settleMs, stopping.signal).then(
    () => leadership.isLeader() && forget(parts, standing, seen),
    () => undefined,
  );
  return {
    [Symbol.asyncDispose]: async () => {
      listening[Symbol.dispose]();
      correcting[Symbol.dispose]();
      stopping.abort();
      await settling;
    },
  };
}

const endings: readonly string[] = ['update_completed', 'update_failed', 'rollback_completed', 'rollback_failed'];

type Known = Pick<StationHistoryParts, 'events' | 'conditions'>;
type Condition = { source: 'station' | 'agent'; condition: string };

const keyOf = ({ source, condition }: Condition): string => `${source}:${condition}`;

function raise({ events }: Known, standing: Set<string>, raised: Condition & { severity: string }): void {
  if (standing.has(keyOf(raised))) return;
  standing.add(keyOf(raised));
  events.note('condition_raised', raised);
}

function clear({ events }: Known, standing: Set<string>, cleared: Condition): void {
  if (standing.delete(keyOf(cleared))) events.note('condition_cleared', cleared);
}

/** A failed backup is an event of its own. */
const notConditions: readonly string[] = ['backup_failed'];

/** @param seen those that stood since this program started; facts about others are not known yet. */
function noteConditions(parts: Known, standing: Set<string>, seen: Set<string>): void {
  const now = parts.conditions.list().filter(({ id }) => !notConditions.includes(id));
  for (const { id, severity } of now) {
    seen.add(id);
    raise(parts, standing, { source: 'station', condition: id, severity });
  }
  for (const id of seen) {
    if (now.some((one) => one.id === id)) continue;
    seen.delete(id);
    clear(parts, standing, { source: 'station', condition: id });
  }
}

/** What stood before this program started and was not seen since is over. */
function forget(parts: Known, standing: Set<string>, seen: ReadonlySet<string>): void {
  for (const key of [...standing]) {
    const condition = key.slice(key.indexOf(':') + 1);
    if (key.startsWith('station:') && !seen.has(condition)) clear(parts, standing, { source: 'station', condition });
  }
}

const AgentFacts = Type.Object({ history: Type.Array(HistoryEntry) });
const agentTimeoutMs = 5_000;
/** The agent remembers more than that; older ones were before this backend kept events. */
const newMs = 24 * 60 * 60_000;

/** From the agent's own history: nothing is lost while this backend is replaced by the update itself. */
async function noteUpdates({ agent, events, clock }: StationHistoryParts): Promise<void> {
  if (agent === null) return;
  const { statusCode, body } = await agent.call('GET', '/status', { timeoutMs: agentTimeoutMs });
  if (statusCode !== 200 || !Value.Check(AgentFacts, body)) return;
  const { history }: Static<typeof AgentFacts> = body;
  for (const entry of history.toReversed()) {
    const at = Math.min(Date.parse(entry.endedAt), clock.now());
    if (entry.kind !== 'bootstrap' && clock.now() - at < newMs) noteUpdate(events, entry, at);
  }
}

function noteUpdate(events: StationEvents, entry: HistoryEntry, at: number): void {
  const { from, to } = entry;
  const isManual = entry.trigger === 'manual';
  const options = { once: `operation ${entry.id}`, at };
  // An update that was rolled back ends where it began.
  if (entry.result === 'rolled_back')
    events.note(
      'rolled_back',
      entry.kind === 'update' ? { from: to, to: from, isManual: false } : { from, to, isManual },
      options,
    );
  else events.note(entry.result === 'failed' ? 'update_failed' : 'updated', { from, to, isManual }, options);
}
