import type { SsidHex } from '../../../core/wifi-network.ts';
import type { Radio } from '../../wifi-ports.ts';
import { watchActivation } from './activation.ts';
import { BusError } from '@station/kit/message-bus';
import { classifyTimeout, describeEvidence } from './classify.ts';
import { activeProfileOf } from './facts.ts';
import { addressOf, type JoinParts } from './join.ts';
import { deviceState, number, text, type WifiDevice, wifiDeviceOf } from './objects.ts';
import { knownProfiles, type Profile } from './profiles.ts';
import { type AccessPoint, accessPointsOf, scanNow } from './scan.ts';

type Outcome = Awaited<ReturnType<Radio['joinKnown']>>;
type Choice = { profile: Profile; point: AccessPoint };
const failed = (failure: 'not_found' | 'failed' | 'timed_out', detail: string): Outcome => ({
  kind: 'failed',
  failure,
  detail,
});

/**
 * `Radio.joinKnown`: activates saved profiles whose network a scan has found, strongest first. Activation by name also works where
 * NetworkManager has given up a profile. It waits for a profile that NetworkManager is trying now. Never throws.
 */
export async function joinKnown(
  parts: JoinParts,
  { timeoutMs, silent }: { timeoutMs: number; silent: readonly SsidHex[] },
  signal: AbortSignal,
): Promise<Outcome> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const before = await look(parts);
    if (!before) return failed('failed', 'no Wi-Fi device');
    const isSilent = ({ ssid }: Look): boolean => ssid !== null && silent.includes(ssid);
    if (isOn(before) && !isSilent(before)) return await joined(parts, 'already there');
    if (isClient(before) && !isSilent(before)) {
      const waited = await activate(parts, before.wifi, null, limit);
      if (waited.kind === 'joined' || limit.aborted) return waited;
    }
    const hidden = before.known.filter(({ isHidden }) => isHidden).map(({ ssid }) => ssid);
    await scanNow({ ...parts, limitMs: parts.scanMs }, hidden, limit);
    const now = await look(parts);
    if (!now) return failed('failed', 'no Wi-Fi device');
    if (isOn(now) && !isSilent(now)) return await joined(parts, 'NetworkManager was faster');
    const choices = choicesOf(now.known, now.points, silent);
    // Do not leave a silent network for itself or for another silent one.
    const isBetter = choices.some(({ profile }) => !silent.includes(profile.ssid));
    if (isOn(now) && !isBetter) return await joined(parts, 'nothing else in reach');
    let last = failed('not_found', 'no known network in reach');
    for (const choice of choices) {
      if (limit.aborted) break;
      last = await activate(parts, now.wifi, choice, limit);
      if (last.kind === 'joined') break;
    }
    return last;
  } catch (error) {
    return failed('failed', error instanceof BusError ? error.message : 'unexpected');
  }
}

type Look = {
  wifi: WifiDevice;
  state: number;
  /** Of the profile that is, or is being, activated. */
  activeMode: string | null;
  ssid: SsidHex | null;
  known: Profile[];
  points: AccessPoint[];
};

async function look({ client, interfaceName }: JoinParts): Promise<Look | null> {
  const tree = await client.readTree();
  const wifi = wifiDeviceOf(tree, interfaceName);
  if (!wifi) return null;
  const profiles = await client.readProfiles(tree);
  const active = activeProfileOf(tree, profiles, wifi.device)?.profile;
  return {
    wifi,
    state: number(wifi.device['State']),
    activeMode: active?.mode ?? null,
    ssid: active?.ssid ?? null,
    known: knownProfiles(profiles, text(wifi.device['Interface'])),
    points: accessPointsOf(tree, wifi),
  };
}

/** Connected or connecting to an access point. */
const isClient = ({ state, activeMode }: Look): boolean =>
  state >= deviceState.prepare && state <= deviceState.activated && activeMode === 'infrastructure';

const isOn = (look: Look): boolean => isClient(look) && look.state === deviceState.activated;

/** Known networks in range to try: strongest first, silent ones last; of several profiles for one network the last that worked first. */
function choicesOf(known: readonly Profile[], points: readonly AccessPoint[], silent: readonly SsidHex[]): Choice[] {
  const rank = ({ ssid }: Profile): number => (silent.includes(ssid) ? 1 : 0);
  return known
    .flatMap((profile) => {
      const point = points.find(({ ssid }) => ssid === profile.ssid);
      return point ? [{ profile, point }] : [];
    })
    .sort(
      (a, b) =>
        rank(a.profile) - rank(b.profile) || b.point.signal - a.point.signal || b.profile.lastUsed - a.profile.lastUsed,
    );
}

/** Activates a choice, again if it did not settle; without a choice waits for the current activation. */
async function activate(
  parts: JoinParts,
  wifi: WifiDevice,
  choice: Choice | null,
  limit: AbortSignal,
  isAgain = false,
): Promise<Outcome> {
  const context = { security: choice?.point.security ?? ('wpa2' as const), wasSeen: choice !== null };
  const supplicantPath = await parts.supplicant.pathOf(text(wifi.device['Interface']));
  const { handshakeMs } = parts;
  using watch = watchActivation(parts.bus, { devicePath: wifi.path, supplicantPath, context, handshakeMs });
  // The supplicant chooses the access point: it may know a better one of the same name.
  if (choice) await parts.client.activate(choice.profile.path, wifi.path, '/');
  else if (!(await isStillTrying(parts))) return failed('failed', 'NetworkManager has ended its own try');
  const verdict = await watch.ended(limit);
  const detail = describeEvidence(watch.evidence());
  if (verdict?.kind === 'activated') return await joined(parts, detail);
  if (verdict?.kind === 'failed') return { kind: 'failed', failure: verdict.failure, detail };
  if (verdict && choice && !isAgain && !limit.aborted) return await activate(parts, wifi, choice, limit, true);
  if (verdict) return failed('timed_out', detail);
  return { kind: 'failed', failure: classifyTimeout(context, watch.evidence()), detail: `time is over: ${detail}` };
}

/** Checked after the watch has started: it would miss an earlier end. */
async function isStillTrying(parts: JoinParts): Promise<boolean> {
  const now = await look(parts);
  return now !== null && isClient(now) && now.state < deviceState.activated;
}

async function joined(parts: JoinParts, detail: string): Promise<Outcome> {
  const ip = await addressOf(parts);
  const ssid = (await look(parts))?.ssid ?? null;
  return ip === null || ssid === null ? failed('failed', `no address: ${detail}`) : { kind: 'joined', ssid };
}
