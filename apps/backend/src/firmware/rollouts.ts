import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { describeError } from '@station/kit/station-error';
import { createWaker } from '@station/kit/wakeable';
import type { RolloutAction, RolloutState } from '@station/protocol/firmware-rollouts';
import type { CommandChange, DeviceEvent, DeviceEvents, DeviceReport } from '../core/device-events.ts';
import type { BackendLogger } from '@station/kit/logger';
import type { FirmwareImage, ImageStore } from './image-store.ts';
import {
  decide,
  defaultSettings,
  type DeviceWord,
  hear,
  isWanted,
  type RolloutSettings,
  type Target,
} from './rollout-decide.ts';
import type { RolloutRecord, RolloutStore } from './rollout-store.ts';
import type { Commands } from '../core/commands.ts';

/** What changed, once it is on disk. */
export type RolloutChange = { rollout: RolloutRecord; targets: readonly Target[]; changed: readonly Target[] };

export type Rollouts = AsyncDisposable & {
  /** An image is ready: goes out, or waits for approval, as its type is set. Not before what somebody asked for has ended. */
  offer(image: FirmwareImage): Promise<void>;
  /** Somebody wants this version on the devices of its type, whatever they run. @returns null when none of them wants it. */
  request(image: FirmwareImage, userId: string): Promise<RolloutRecord | null>;
  /** @returns null when the rollout is in no state for that. */
  act(id: string, action: RolloutAction): Promise<RolloutRecord | null>;
  /** A device asks: whether it is its turn now, which then has begun. */
  ask(device: { deviceId: string; type: string; version: string }): Promise<FirmwareImage | null>;
  /** Resolves when all reports so far are handled. */
  settled(): Promise<void>;
};

export type RolloutsParts = {
  store: RolloutStore;
  images: ImageStore;
  events: DeviceEvents;
  commands: Pick<Commands, 'send'>;
  /** Where a device on the local network finds a file. */
  urlOf: (image: FirmwareImage) => string;
  tell: (change: RolloutChange) => void;
  clock: Clock;
  logger: BackendLogger;
  /** With several backends only one of them decides. */
  isLeader?: () => boolean;
  settings?: RolloutSettings;
  /** Between two looks at what is under way, when nothing is heard. */
  lookEveryMs?: number;
};

type Look = { heard: ReadonlyMap<string, DeviceWord[]>; busy: Set<string>; asking: string | null };

const usualLookMs = 5_000;
/** Reports of many devices are handled together. */
const gatherMs = 200;

/** A device that turns up late still gets the version of such a rollout. */
const takesMore: ReadonlySet<RolloutState> = new Set(['waiting_approval', 'running', 'paused', 'done']);

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
  const { store, images, events, commands, clock, logger, tell, settings = defaultSettings } = parts;
  const { isLeader = () => true, lookEveryMs = usualLookMs } = parts;
  const line = createExclusiveRunner();
  const stopping = new AbortController();
  const listeningSince = clock.now();
  let words = new Map<string, DeviceWord[]>();
  const waker = createWaker(clock);
  let isWelcomeDue = true;

  const hearWord = (deviceId: string, word: DeviceWord): void => {
    const said = words.get(deviceId) ?? [];
    if (!isSaidAgain(said.at(-1), word)) words.set(deviceId, [...said, word]);
    waker.wake();
  };
  const listening = events.subscribe((event: DeviceEvent) => {
    for (const [deviceId, word] of wordsOf(event)) hearWord(deviceId, word);
    if (event.kind === 'status' && event.status === 'online') waker.wake();
  });

  /** What was asked for may have been in the way of a newer image, and be so no more. */
  const lookAtNewest = (): void => {
    isWelcomeDue = true;
    waker.wake();
  };

  const tellAll = async (id: string, changed: readonly Target[]): Promise<void> => {
    const rollout = await store.find(id);
    if (rollout !== null) tell({ rollout, targets: await store.targets(id), changed });
  };

  const sendOffers = async (image: FirmwareImage, offers: readonly string[]): Promise<void> => {
    const { version, checksum, size } = image;
    const params = { url: parts.urlOf(image), version, checksum, size };
    for (const deviceId of offers) {
      const sent = await commands.send({ deviceId, action: 'ota_update', params, userId: null });
      if (sent.kind === 'accepted' && sent.command.status !== 'failed') continue;
      const reason = sent.kind === 'accepted' ? sent.command.reason : `The command was refused: ${sent.kind}.`;
      hearWord(deviceId, { kind: 'not_sent', reason: reason ?? 'The command failed.', at: clock.now() });
    }
  };

  /** One look at one rollout. @returns false when it was changed meanwhile and must be looked at again. */
  const look = async (rollout: RolloutRecord, { heard, busy, asking }: Look): Promise<boolean> => {
    const before = await store.targets(rollout.id);
    const targets = before.map((target) => {
      const said = heard.get(target.deviceId) ?? [];
      return said.reduce((now, word) => hear(rollout, now, word), target);
    });
    const devices = await store.devices(rollout.type);
    const asker = asking === null ? undefined : devices.get(asking);
    // A device that asks is awake, whether the broker knows it or not.
    if (asking !== null && asker !== undefined) devices.set(asking, { ...asker, isOnline: true });
    const image = await images.find(rollout.type, rollout.version);
    const decision = decide({ rollout, targets, devices, busy, listeningSince, now: clock.now() });
    const changed = decision.targets.filter((target, index) => !isDeepStrictEqual(target, before[index]));
    for (const { deviceId, state } of decision.targets) if (state === 'updating') busy.add(deviceId);
    if (changed.length === 0 && isDeepStrictEqual(decision.rollout, rollout)) return true;
    if (!(await store.save(rollout, decision.rollout, changed))) return false;
    const news = decision.targets.filter((target, index) => isNews(target, before[index]));
    if (news.length > 0 || !isDeepStrictEqual(decision.rollout, rollout)) await tellAll(rollout.id, news);
    if (decision.rollout.state !== rollout.state) lookAtNewest();
    const offers = decision.offers.filter((deviceId) => deviceId !== asking);
    if (image !== null) await sendOffers(image, offers);
    return true;
  };

  const begin = async (image: FirmwareImage, by: string | null): Promise<RolloutRecord | null> => {
    const isOnRequest = by !== null;
    const needsApproval = !isOnRequest && (await images.modeOf(image.type)) === 'approval';
    const state = needsApproval ? 'waiting_approval' : 'running';
    const rollout = await store.create({ image, state, settings, requestedBy: by, isOnRequest });
    if (rollout !== null) await tellAll(rollout.id, []);
    waker.wake();
    return rollout;
  };

  /** What goes to devices that run something older: what was asked for since the newest image is there, else the newest image. */
  const wantedOf = async (newest: FirmwareImage): Promise<{ image: FirmwareImage; rollout: RolloutRecord | null }> => {
    const { type, version, ready_at: readyAt } = newest;
    const asked = await store.lastAsked(type, readyAt);
    const image = asked && (await images.find(type, asked.version));
    return image ? { image, rollout: asked } : { image: newest, rollout: await store.findFor(type, version) };
  };

  const welcome = async (heard: ReadonlyMap<string, DeviceWord[]>): Promise<void> => {
    const newestOf = new Map((await images.list()).toReversed().map((image) => [image.type, image]));
    for (const [type, newest] of newestOf) {
      const { image, rollout } = await wantedOf(newest);
      const behind = [...(await store.devices(type))].filter(([, device]) => isWanted(image, device, false));
      if (behind.length === 0) continue;
      if (rollout === null) await begin(image, null);
      else if (takesMore.has(rollout.state)) {
        for (const [deviceId] of behind) if (heard.has(deviceId)) await store.enrol(rollout.id, deviceId);
      }
    }
  };

  const turn = async (asking: string | null = null): Promise<void> => {
    const heard = words;
    words = new Map();
    if (!isLeader()) return;
    try {
      const isSomebodyBack = [...heard.values()].some((said) => said.some(({ kind }) => kind === 'handshake'));
      if (isWelcomeDue || isSomebodyBack) await welcome(heard);
      isWelcomeDue = false;
      const busy = new Set<string>();
      for (const rollout of await store.active()) {
        if (!(await look(rollout, { heard, busy, asking }))) waker.wake();
      }
    } catch (error) {
      // What was heard is not lost: it counts in the next turn.
      for (const [deviceId, said] of heard) words.set(deviceId, [...said, ...(words.get(deviceId) ?? [])]);
      throw error;
    }
  };

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await line
        .run(() => turn())
        .catch((error: unknown) => {
          logger.event('unexpected_error', { where: 'firmware rollouts', message: describeError(error) });
        });
      await waker.sleep(lookEveryMs, stopping.signal).catch(() => undefined);
      await clock.sleep(gatherMs, stopping.signal).catch(() => undefined);
    }
  };
  const running = run();

  return {
    offer: (image) =>
      line.run(async () => {
        const known = await store.findFor(image.type, image.version);
        const newest = await images.newest(image.type);
        if (known === null && newest?.version === image.version) await begin(image, null);
      }),
    request: (image, userId) => line.run(() => begin(image, userId)),
    act: (id, action) =>
      line.run(async () => {
        const { from, to } = actions[action];
        const rollout = await store.turn(id, from, to, null);
        if (rollout !== null) await tellAll(id, []);
        lookAtNewest();
        return rollout;
      }),
    ask: ({ deviceId, type, version }) =>
      line.run(async () => {
        hearWord(deviceId, { kind: 'asked', firmwareVersion: version, at: clock.now() });
        await turn(deviceId);
        for (const rollout of await store.active()) {
          if (rollout.type !== type || rollout.state !== 'running') continue;
          const target = (await store.targets(rollout.id)).find((one) => one.deviceId === deviceId);
          if (target?.state === 'updating') return images.find(type, rollout.version);
        }
        return null;
      }),
    settled: () => line.run(() => turn()),
    [Symbol.asyncDispose]: async () => {
      listening[Symbol.dispose]();
      stopping.abort();
      await running;
    },
  };
}

/** A repeated handshake is counted but not broadcast. */
const isNews = (target: Target, before: Target | undefined): boolean =>
  !isDeepStrictEqual({ ...target, greetings: 0 }, { ...before, greetings: 0 });

/** Handshakes that waited at the broker arrive together: they do not show a restart loop. */
const isSaidAgain = (last: DeviceWord | undefined, word: DeviceWord): boolean =>
  last?.kind === 'handshake' && word.kind === 'handshake' && last.firmwareVersion === word.firmwareVersion;

/** Facts about device updates in an event. */
function wordsOf(event: DeviceEvent): [deviceId: string, word: DeviceWord][] {
  if (event.kind === 'command') return ackOf(event.command);
  if (event.kind !== 'reports') return [];
  return event.reports.flatMap((report) => {
    const word = wordOf(report);
    return word === null ? [] : [[report.deviceId, word]];
  });
}

const ackOf = ({ action, status, deviceId, at }: CommandChange): [string, DeviceWord][] =>
  action === 'ota_update' && status === 'confirmed' ? [[deviceId, { kind: 'accepted', at }]] : [];

function wordOf(report: DeviceReport): DeviceWord | null {
  const { at } = report;
  if (report.kind === 'handshake') return { kind: 'handshake', firmwareVersion: report.firmwareVersion, at };
  if (report.kind !== 'event') return null;
  const { action, percent, reason } = report.data;
  if (action === 'ota_progress' && typeof percent === 'number') {
    return { kind: 'progress', percent: Math.round(Math.min(100, Math.max(0, percent))), at };
  }
  if (action !== 'ota_failed') return null;
  return {
    kind: 'error',
    reason: typeof reason === 'string' ? reason.slice(0, 200) : 'The device gave no reason.',
    at,
  };
}
