import { isoTime, type Clock } from '@station/kit/clock';
import type { CloudCondition } from '@station/protocol/cloud';
import { cloudConditions, type CloudConditionId } from '@station/protocol/cloud-conditions';
import type { BackendLogger } from '@station/kit/logger';
import type { LinkTrouble } from './link-machine.ts';

/** What conditions follow from. Times are milliseconds since the epoch. */
export type CloudFacts = {
  now: number;
  isClaimed: boolean;
  /** It was claimed, but the log-in can no longer be read. */
  isKeyLost: boolean;
  /** Null: another backend holds the link. */
  link: { isRejected: boolean; trouble: LinkTrouble | null; downSince: number | null } | null;
  outbox: { bytes: number; maxBytes: number; dropped: number };
  setAside: { count: number; oldestAt: number | null };
};

/** A home line that is away for a restart of its router is nothing to tell anybody. */
export const unreachableAfterMs = 15 * 60_000;
const nearlyFull = 0.8;
/** What is trimmed to the limit is just below it. */
const full = 0.98;

/** What is wrong, of these facts alone. `since` is null where they do not say it. */
export function conditionsOf(facts: CloudFacts): { id: CloudConditionId; since: number | null }[] {
  const { now, isClaimed, isKeyLost, link, outbox, setAside } = facts;
  const found: { id: CloudConditionId; since: number | null }[] = [];
  const stand = (id: CloudConditionId, since: number | null = null): void => void found.push({ id, since });
  if (isKeyLost) stand('cloud_key_lost');
  if (link?.isRejected) stand('cloud_rejected');
  if (link?.trouble === 'certificate') stand('cloud_certificate_untrusted');
  if (link?.trouble === 'clock') stand('cloud_clock_wrong');
  const isExplained = link === null || link.isRejected || link.trouble !== null;
  const downSince = link?.downSince ?? null;
  if (isClaimed && !isExplained && downSince !== null && now - downSince >= unreachableAfterMs) {
    stand('cloud_unreachable', downSince);
  }
  const filled = outbox.bytes / outbox.maxBytes;
  if (isClaimed && filled >= full && outbox.dropped > 0) stand('cloud_outbox_full');
  else if (isClaimed && filled >= nearlyFull) stand('cloud_outbox_nearly_full');
  if (setAside.count > 0) stand('cloud_messages_set_aside', setAside.oldestAt);
  return found;
}

/** Keeps since when each stands, and logs each as it comes and goes. */
export type StandingConditions = { look(facts: CloudFacts): CloudCondition[] };

export function createStandingConditions({
  clock,
  logger,
}: {
  clock: Clock;
  logger: BackendLogger;
}): StandingConditions {
  const since = new Map<CloudConditionId, number>();
  return {
    look: (facts) => {
      const found = conditionsOf(facts);
      for (const id of [...since.keys()]) {
        if (found.some((one) => one.id === id)) continue;
        since.delete(id);
        logger.event('cloud_condition_cleared', { condition: id });
      }
      return found.map(({ id, since: told }) => {
        const { severity, message } = cloudConditions[id];
        if (!since.has(id)) logger.event('cloud_condition_raised', { condition: id, severity });
        const began = since.get(id) ?? told ?? clock.now();
        since.set(id, began);
        return { id, severity, message, since: isoTime(began) };
      });
    },
  };
}
