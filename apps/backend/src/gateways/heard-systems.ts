import { type Clock, isoTime } from '@station/kit/clock';
import { discoveryPrefixes } from '@station/protocol/gateway-systems';
import type { HeardSystem } from '@station/protocol/gateways';
import type { GatewayBroker } from '../core/foreign-devices-port.ts';
import { systemOfWill, usualWills } from './dialects.ts';

/** Systems that were noticed and are not connected. They are suggestions of this run; anybody in the network can cause them. */
export type HeardSystems = {
  /** @param topic of the last will of somebody whom the broker refused. */
  refused(topic: string): void;
  /** Notices who is on a broker that another system manages, in the next seconds. */
  look(broker: Pick<GatewayBroker, 'listen'>): void;
  list(): readonly HeardSystem[];
};

const most = 8;
/** Shown as it is: printable characters of ASCII. */
const shown = /^[ -~]{1,128}$/;
const forgottenMs = 60 * 60_000;
const lookAgainMs = 30_000;

/** What devices and gateways publish there while they are connected; their last wills say `offline` or `false`. */
const present = /^true$|\bonline\b/i;
const longestWord = 64;

/** @param isTaken whether a gateway has one of these trees. */
export function createHeardSystems({
  clock,
  isTaken,
}: {
  clock: Pick<Clock, 'now' | 'monotonic'>;
  isTaken: (trees: readonly string[]) => boolean;
}): HeardSystems {
  /** The latest last. */
  const heard = new Map<string, { system: HeardSystem; trees: readonly string[]; seenMs: number }>();
  let lookedMs = -Infinity;
  const note = (topic: string, how: HeardSystem['how']): void => {
    const found = shown.test(topic) ? systemOfWill(topic) : null;
    if (found === null) return;
    const { name: dialect, baseTopic } = found;
    const trees = found.dialect.trees({ base: baseTopic, discovery: discoveryPrefixes[dialect] ?? null });
    if (isTaken(trees)) return;
    const key = `${dialect} ${baseTopic}`;
    heard.delete(key);
    const [oldest] = heard.keys();
    if (oldest !== undefined && heard.size >= most) heard.delete(oldest);
    const system = { dialect, baseTopic, topic, how, seenAt: isoTime(clock.now()) };
    heard.set(key, { system, trees, seenMs: clock.monotonic() });
  };
  return {
    refused: (topic) => note(topic, 'refused'),
    look: (broker) => {
      if (clock.monotonic() - lookedMs < lookAgainMs) return;
      lookedMs = clock.monotonic();
      broker.listen(usualWills, ({ topic, payload }) => {
        if (present.test(payload.toString('utf8', 0, longestWord))) note(topic, 'published');
      });
    },
    list: () => {
      const nowMs = clock.monotonic();
      for (const [key, { seenMs }] of heard) if (nowMs - seenMs >= forgottenMs) heard.delete(key);
      const found = [...heard].filter(([, { trees }]) => !isTaken(trees));
      // Each is noticed again every few seconds: by their last time they would change places all the while.
      return found.sort(([one], [other]) => (one < other ? -1 : 1)).map(([, { system }]) => system);
    },
  };
}
