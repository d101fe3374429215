import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@station/kit/clock';
import { createExclusiveRunner, type ExclusiveRunner } from '@station/kit/exclusive-runner';
import { createWaker, type Waker } from '@station/kit/wakeable';
import { firmwareNamesOf } from '@station/protocol/firmware';
import type { RolloutAction, RolloutState } from '@station/protocol/firmware-rollouts';
import type { DeviceEvent, DeviceEvents } from '../core/device-events.ts';
import type { BackendLogger } from '@station/kit/logger';
import type { FirmwareImage, ImageStore } from './image-store.ts';
import { decide, defaultSettings, isWanted } from './rollout-decide.ts';
import { applyReport, type RolloutSettings, type Target, type UpdateReport } from './target-decide.ts';
import type { RolloutRecord, RolloutStore } from './rollout-store.ts';
import { updateReportsOf } from './update-reports-decide.ts';
import type { Commands } from '../core/commands.ts';

/** What changed, once it is on disk. */
export type RolloutChange = { rollout: RolloutRecord; targets: readonly Target[]; changed: readonly Target[] };

export type Rollouts = AsyncDisposable & {
  /** An image is ready: its rollout begins, or waits while the image needs approval; after a rollout on request it waits. */
  offer(image: FirmwareImage): Promise<void>;
  /** A user wants this image on its devices, whatever they run. @returns null when none of them can take it. */
  request(image: FirmwareImage, userId: string): Promise<RolloutRecord | null>;
  /** @returns null when the rollout is in no state for that. */
  act(id: string, action: RolloutAction): Promise<RolloutRecord | null>;
  /** A device asks for an update. @returns the image if its turn has come, which then has begun; else null. */
  ask(device: AskingDevice): Promise<FirmwareImage | null>;
  /** A device reports the result of an update. Resolved means on disk. */
  report(result: ReportedResult): Promise<void>;
  /** Resolves when all reports so far are handled. */
  settled(): Promise<void>;
};

/** `version`: the one it runs; `chip`: the recorded one, else the one it names. */
type AskingDevice = { deviceId: string; type: string; version: string; chip: string | null };

type ReportedResult = { deviceId: string; name: string; version: string; status: 'success' | 'failed' };

export type RolloutsParts = {
  store: RolloutStore;
  images: ImageStore;
  events: DeviceEvents;
  commands: Pick<Commands, 'send'>;
  /** URL of an image for devices on the local network. */
  urlOf: (image: FirmwareImage) => Promise<string>;
  onChange: (change: RolloutChange) => void;
  clock: Clock;
  logger: BackendLogger;
  /** With several backends only one of them decides. */
  isLeader?: () => boolean;
  settings?: RolloutSettings;
  /** Time between two checks of active rollouts when no report arrives. */
  checkEveryMs?: number;
};

const defaultCheckMs = 5_000;
/** Reports of many devices are handled together. */
const gatherMs = 200;

/** A device that comes online late still gets the version of such a rollout. */
const acceptsLateDevices: ReadonlySet<RolloutState> = new Set(['waiting_approval', 'running', 'paused', 'done']);

const actions: Readonly<Record<RolloutAction, { from: readonly RolloutState[]; to: RolloutState }>> = {
  approve: { from: ['waiting_approval'], to: 'running' },
  pause: { from: ['running'], to: 'paused' },
  resume: { from: ['paused'], to: 'running' },
  abort: { from: ['waiting_approval', 'running', 'paused'], to: 'aborted' },
};

/**
 * Rolls firmware out: observes records and reports, decides (`rollout-decide.ts`), writes the decision, and only then sends commands.
 * After a crash at any point the next check reaches the same result.
 */
export function startRollouts(parts: RolloutsParts): Rollouts {
  const { events, clock } = parts;
  const loop: Loop = {
    isLeader: () => true,
    settings: defaultSettings,
    checkEveryMs: defaultCheckMs,
    ...parts,
    runner: createExclusiveRunner(),
    waker: createWaker(clock),
    listeningSinceMs: clock.monotonic(),
    reports: new Map(),
    isEnrolmentDue: true,
  };
  const stopping = new AbortController();
  const subscription = events.subscribe((event) => handleEvent(loop, event));
  const running = checkRepeatedly(loop, stopping.signal);
  const { runner } = loop;
  return {
    offer: (image) => runner.run(() => offer(loop, image)),
    request: (image, userId) => runner.run(() => begin(loop, image, userId)),
    act: (id, action) => runner.run(() => act(loop, id, action)),
    ask: (device) => runner.run(() => ask(loop, device)),
    report: (result) => runner.run(() => applyResult(loop, result)),
    settled: () => runner.run(() => check(loop)),
    [Symbol.asyncDispose]: async () => {
      subscription[Symbol.dispose]();
      stopping.abort();
      await running;
    },
  };
}

type Loop = Required<RolloutsParts> & {
  /** Checks and requests run one after another. */
  runner: ExclusiveRunner;
  waker: Waker;
  /** Monotonic: a wall clock that is set must not change how long it listens. */
  listeningSinceMs: number;
  /** Reports since the last check, by device. */
  reports: Map<string, UpdateReport[]>;
  /** Whether the next check looks for devices that no rollout covers. */
  isEnrolmentDue: boolean;
};

function handleEvent(loop: Loop, event: DeviceEvent): void {
  for (const [deviceId, report] of updateReportsOf(event)) addReport(loop, deviceId, report);
  if (event.kind === 'status' && event.status === 'online') loop.waker.wake();
}

function addReport({ reports, waker }: Loop, deviceId: string, report: UpdateReport): void {
  const known = reports.get(deviceId) ?? [];
  if (!isRepeated(known.at(-1), report)) reports.set(deviceId, [...known, report]);
  waker.wake();
}

async function offer(loop: Loop, image: FirmwareImage): Promise<void> {
  const known = await loop.store.findFor(image.name, image.version);
  const newest = await loop.images.newest(image.name);
  if (known === null && newest?.version === image.version) await begin(loop, image, null);
  // It may not need approval any more.
  else loop.waker.wake();
}

async function act(loop: Loop, id: string, action: RolloutAction): Promise<RolloutRecord | null> {
  const { from, to } = actions[action];
  const rollout = await loop.store.transition(id, from, to, null);
  if (rollout !== null) await notify(loop, id, []);
  enrolSoon(loop);
  return rollout;
}

async function ask(loop: Loop, device: AskingDevice): Promise<FirmwareImage | null> {
  const { store, images, clock } = loop;
  const { deviceId } = device;
  addReport(loop, deviceId, { kind: 'asked', firmwareVersion: device.version, at: clock.now() });
  await check(loop, device);
  for (const rollout of await store.active()) {
    if (rollout.state !== 'running') continue;
    const target = (await store.targets(rollout.id)).find((one) => one.deviceId === deviceId);
    if (target?.state !== 'updating') continue;
    const image = await images.find(rollout.name, rollout.version);
    if (image === null || !canTake(image, device, rollout)) continue;
    addReport(loop, deviceId, { kind: 'given', at: clock.now() });
    return image;
  }
  return null;
}

/** The records may be older than what the device says of itself. */
const canTake = (image: FirmwareImage, { version, chip }: AskingDevice, { requestedBy }: RolloutRecord): boolean =>
  isWanted(image, { firmwareVersion: version, chip, isServed: true }, requestedBy !== null);

/** Also on a replica that is not the leader: the leader finds the result in the record. */
async function applyResult(loop: Loop, { deviceId, name, version, status }: ReportedResult): Promise<void> {
  const { store, clock, waker } = loop;
  for (const rollout of await store.active()) {
    if (rollout.name !== name || rollout.version !== version) continue;
    const target = (await store.targets(rollout.id)).find((one) => one.deviceId === deviceId);
    if (target === undefined) continue;
    const changed = applyReport(rollout, target, { kind: 'result', status, at: clock.now() });
    if (isDeepStrictEqual(changed, target) || !(await store.save(rollout, rollout, [changed]))) continue;
    await notify(loop, rollout.id, [changed]);
  }
  waker.wake();
}

async function checkRepeatedly(loop: Loop, signal: AbortSignal): Promise<void> {
  const { runner, waker, clock, logger, checkEveryMs } = loop;
  while (!signal.aborted) {
    await runner
      .run(() => check(loop))
      .catch((error: unknown) => {
        logger.failed('firmware rollouts', error);
      });
    await waker.sleep(checkEveryMs, signal).catch(() => undefined);
    await clock.sleep(gatherMs, signal).catch(() => undefined);
  }
}

/** Applies the reports to all active rollouts. `asking`: a device that asks over HTTP and needs no command. */
async function check(loop: Loop, asking: AskingDevice | null = null): Promise<void> {
  const { reports } = loop;
  loop.reports = new Map();
  if (!loop.isLeader()) return;
  // They are not lost, and count in the next check. Applied twice, a report changes nothing.
  const keep = (): void => {
    for (const [deviceId, own] of reports) loop.reports.set(deviceId, [...own, ...(loop.reports.get(deviceId) ?? [])]);
  };
  try {
    const isDeviceBack = [...reports.values()].some((own) => own.some(({ kind }) => kind === 'handshake'));
    if (loop.isEnrolmentDue || isDeviceBack) await enrolLateDevices(loop, reports);
    else if (asking !== null) await enrolLateDevices(loop, reports, firmwareNamesOf(asking));
    loop.isEnrolmentDue = false;
    const busy = new Set<string>();
    let isComplete = true;
    for (const rollout of await loop.store.active()) {
      isComplete = (await checkRollout(loop, rollout, { reports, busy, asking })) && isComplete;
    }
    if (isComplete) return;
    keep();
    loop.waker.wake();
  } catch (error) {
    keep();
    throw error;
  }
}

/** Clocks that only drift differ by less within one check. */
const stepMs = 5_000;

type CheckFacts = { reports: ReadonlyMap<string, UpdateReport[]>; busy: Set<string>; asking: AskingDevice | null };

/** @returns false when the rollout was changed meanwhile and must be checked again. */
async function checkRollout(loop: Loop, rollout: RolloutRecord, facts: CheckFacts): Promise<boolean> {
  const { store, images, clock } = loop;
  const offsetMs = clock.now() - clock.monotonic();
  const { reports, busy, asking } = facts;
  const before = await store.targets(rollout.id);
  const targets = before.map((target) => {
    const own = reports.get(target.deviceId) ?? [];
    return own.reduce((now, report) => applyReport(rollout, now, report), target);
  });
  const devices = await store.devices(rollout.name, rollout.id);
  const image = await images.find(rollout.name, rollout.version);
  const isRefused = asking !== null && (image === null || !canTake(image, asking, rollout));
  const now = clock.now();
  const listeningSince = now - (clock.monotonic() - loop.listeningSinceMs);
  // The time of the station was corrected meanwhile: what was read may have times from before.
  if (Math.abs(now - clock.monotonic() - offsetMs) > stepMs) return checkRollout(loop, rollout, facts);
  const decision = decide({
    rollout,
    targets,
    devices,
    needsApproval: image === null || image.needs_approval === 1,
    listeningSince,
    asking: asking?.deviceId ?? null,
    busy: isRefused ? new Set([...busy, asking.deviceId]) : busy,
    now,
  });
  const changed = decision.targets.filter((target, index) => !isDeepStrictEqual(target, before[index]));
  for (const { deviceId, state } of decision.targets) if (state === 'updating') busy.add(deviceId);
  const isRolloutChanged = !isDeepStrictEqual(decision.rollout, rollout);
  if (changed.length === 0 && !isRolloutChanged) return true;
  if (!(await store.save(rollout, decision.rollout, changed))) return false;
  const visible = decision.targets.filter((target, index) => isVisibleChange(target, before[index]));
  if (visible.length > 0 || isRolloutChanged) await notify(loop, rollout.id, visible);
  if (decision.rollout.state !== rollout.state) enrolSoon(loop);
  const offers = decision.offers.filter((deviceId) => deviceId !== asking?.deviceId);
  if (image !== null) await sendOffers(loop, image, offers);
  return true;
}

async function sendOffers(loop: Loop, image: FirmwareImage, offers: readonly string[]): Promise<void> {
  const { version, checksum, size } = image;
  const params = { url: await loop.urlOf(image), version, checksum, size };
  for (const deviceId of offers) {
    const sent = await loop.commands.send({ deviceId, action: 'ota_update', params, userId: null });
    if (sent.kind === 'accepted' && sent.command.status !== 'failed') continue;
    const reason = sent.kind === 'accepted' ? sent.command.reason : `The command was refused: ${sent.kind}.`;
    addReport(loop, deviceId, { kind: 'not_sent', reason: reason ?? 'The command failed.', at: loop.clock.now() });
  }
}

/** A rollout on request may have held back a newer image, and does no longer. */
function enrolSoon(loop: Loop): void {
  loop.isEnrolmentDue = true;
  loop.waker.wake();
}

/** Gives devices with an older version a place in the rollout of the wanted one, which begins if there is none. */
async function enrolLateDevices(
  loop: Loop,
  reports: ReadonlyMap<string, UpdateReport[]>,
  names: readonly string[] | null = null,
): Promise<void> {
  const { store, images } = loop;
  const newestOf = new Map((await images.list()).toReversed().map((image) => [image.name, image]));
  for (const [name, newest] of newestOf) {
    if (names !== null && !names.includes(name)) continue;
    const { image, rollout } = await wantedOf(loop, newest);
    const behind = [...(await store.devices(name))].filter(([, device]) => isWanted(image, device, false));
    if (behind.length === 0) continue;
    if (rollout === null) await begin(loop, image, null);
    else if (acceptsLateDevices.has(rollout.state)) {
      for (const [deviceId] of behind) if (reports.has(deviceId)) await store.enrol(rollout.id, deviceId);
    }
  }
}

/** The image for devices with an older version: the one requested since the newest is there, else the newest. */
async function wantedOf(
  { store, images }: Loop,
  newest: FirmwareImage,
): Promise<{ image: FirmwareImage; rollout: RolloutRecord | null }> {
  const { name, version, ready_at: readyAt } = newest;
  const requested = await store.lastRequested(name, readyAt);
  const image = requested && (await images.find(name, requested.version));
  return image ? { image, rollout: requested } : { image: newest, rollout: await store.findFor(name, version) };
}

async function begin(loop: Loop, image: FirmwareImage, requestedBy: string | null): Promise<RolloutRecord | null> {
  const { store, settings } = loop;
  const isOnRequest = requestedBy !== null;
  const state = !isOnRequest && image.needs_approval === 1 ? 'waiting_approval' : 'running';
  const rollout = await store.create({ image, state, settings, requestedBy, isOnRequest });
  if (rollout !== null) await notify(loop, rollout.id, []);
  loop.waker.wake();
  return rollout;
}

async function notify({ store, onChange }: Loop, id: string, changed: readonly Target[]): Promise<void> {
  const rollout = await store.find(id);
  if (rollout !== null) onChange({ rollout, targets: await store.targets(id), changed });
}

/** A repeated handshake is counted but not broadcast. */
const isVisibleChange = (target: Target, before: Target | undefined): boolean =>
  !isDeepStrictEqual({ ...target, handshakes: 0 }, { ...before, handshakes: 0 });

/** Handshakes that waited at the broker arrive together: they do not show a restart loop. */
const isRepeated = (last: UpdateReport | undefined, report: UpdateReport): boolean =>
  last?.kind === 'handshake' && report.kind === 'handshake' && last.firmwareVersion === report.firmwareVersion;
