import {
  handshakeWithinMs,
  manualHandshakeWithinMs,
  type Provisioning,
  type ProvisioningError,
} from '@station/protocol/provisioning';

/** Decides what the next step of adding a device is. Pure; times are milliseconds since the epoch. */

export type ProvisioningFacts = {
  method: Provisioning['method'];
  status: 'queued' | 'writing' | 'waiting';
  changedAt: number;
  endsAt: number | null;
  /** A login was made for it. */
  hasToken: boolean;
  /** Since when a handshake can only come from a device with this login. */
  loginAt: number | null;
  /** The station had this device when it began. */
  hadDevice: boolean;
  /** Null: the station does not have it. */
  device: { isOnline: boolean } | null;
  /** Its write over radio, by this process. */
  write: WriteState;
  /** The latest handshake of a device that the station has. */
  handshakeAt: number | null;
  broker: 'embedded' | 'external';
  /** Start of this backend: handshakes from before wait at the broker, and arrive soon after it. */
  listeningSince: number;
  now: number;
};

export type WriteState =
  | { kind: 'none' }
  | { kind: 'running' }
  | { kind: 'done' }
  | { kind: 'failed'; error: ProvisioningError };

export type ProvisioningStep =
  | { kind: 'make_login' }
  | { kind: 'write' }
  /** The device has what it needs. */
  | { kind: 'await_handshake'; withinMs: number }
  /** The new login of a device that the station has takes the place of the old one. */
  | { kind: 'replace_login' }
  | { kind: 'end'; status: 'succeeded' | 'failed' | 'timed_out' | 'cancelled'; error: ProvisioningError | null };

/** `step` null: nothing to do for `waitMs`, unless something happens. */
type Decision = { step: ProvisioningStep | null; waitMs: number };

/** Time for handshakes that waited at the broker while the backend was down. */
const backlogMs = 30_000;

export function decideProvisioning(facts: ProvisioningFacts): Decision {
  const { hadDevice, device, status } = facts;
  // Somebody removed it meanwhile.
  if (hadDevice && device === null) return take(end('cancelled'));
  if (isOnline(facts)) return take(end('succeeded'));
  return status === 'waiting' ? decideWaiting(facts) : decideWrite(facts);
}

const take = (step: ProvisioningStep): Decision => ({ step, waitMs: 0 });
const wait = (waitMs: number): Decision => ({ step: null, waitMs });
const end = (status: 'succeeded' | 'timed_out' | 'cancelled'): ProvisioningStep => ({
  kind: 'end',
  status,
  error: null,
});

/** A device that the station has said its handshake. One that it does not have is added by its handshake itself. */
function isOnline({ method, status, changedAt, hasToken, loginAt, device, handshakeAt }: ProvisioningFacts): boolean {
  if (device === null || handshakeAt === null || status === 'queued') return false;
  if (loginAt !== null) return handshakeAt >= loginAt;
  // Improv gave it the Wi-Fi, and its old login still works.
  return method === 'improv' && !hasToken && status === 'waiting' && handshakeAt >= changedAt;
}

function decideWrite(facts: ProvisioningFacts): Decision {
  const { method, status, hasToken, write } = facts;
  if (status === 'queued' && method === 'ble' && !hasToken) return take({ kind: 'make_login' });
  switch (write.kind) {
    case 'none':
      return status === 'queued' ? take({ kind: 'write' }) : afterWrite(facts, 'interrupted');
    case 'running':
      return wait(Infinity);
    case 'done':
      return afterWrite(facts, null);
    case 'failed':
      return afterWrite(facts, write.error);
  }
}

function afterWrite({ method, broker, loginAt }: ProvisioningFacts, error: ProvisioningError | null): Decision {
  // A device that logged in with what was written to it has it, whatever the radio says.
  const isUsed = broker === 'embedded' && loginAt !== null;
  if (error !== null && !isUsed) return take({ kind: 'end', status: 'failed', error });
  return take({ kind: 'await_handshake', withinMs: method === 'ble' ? handshakeWithinMs : manualHandshakeWithinMs });
}

function decideWaiting(facts: ProvisioningFacts): Decision {
  const { method, endsAt, hasToken, loginAt, device, broker, listeningSince, now } = facts;
  const isPending = device !== null && hasToken && loginAt === null;
  // A device that was written to has no other login any more. One that a person has to enter keeps the old one as long as it works.
  const isOldInUse = method !== 'ble' && (broker === 'embedded' || device?.isOnline === true);
  if (isPending && !isOldInUse) return take({ kind: 'replace_login' });
  const leftMs = Math.max(endsAt ?? 0, listeningSince + backlogMs) - now;
  return leftMs > 0 ? wait(leftMs) : take(end('timed_out'));
}
