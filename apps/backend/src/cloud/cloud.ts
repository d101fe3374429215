import { randomUUIDv7 } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import { createEmitter, type Emitter } from '@station/kit/emitter';
import { createExclusiveRunner, type ExclusiveRunner } from '@station/kit/exclusive-runner';
import { readText, type Disk } from '@station/kit/durable-files';
import type { BackendLogger } from '@station/kit/logger';
import { createRateLimitedCounter } from '@station/kit/rate-limited-counter';
import type { CloudClaim, CloudDeadLetter, CloudStatus, EventChannel } from '@station/protocol/cloud';
import type { CloudActivity } from '@station/protocol/cloud-activity';
import type { LegacyMessage } from '@station/protocol/cloud-messages';
import { createCloudSockets, createNoSockets, type OpenCloudSocket } from './adapters/cloud-socket.ts';
import type { AccessTokens } from '../core/access-tokens.ts';
import type { Commands, PublishCommand } from '../core/commands.ts';
import type { DeviceEvents } from '../core/device-events.ts';
import type { SocketHub } from '../socket/hub.ts';
import type { Store } from '../store/database.ts';
import type { DeviceTypes } from '../core/type-registry.ts';
import { alwaysTrusted, type TrustedTime } from '../core/trusted-time.ts';
import type { DeviceStore } from '../store/device-store.ts';
import type { SecretBox } from '../store/secret-box.ts';
import { createActivityRecord, noteCalls, type ActivityRecord } from './activity.ts';
import { createCloudConfigStore, type CloudConfigStore } from './cloud-config-store.ts';
import type { CloudSettings } from './cloud-settings.ts';
import { createDeadLetterStore, type DeadLetterStore } from './dead-letter-store.ts';
import { createDelivery, type Delivery } from './delivery.ts';
import { createIdentity } from './identity.ts';
import { type ApplyLegacy, createLegacyMessages, createStationReset, type StationReset } from './legacy-messages.ts';
import { createReconnect, type Reconnect } from './link-decide.ts';
import { createLink, startLinkKeeper, type CloudLeadership, type Link, type LinkKeeper } from './link.ts';
import { type CloudScenes, createMethods } from './methods.ts';
import { followEvents, type BroadcastTap } from './outgoing-events.ts';
import { createOutboxStore, startOutboxKeeper, type OutboxStore } from './outbox-store.ts';
import type { IgnoredReason } from './peer.ts';
import { createRememberedCommands } from './remembered-commands.ts';
import { type ActiveChannels, createActiveChannels, createStationClaim, type StationClaim } from './station-claim.ts';
import { createCloudConditions, createStatusBroadcaster, createStatusReader } from './status.ts';

export type Cloud = AsyncDisposable & {
  status(): Promise<CloudStatus>;
  /** Null when there is no cloud or the station is claimed. */
  claim(): Promise<CloudClaim | null>;
  /** Ends the link and deletes the data of the cloud. */
  unclaim(): Promise<void>;
  /** Recent requests of the cloud, newest first. */
  activity(): readonly CloudActivity[];
  /** Dead letters (messages at which the cloud closed the link), newest first. */
  deadLetters(): Promise<CloudDeadLetter[]>;
  /** Sends the dead letters again. @returns how many. */
  resendDeadLetters(userId: string): Promise<number>;
};

/** The other backends on the same database. */
export type CloudOthers = {
  /** The stored cloud configuration changed: notifies all backends, also this one. */
  publishCloudChanged(): void;
  onCloudChanged(listener: () => void): Disposable;
};

export type CloudParts = {
  trustedTime?: TrustedTime;
  settings: CloudSettings;
  stationId: string;
  store: Store;
  box: SecretBox;
  devices: DeviceStore;
  types: DeviceTypes;
  commands: Pick<Commands, 'send'>;
  scenes: CloudScenes;
  publish: PublishCommand;
  events: DeviceEvents;
  hub: Pick<SocketHub, 'broadcast' | 'replay'>;
  tap: BroadcastTap;
  tokens: Pick<AccessTokens, 'revoke'>;
  leadership: CloudLeadership;
  /** Null: there are no other backends. */
  others: CloudOthers | null;
  clock: Clock;
  disk: Disk;
  logger: BackendLogger;
  random: () => number;
  /** The station was reset: the backend must stop and start again. */
  onReset(): void;
  tuning?: CloudTuning;
};

/** For tests and benches with short waits. */
export type CloudTuning = {
  open?: OpenCloudSocket;
  reconnect?: Reconnect;
  /** For the connection only: its pings, deadlines and waits. */
  clock?: Clock;
};

const shownDeadLetters = 100;

/** What the parts of the cloud link share. */
type Base = {
  parts: CloudParts;
  config: CloudConfigStore;
  outbox: OutboxStore;
  deadLetters: DeadLetterStore;
  channels: ActiveChannels;
  claim: StationClaim;
  reset: StationReset;
  record: ActivityRecord;
  /** Serialises what changes the station or the status. */
  run: ExclusiveRunner['run'];
  failed(where: string): (error: unknown) => void;
  signals: Signals;
};

/** What the parts of the cloud link tell those that are made after them. */
type Signals = {
  /** The status may have changed. */
  status: Emitter<'broadcast' | 'broadcastSoon' | 'drained'>;
  /** The token of the station: a person claimed it. */
  claimed: Emitter<string>;
  /** A plain message for the cloud. */
  replies: Emitter<object>;
  reset: Emitter<undefined>;
};

/**
 * The link to the cloud (contracts, section 12). Outbound: notifications → outbox → delivery → link → connection. Inbound: connection →
 * inbound queue → peer → methods (calls) or legacy messages (people, name, reset). No local function waits for the cloud.
 */
export async function startCloud(parts: CloudParts): Promise<Cloud> {
  const { settings, leadership, events, tap, hub, clock, logger } = parts;
  await using starting = new AsyncDisposableStack();
  const base = await openBase(parts);
  const { outbox, deadLetters, run, failed, signals } = base;
  const isLeading = (): boolean => leadership.isLeader();

  const delivery = starting.use(deliveryOf(base));
  const link = createLink({ ...(await linkPartsOf(base)), delivery });
  signals.replies.subscribe(link.send);
  signals.reset.subscribe(() => {
    // Stays stopped until the process ends: it must not reconnect with the old identity.
    link.stop();
    parts.onReset();
  });
  const read = statusReaderOf(base, link);
  const onFault = failed('the status of the cloud link');
  const broadcaster = starting.use(createStatusBroadcaster({ latest: await read(), read, hub, run, onFault, clock }));
  signals.status.subscribe((kind) => broadcaster[kind]());
  const add = addToOutbox(base, delivery);
  starting.use(followEvents({ events, tap, delivery, isLeading, add, clock }));
  const { outboxMaxBytes: maxBytes } = settings;
  starting.use(startOutboxKeeper({ outbox, maxBytes, isLeading, onTick: broadcaster.broadcast, clock, logger }));
  const keeper = starting.use(
    startLinkKeeper({
      link,
      credentials: base.claim.credentials,
      leadership,
      run,
      onFault: failed('keeping the cloud link'),
      onChanged: () => (parts.others === null ? broadcaster.broadcastAlways() : parts.others.publishCloudChanged()),
      clock,
    }),
  );
  signals.claimed.subscribe((token) => keepToken(base, link, keeper, token));
  const onCloudChanged = (): void => {
    void keeper.check();
    broadcaster.broadcastAlways();
  };
  starting.use(parts.others?.onCloudChanged(onCloudChanged));

  const running = starting.move();
  return {
    status: read,
    claim: base.claim.code,
    unclaim: () => keeper.change(base.claim.end),
    activity: base.record.latest,
    deadLetters: () => deadLetters.list(shownDeadLetters),
    resendDeadLetters: async (userId) => {
      const count = await deadLetters.resend();
      logger.event('cloud_dead_letters_resent', { count, userId });
      delivery.wake();
      broadcaster.broadcast();
      return count;
    },
    [Symbol.asyncDispose]: async () => {
      await running.disposeAsync();
      await run(async () => undefined);
    },
  };
}

async function openBase(parts: CloudParts): Promise<Base> {
  const { store, devices, publish, clock, logger } = parts;
  const { db } = store;
  const config = createCloudConfigStore({ db, box: parts.box, clock });
  const revoke = (userId: string): void => parts.tokens.revoke(userId);
  const channels = createActiveChannels((await config.read()).activeChannels);
  const reset = createStationReset({ config, devices, publish, revoke, clock, logger });
  const { host } = parts.settings;
  const signals: Signals = {
    status: createEmitter(),
    claimed: createEmitter(),
    replies: createEmitter(),
    reset: createEmitter(),
  };
  return {
    parts,
    config,
    outbox: createOutboxStore(store),
    deadLetters: createDeadLetterStore({ db, clock }),
    channels,
    claim: createStationClaim({ config, channels, reset, revoke, stationId: parts.stationId, host, logger }),
    reset,
    record: createActivityRecord({ clock, onChange: () => signals.status.emit('broadcastSoon') }),
    run: createExclusiveRunner().run,
    failed: (where) => (error) => logger.failed(where, error),
    signals,
  };
}

function deliveryOf({ parts, config, outbox, deadLetters, channels, signals }: Base): Delivery {
  const { store, clock, logger } = parts;
  return createDelivery({
    db: store.db,
    logged: store.logged,
    outbox,
    deadLetters,
    isActive: channels.has,
    statesSentAt: async () => (await config.read()).statesSentAt,
    setStatesSentAt: config.setStatesSentAt,
    onDrained: () => signals.status.emit('drained'),
    clock,
    logger,
  });
}

async function linkPartsOf(base: Base) {
  const { parts, config, channels, record, run, failed, signals } = base;
  const {
    settings,
    store,
    devices,
    types,
    commands,
    scenes,
    trustedTime = alwaysTrusted,
    clock,
    logger,
    tuning = {},
  } = parts;
  const onFault = failed('remembering a command of the cloud');
  const remembered = createRememberedCommands({ db: store.db, onFault, trustedTime, clock });
  const setChannels = (wanted: readonly EventChannel[]): Promise<void> =>
    run(async () => {
      await config.setChannels(wanted);
      channels.set(wanted);
      signals.status.emit('broadcast');
    });
  const applyLegacy = legacyMessagesOf(base);
  return {
    host: settings.host,
    open: tuning.open ?? (await openerOf(parts)),
    reconnect: tuning.reconnect ?? createReconnect(parts.random),
    methods: noteCalls(createMethods({ devices, types, commands, scenes, remembered, setChannels }), record),
    ignored: createRateLimitedCounter<IgnoredReason>({
      clock,
      report: ({ key: reason, total: count }) => logger.event('cloud_message_ignored', { reason, count }),
    }),
    onClaimed: signals.claimed.emit,
    onLegacy: (message: LegacyMessage, isOurs: () => boolean) =>
      applyLegacy(message, isOurs).catch(failed(`a ${message.type} of the cloud`)),
    onChange: () => signals.status.emit('broadcast'),
    clock: tuning.clock ?? clock,
    logger,
  };
}

/** A person claimed the station: from now on it has a token. */
function keepToken({ claim, failed }: Base, link: Link, keeper: LinkKeeper, token: string): void {
  const before = link.credentials();
  const keep = async (): Promise<void> => {
    // Otherwise the code of this claim was invalidated meanwhile.
    if (link.credentials() === before) await claim.keepToken(token);
  };
  keeper.change(keep).catch((error: unknown) => {
    failed('keeping the token of the cloud')(error);
    // The cloud sends it again on the next connection.
    link.giveUp('The token of the cloud could not be kept.');
  });
}

function legacyMessagesOf({ parts, reset, run, record, signals }: Base): ApplyLegacy {
  const { store, clock, logger } = parts;
  return createLegacyMessages({
    identity: createIdentity({ db: store.db, clock }),
    reset,
    revoke: (userId) => parts.tokens.revoke(userId),
    send: signals.replies.emit,
    onReset: () => signals.reset.emit(undefined),
    run,
    record,
    logger,
  });
}

function statusReaderOf({ parts, config, outbox, deadLetters, record }: Base, link: Link): () => Promise<CloudStatus> {
  const { settings, leadership, clock, logger } = parts;
  return createStatusReader({
    host: settings.host,
    maxBytes: settings.outboxMaxBytes,
    view: () => (leadership.isLeader() ? { ...link.view(), receivedAtMs: link.receivedAtMs() } : null),
    config,
    outbox,
    deadLetters,
    conditions: createCloudConditions({ clock, logger }),
    askedAt: () => record.latest()[0]?.at ?? null,
    clock,
  });
}

const addToOutbox =
  ({ outbox, run, failed }: Base, delivery: Pick<Delivery, 'wake'>): Parameters<typeof followEvents>[0]['add'] =>
  ({ content, ...message }) =>
    void run(async () => {
      await outbox.add({ ...message, content: { id: randomUUIDv7(), ...content } });
      delivery.wake();
    }).catch(failed('keeping a message for the cloud'));

async function openerOf({ settings, disk }: CloudParts): Promise<OpenCloudSocket> {
  const { url, caFile, pins } = settings;
  if (caFile === null) return createCloudSockets({ url, pins, ca: null });
  const ca = await readText(disk, caFile).catch(() => null);
  // Never falls back to Node's default authorities: the link stays down and shows the reason; local functions still work.
  return ca === null || ca.trim() === ''
    ? createNoSockets('CLOUD_CA_FILE cannot be read, or is empty.')
    : createCloudSockets({ url, pins, ca });
}
