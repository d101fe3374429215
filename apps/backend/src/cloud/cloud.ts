import { randomUUIDv7 } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { type Disk, readText } from '@station/kit/durable-files';
import { describeError } from '@station/kit/station-error';
import {
  type CloudClaim,
  type CloudSetAside,
  type CloudStatus,
  type EventChannel,
  eventChannels,
} from '@station/protocol/cloud';
import type { CloudActivity } from '@station/protocol/cloud-activity';
import { createCloudSockets, createNoSockets, type OpenCloudSocket } from '../adapters/cloud-socket.ts';
import type { AccessTokens } from '../core/access-tokens.ts';
import type { DeviceEvents } from '../core/device-events.ts';
import type { BackendLogger } from '@station/kit/logger';
import type { Commands, PublishCommand } from '../core/commands.ts';
import type { SocketHub } from '../socket/hub.ts';
import type { Store } from '../store/database.ts';
import type { DeviceStore } from '../store/device-store.ts';
import type { SecretBox } from '../store/secret-box.ts';
import { createActivityRecord, noteCalls } from './activity.ts';
import { createCloudConfigStore } from './cloud-config-store.ts';
import type { CloudSettings } from './cloud-settings.ts';
import { createDelivery } from './delivery.ts';
import { createIdentity } from './identity.ts';
import { createIgnoredMessages } from './ignored-messages.ts';
import { type BudgetLimits, usualLimits } from './inbound-queue.ts';
import { createObedience, createStationReset } from './legacy-messages.ts';
import { createReconnect, type Reconnect } from './link-decide.ts';
import { type CloudLeadership, createLink, type Credentials, startLinkKeeper } from './link.ts';
import { createMethods } from './methods.ts';
import { type BroadcastTap, followHappenings } from './notifications.ts';
import { createOutboxStore, startOutboxKeeper } from './outbox-store.ts';
import { createRememberedCommands } from './remembered-commands.ts';
import { createStandingConditions, createStatusReader, createStatusTeller } from './status.ts';

export type Cloud = AsyncDisposable & {
  status(): Promise<CloudStatus>;
  /** Null when there is no cloud or the station is claimed. */
  claim(): Promise<CloudClaim | null>;
  /** Forgets the cloud. */
  unclaim(): Promise<void>;
  /** What it asked lately, newest first. */
  activity(): readonly CloudActivity[];
  /** Messages at which the cloud ended the link, newest first. */
  setAside(): Promise<CloudSetAside[]>;
  /** Sends those once more. @returns how many. */
  sendAgain(userId: string): Promise<number>;
};

/** The other backends on the same database. */
export type CloudOthers = {
  /** Tells all of them, and this one, that another cloud or none is stored now. */
  tellCloudChanged(): void;
  onCloudChanged(listener: () => void): Disposable;
};

export type CloudParts = {
  settings: CloudSettings;
  stationId: string;
  store: Store;
  box: SecretBox;
  devices: DeviceStore;
  commands: Pick<Commands, 'send'>;
  publish: PublishCommand;
  events: DeviceEvents;
  hub: Pick<SocketHub, 'broadcast' | 'replay'>;
  tap: BroadcastTap;
  tokens: Pick<AccessTokens, 'revoke'>;
  leadership: CloudLeadership;
  /** Null: there are none. */
  others: CloudOthers | null;
  clock: Clock;
  disk: Disk;
  logger: BackendLogger;
  random: () => number;
  /** The station was reset: the backend is to end, and to be started again. */
  onReset(): void;
  tuning?: CloudTuning;
};

/** For tests and benches that have no time to wait, or measure without limits. */
export type CloudTuning = {
  open?: OpenCloudSocket;
  limits?: BudgetLimits;
  reconnect?: Reconnect;
  /** Of the connection alone: its pings, its deadlines, its waits. */
  clock?: Clock;
};

const shownSetAside = 100;

/** The link to the cloud, from the outbox to what it changes here (contracts, section 12). Nothing at home waits for it. */
export async function startCloud(parts: CloudParts): Promise<Cloud> {
  const { settings, store, clock, logger, events, devices, leadership, tuning = {} } = parts;
  const { db } = store;
  const config = createCloudConfigStore({ db, box: parts.box, clock });
  const revoke = (userId: string): void => parts.tokens.revoke(userId);
  const outbox = createOutboxStore({ ...store, clock });
  const reset = createStationReset({ config, devices, publish: parts.publish, revoke, clock, logger });
  const { run } = createExclusiveRunner();
  const failed = (where: string) => (error: unknown) =>
    logger.event('unexpected_error', { where, message: describeError(error) });
  await using starting = new AsyncDisposableStack();

  const first = await config.read();
  let activeChannels = first.activeChannels;
  const delivery = starting.use(
    createDelivery({
      db,
      outbox,
      isActive: (channel) => activeChannels.includes(channel),
      statesSentAt: async () => (await config.read()).statesSentAt,
      setStatesSentAt: config.setStatesSentAt,
      onDrained: () => teller.drained(),
      clock,
      logger,
    }),
  );
  const setChannels = (channels: readonly EventChannel[]): Promise<void> =>
    run(async () => {
      await config.setChannels(channels);
      activeChannels = eventChannels.filter((channel) => channels.includes(channel));
      teller.tell();
    });
  const record = createActivityRecord({ clock, onChange: () => teller.tellSoon() });
  const credentials = async (): Promise<Credentials> => {
    let stored = await config.read();
    if (stored.resetAt !== null) {
      // A reset that was cut short comes before anything is said to the cloud.
      await reset.finish();
      stored = await config.read();
    }
    const { stationToken } = stored;
    activeChannels = stored.activeChannels;
    const secret = stationToken ?? (await config.claimSecret());
    logger.keepSecret(secret);
    return stationToken === null
      ? { kind: 'unclaimed', chipId: parts.stationId, claimSecret: secret }
      : { kind: 'claimed', stationToken };
  };
  const link = createLink({
    host: settings.host,
    open: tuning.open ?? (await openerOf(parts)),
    reconnect: tuning.reconnect ?? createReconnect(parts.random),
    limits: tuning.limits ?? usualLimits,
    methods: noteCalls(
      createMethods({
        devices,
        commands: parts.commands,
        remembered: createRememberedCommands({ db, onFault: failed('remembering a command of the cloud'), clock }),
        setChannels,
      }),
      record,
    ),
    delivery,
    ignored: createIgnoredMessages({ clock, logger }),
    onClaimed: (token) => {
      const before = link.credentials();
      const keep = async (): Promise<void> => {
        // The code that it answers was voided meanwhile.
        if (link.credentials() !== before) return;
        logger.keepSecret(token);
        await config.claim(token);
        logger.event('cloud_claimed', { host: settings.host });
      };
      change(keep).catch((error: unknown) => {
        failed('keeping the token of the cloud')(error);
        // The cloud says it again on the next connection.
        link.giveUp('The token of the cloud could not be kept.');
      });
    },
    onLegacy: (message) => {
      const from = link.credentials();
      const isOurs = (): boolean => link.credentials() === from;
      return obey(message, isOurs).catch(failed(`a ${message.type} of the cloud`));
    },
    onChange: () => teller.tell(),
    clock: tuning.clock ?? clock,
    logger,
  });

  const obey = createObedience({
    identity: createIdentity({ db, clock }),
    reset,
    revoke,
    say: link.send,
    onReset: () => {
      // Until the process ends: it is not to come again as the station that it was.
      link.stop();
      parts.onReset();
    },
    run,
    record,
    logger,
  });
  const status = createStatusReader({
    host: settings.host,
    maxBytes: settings.outboxMaxBytes,
    view: () => (leadership.isLeader() ? { ...link.view(), heardAtMs: link.heardAtMs() } : null),
    config,
    outbox,
    conditions: createStandingConditions({ clock, logger }),
    askedAt: () => record.latest()[0]?.at ?? null,
    clock,
  });
  const onFault = failed('the status of the cloud link');
  const teller = starting.use(
    createStatusTeller({ latest: await status(), read: status, hub: parts.hub, run, onFault, clock }),
  );
  const isLeading = (): boolean => leadership.isLeader();
  starting.use(
    followHappenings({
      events,
      tap: parts.tap,
      delivery,
      isLeading,
      add: (kept) =>
        void run(async () => {
          await outbox.add({ ...kept, content: { id: randomUUIDv7(), ...kept.content } });
          delivery.wake();
        }).catch(failed('keeping a message for the cloud')),
      clock,
    }),
  );
  starting.use(
    startOutboxKeeper({ outbox, maxBytes: settings.outboxMaxBytes, isLeading, onTick: teller.tell, clock, logger }),
  );
  const keeper = starting.use(
    startLinkKeeper({ link, credentials, leadership, run, onFault: failed('keeping the cloud link'), clock }),
  );
  const change = async (work: () => Promise<void>): Promise<void> => {
    await keeper.change(work);
    if (parts.others === null) teller.tellAnew();
    else parts.others.tellCloudChanged();
  };
  const onCloudChanged = (): void => {
    void keeper.look();
    teller.tellAnew();
  };
  starting.use(parts.others?.onCloudChanged(onCloudChanged));

  const running = starting.move();
  return {
    status,
    claim: async () => {
      if ((await config.read()).stationToken !== null) return null;
      const [chipId, claimSecret] = [parts.stationId, await config.claimSecret()];
      const uri = `https://${settings.host}/claim#${new URLSearchParams({ chipId, claimSecret }).toString()}`;
      return { chipId, claimSecret, uri };
    },
    unclaim: () =>
      change(async () => {
        (await config.wipe()).forEach(revoke);
        logger.event('cloud_unclaimed', { reason: 'The owner asked for it.' });
      }),
    activity: record.latest,
    setAside: () => outbox.listSetAside(shownSetAside),
    sendAgain: async (userId) => {
      const count = await outbox.sendAgain();
      logger.event('cloud_set_aside_sent', { count, userId });
      delivery.wake();
      teller.tell();
      return count;
    },
    [Symbol.asyncDispose]: async () => {
      await running.disposeAsync();
      await run(async () => undefined);
    },
  };
}

async function openerOf({ settings, disk }: CloudParts): Promise<OpenCloudSocket> {
  const { url, caFile, pins } = settings;
  if (caFile === null) return createCloudSockets({ url, pins, ca: null });
  const ca = await readText(disk, caFile).catch(() => null);
  // Never with those whom Node trusts instead: the link is down, says why, and the house goes on.
  return ca === null || ca.trim() === ''
    ? createNoSockets('CLOUD_CA_FILE cannot be read, or is empty.')
    : createCloudSockets({ url, pins, ca });
}
