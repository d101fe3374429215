import type { QueryClient } from '@tanstack/react-query';
import type {
  FirmwareRolloutMessage,
  Rollout,
  RolloutDetails,
  RolloutTarget,
  TargetState,
} from '@station/protocol/firmware-rollouts';
import type { LiveService } from '../../api/live.ts';

/** Keys of the query cache: all firmware data; the types, the rollouts, and each rollout with its devices. */
export const firmwareKey = ['firmware'];
export const firmwareTypesKey = [...firmwareKey, 'types'];
export const rolloutsKey = [...firmwareKey, 'rollouts'];
export const rolloutKey = (id: string): readonly unknown[] => [...firmwareKey, 'rollout', id];

/** Messages within this time are drawn together: many devices report at once. */
const gatherMs = 100;
/** The types are read at most this often while devices come back one after another. */
const readTypesEveryMs = 1_000;

/** Updates rollouts from the station's events, and reads all again after each handshake: events may have been missed. */
export function followFirmware(live: LiveService, queries: QueryClient): void {
  let gathered: FirmwareRolloutMessage[] = [];
  let readingTypes: ReturnType<typeof setTimeout> | undefined;
  const readTypes = (): void => {
    readingTypes ??= setTimeout(() => {
      readingTypes = undefined;
      void queries.invalidateQueries({ queryKey: firmwareTypesKey });
    }, readTypesEveryMs);
  };
  const apply = (): void => {
    const messages = gathered;
    gathered = [];
    for (const { rollout, target } of messages) {
      queries.setQueryData<readonly Rollout[]>(rolloutsKey, (all) => all && withRollout(all, rollout));
      const key = rolloutKey(rollout.id);
      const after = queries.setQueryData<RolloutDetails>(key, (known) => known && withTarget(known, rollout, target));
      if (after && !isComplete(after)) void queries.invalidateQueries({ queryKey: key });
    }
  };
  live.onMessage((message) => {
    if (message.type === 'hello') void queries.invalidateQueries({ queryKey: firmwareKey });
    if (message.type === 'device_changed' || message.type === 'device_removed') readTypes();
    if (message.type !== 'firmware_rollout') return;
    if (message.target === null || message.target.state === 'updated') readTypes();
    if (gathered.length === 0) setTimeout(apply, gatherMs);
    gathered.push(message);
  });
}

/** The list with a rollout as it is now; a new one comes first. */
export function withRollout(all: readonly Rollout[], rollout: Rollout): readonly Rollout[] {
  if (!all.some(({ id }) => id === rollout.id)) return [rollout, ...all];
  return all.map((one) => (one.id === rollout.id ? rollout : one));
}

/** A rollout and one of its devices as they are now. */
export function withTarget(known: RolloutDetails, rollout: Rollout, target: RolloutTarget | null): RolloutDetails {
  if (target === null) return { ...known, ...rollout };
  const isKnown = known.targets.some(({ deviceId }) => deviceId === target.deviceId);
  const targets = isKnown
    ? known.targets.map((one) => (one.deviceId === target.deviceId ? target : one))
    : [...known.targets, target];
  return { ...known, ...rollout, targets };
}

/** Whether the devices match the counts. */
function isComplete({ devices, targets }: RolloutDetails): boolean {
  const counted = Object.keys(devices) as TargetState[];
  return counted.every((state) => targets.filter((target) => target.state === state).length === devices[state]);
}
