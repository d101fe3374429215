import type { JoinFailure } from '@station/protocol/agent-network';
import type { Security } from '@station/protocol/wifi-password';
import { deviceState } from './objects.ts';

/** The signals during a join, in order. */
export type Evidence =
  /** NetworkManager's device: NMDeviceState and NMDeviceStateReason. */
  | { kind: 'device'; state: number; reason: number }
  /** wpa_supplicant's interface: its state, and the codes of IEEE 802.11 (9.4.1.7, 9.4.1.9); a negative reason comes from the station itself. */
  | { kind: 'supplicant'; state: string }
  | { kind: 'disconnect'; reason: number }
  | { kind: 'authentication'; status: number }
  | { kind: 'association'; status: number }
  /** NetworkManager or the bus is down. */
  | { kind: 'gone' };

export type JoinContext = {
  security: Security;
  /** A scan just before has found it. */
  wasSeen: boolean;
};

export type Verdict =
  | { kind: 'activated' }
  | { kind: 'failed'; failure: JoinFailure }
  /** The handshake completed, began again and failed: not the fault of the password, so a retry may help. */
  | { kind: 'unsettled' };

/** NMDeviceStateReason, by number. */
const reasonNames: Readonly<Record<number, string>> = {
  0: 'none',
  1: 'unknown',
  2: 'now-managed',
  3: 'now-unmanaged',
  4: 'config-failed',
  5: 'ip-config-unavailable',
  6: 'ip-config-expired',
  7: 'no-secrets',
  8: 'supplicant-disconnect',
  9: 'supplicant-config-failed',
  10: 'supplicant-failed',
  11: 'supplicant-timeout',
  15: 'dhcp-start-failed',
  16: 'dhcp-error',
  17: 'dhcp-failed',
  18: 'shared-start-failed',
  19: 'shared-failed',
  35: 'firmware-missing',
  36: 'removed',
  37: 'sleeping',
  38: 'connection-removed',
  39: 'user-requested',
  40: 'carrier',
  53: 'ssid-not-found',
  60: 'new-activation',
};
const noAddressReasons: readonly number[] = [5, 6, 15, 16, 17];
const reason = {
  noSecrets: 7,
  supplicantDisconnect: 8,
  configFailed: 9,
  firmwareMissing: 35,
  ssidNotFound: 53,
  newActivation: 60,
};
/** "Unspecified" and "challenge failure": how access points answer an SAE confirm with a wrong password. */
const saeRejections: readonly number[] = [1, 15];
const fourWayTimeout = 15;
/** The driver missed the beacons: this does not concern the password (as in NetworkManager). */
const lostBeacons = -4;

/** States of wpa_supplicant. */
const handshake = '4way_handshake';
const completed = 'completed';

const failed = (failure: JoinFailure): Verdict => ({ kind: 'failed', failure });
/** States that only a correct password reaches. */
const wrongPassword = (wasLetIn: boolean): Verdict => (wasLetIn ? { kind: 'unsettled' } : failed('wrong_password'));
const usesPsk = (security: Security): boolean => security === 'wpa2' || security === 'wpa2-wpa3';
const usesSae = (security: Security): boolean => security === 'wpa3' || security === 'wpa2-wpa3';

/**
 * How a join ended, as early as it can be known; null while it cannot. With a wrong WPA2 password the handshake breaks off
 * (NetworkManager: NEED_AUTH with reason 8, then FAILED with 7, because no agent can ask the user). A wrong SAE password ends, for
 * NetworkManager, as "not found" after about 25 s; wpa_supplicant reports at once that the access point rejected it.
 */
export function classify(context: JoinContext, evidence: readonly Evidence[]): Verdict | null {
  // Signals before the start of the activation belong to an earlier connection.
  let hasBegun = false;
  let wasLetIn = false;
  let supplicant = '';
  for (const item of evidence) {
    switch (item.kind) {
      case 'gone':
        return failed('failed');
      case 'supplicant':
        supplicant = item.state;
        wasLetIn ||= hasBegun && supplicant === completed;
        break;
      case 'disconnect':
        if (hasBegun && brokeHandshake(context, item.reason, supplicant)) return wrongPassword(wasLetIn);
        break;
      case 'authentication':
        if (hasBegun && usesSae(context.security) && saeRejections.includes(item.status))
          return failed('wrong_password');
        break;
      case 'association':
        break;
      case 'device': {
        hasBegun ||= item.state >= deviceState.prepare && item.state < deviceState.activated;
        // The earlier connection ended because of our newer activation.
        if (item.reason === reason.newActivation && item.state !== deviceState.failed) hasBegun = false;
        const verdict = hasBegun ? ofDevice(context, item, evidence) : null;
        if (verdict?.kind === 'failed' && verdict.failure === 'wrong_password') return wrongPassword(wasLetIn);
        if (verdict) return verdict;
      }
    }
  }
  return null;
}

/**
 * The handshake began again after it was completed, and has not ended. An access point does that when it has received the request to
 * associate twice. The station's answers are then encrypted with keys that the access point no longer has. With protected
 * management frames it cannot even disconnect the station: both wait for each other, and no address ever arrives.
 */
export function isUnsettled(evidence: readonly Evidence[]): boolean {
  const states = evidence.flatMap((item) => (item.kind === 'supplicant' ? [item.state] : []));
  return states.at(-1) === handshake && states.at(-2) === completed;
}

/** The verdict when the time for a join is over. */
export function classifyTimeout(context: JoinContext, evidence: readonly Evidence[]): JoinFailure {
  if (isUnsettled(evidence)) return 'timed_out';
  if (evidence.some((item) => item.kind === 'device' && item.state === deviceState.ipConfig)) return 'no_address';
  return unassociated(context, evidence);
}

const brokeHandshake = ({ security }: JoinContext, code: number, supplicant: string): boolean =>
  usesPsk(security) &&
  code !== lostBeacons &&
  (Math.abs(code) === fourWayTimeout || (code !== 0 && supplicant === handshake));

function ofDevice(
  context: JoinContext,
  item: { state: number; reason: number },
  evidence: readonly Evidence[],
): Verdict | null {
  if (item.state === deviceState.activated) return { kind: 'activated' };
  if (item.state === deviceState.needAuth)
    return item.reason === reason.supplicantDisconnect ? failed('wrong_password') : null;
  if (item.state <= deviceState.unavailable) return failed('failed');
  // Deactivating and disconnected come before or after a failure with a better reason.
  if (item.state === deviceState.disconnected || item.state === deviceState.deactivating)
    return evidence.some((other) => other.kind === 'device' && other.state === deviceState.failed)
      ? null
      : failed('failed');
  if (item.state !== deviceState.failed) return null;
  if (item.reason === reason.noSecrets) return failed('wrong_password');
  if (noAddressReasons.includes(item.reason)) return failed('no_address');
  if (item.reason === reason.configFailed || item.reason === reason.firmwareMissing) return failed('unsupported');
  const isAssociation = (item.reason >= 8 && item.reason <= 11) || item.reason === reason.ssidNotFound;
  return failed(isAssociation ? unassociated(context, evidence) : 'failed');
}

/** Never connected: the network is absent, it refused, or (with SAE) the password is wrong. */
function unassociated(context: JoinContext, evidence: readonly Evidence[]): JoinFailure {
  const wasRefused = evidence.some(
    (item) => (item.kind === 'association' || item.kind === 'authentication') && item.status !== 0,
  );
  if (wasRefused) return 'refused';
  if (!context.wasSeen) return 'not_found';
  return context.security === 'wpa3' ? 'wrong_password' : 'timed_out';
}

/** For the log: the signals in order, without secrets. */
export function describeEvidence(evidence: readonly Evidence[]): string {
  const words = evidence.map((item) => {
    switch (item.kind) {
      case 'device':
        return `device ${item.state} (${reasonNames[item.reason] ?? item.reason})`;
      case 'supplicant':
        return item.state;
      case 'disconnect':
        return `disconnect ${item.reason}`;
      case 'authentication':
        return `authentication status ${item.status}`;
      case 'association':
        return `association status ${item.status}`;
      case 'gone':
        return 'NetworkManager is not running';
    }
  });
  return words.slice(-maxWords).join(', ');
}

const maxWords = 40;
