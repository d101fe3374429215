import { wifiFollowMs, type WifiDeviceState } from '@station/protocol/devices-wifi';

/** Decides about a change of the devices' Wi-Fi, from what is stored and what was heard. Pure; times are milliseconds since the epoch. */

export type WifiTarget = {
  deviceId: string;
  state: WifiDeviceState;
  /** When it was told; also set while the message is on its way to the broker. */
  toldAt: number | null;
  isOnline: boolean;
};

export type WifiChangeFacts = {
  /** Only the last two of a change that is cancelled: a device that was told may still follow. */
  isRunning: boolean;
  targets: readonly WifiTarget[];
  /** Time of the latest handshake since the last decision, by device. */
  handshakes: ReadonlyMap<string, number>;
  isBrokerReady: boolean;
  /** Start of this backend: handshakes from before wait at the broker, and arrive soon after it. */
  listeningSince: number;
  now: number;
};

export type WifiChangeStep =
  | { kind: 'tell'; deviceId: string }
  | { kind: 'note'; deviceId: string; state: 'followed' | 'not_followed' | 'offline' }
  | { kind: 'end' };

/** `waitMs`: time until the next decision is due without any event. */
type Decision = { steps: WifiChangeStep[]; waitMs: number };

/** Time for handshakes that waited at the broker while the backend was down. */
const backlogMs = 30_000;
const brokerCheckMs = 1_000;

export function decideWifiChange(facts: WifiChangeFacts): Decision {
  const { isRunning, targets, isBrokerReady, now } = facts;
  const devices = targets.map((target) => ({ target, step: stepOf(facts, target) }));
  const steps = devices.flatMap(({ step }): WifiChangeStep[] => (step === null ? [] : [step]));
  if (!isRunning) return { steps, waitMs: Infinity };
  const open = devices.filter(({ target, step }) => step?.kind === 'tell' || (step === null && isOpen(target)));
  if (open.length === 0) return { steps: [...steps, { kind: 'end' }], waitMs: Infinity };
  const deadlines = open.map(({ target }) => (target.state === 'told' ? deadlineOf(facts, target) - now : Infinity));
  const isHeldUp = !isBrokerReady && targets.some(({ state }) => state === 'waiting');
  return { steps, waitMs: Math.max(1, Math.min(...deadlines, isHeldUp ? brokerCheckMs : Infinity)) };
}

const isOpen = ({ state }: WifiTarget): boolean => state === 'waiting' || state === 'told';

function stepOf(facts: WifiChangeFacts, target: WifiTarget): WifiChangeStep | null {
  const { isRunning, handshakes, isBrokerReady, now } = facts;
  const { deviceId, state, toldAt, isOnline } = target;
  const heardAt = handshakes.get(deviceId);
  const hasFollowed = isOpen(target) && toldAt !== null && heardAt !== undefined && heardAt >= toldAt;
  if (hasFollowed) return { kind: 'note', deviceId, state: 'followed' };
  if (!isRunning) return null;
  switch (state) {
    case 'told':
      return now < deadlineOf(facts, target) ? null : { kind: 'note', deviceId, state: 'not_followed' };
    case 'waiting':
      // It may have left while its message was on the way: then its handshake decides.
      if (!isOnline && toldAt === null) return { kind: 'note', deviceId, state: 'offline' };
      return isBrokerReady ? { kind: 'tell', deviceId } : null;
    case 'offline':
      return isOnline && isBrokerReady ? { kind: 'tell', deviceId } : null;
    case 'followed':
    case 'not_followed':
    case 'not_told':
      return null;
  }
}

const deadlineOf = ({ listeningSince }: WifiChangeFacts, { toldAt }: WifiTarget): number =>
  Math.max((toldAt ?? 0) + wifiFollowMs, listeningSince + backlogMs);
