import type { Clock } from '@station/kit/clock';
import { newCode } from '@station/kit/codes';
import { eventChannels, type EventChannel } from '@station/protocol/cloud';
import type { SecretBox } from '../store/secret-box.ts';
import type { Database } from '../store/schema.ts';
import { restoreHomeAccounts } from './home-accounts.ts';

export type CloudConfig = {
  /** Null while the station is unclaimed, or when its encryption key was lost. */
  stationToken: string | null;
  claimedAt: number | null;
  activeChannels: readonly EventChannel[];
  /** States before this time have reached the cloud, epoch milliseconds. */
  statesSentAt: number;
  dropped: number;
  /** Time when an unfinished reset was requested. */
  resetAt: number | null;
};

/** The only row of `cloud_config`; its secrets are encrypted. */
export type CloudConfigStore = {
  read(): Promise<CloudConfig>;
  /** The claim secret, which proves physical access to the station. Created when missing; all callers get the same. */
  claimSecret(): Promise<string>;
  claim(stationToken: string): Promise<void>;
  setChannels(channels: readonly EventChannel[]): Promise<void>;
  setStatesSentAt(at: number): Promise<void>;
  beginReset(): Promise<void>;
  /**
   * Deletes all data of the cloud, and restores local accounts to their state before it.
   * @returns ids of users whose tokens are out of date.
   */
  wipe(): Promise<string[]>;
};

const tokenPurpose = 'cloud station token';
const secretPurpose = 'cloud claim secret';
/** Groups of four letters: 134 bits in total, easy to read aloud and type. */
const secretGroups = 7;
const nothing: CloudConfig = {
  stationToken: null,
  claimedAt: null,
  activeChannels: eventChannels,
  statesSentAt: 0,
  dropped: 0,
  resetAt: null,
};

export function createCloudConfigStore(options: { db: Database; box: SecretBox; clock: Clock }): CloudConfigStore {
  const { db, box, clock } = options;
  const row = () => db.selectFrom('cloud_config').selectAll().where('id', '=', 'cloud').executeTakeFirst();
  type Row = NonNullable<Awaited<ReturnType<typeof row>>>;
  const write = async (set: Partial<Row>, only?: { secretIsStill: string | null }): Promise<void> => {
    const empty = { station_token: null, claimed_at: null, claim_secret: null, reset_at: null };
    const numbers = { states_sent_at: 0, dropped: 0, active_channels: JSON.stringify(eventChannels) };
    await db
      .insertInto('cloud_config')
      .values({ id: 'cloud', ...empty, ...numbers, ...set })
      .onConflict((conflict) => {
        const update = conflict.column('id').doUpdateSet(set);
        if (only === undefined) return update;
        const { secretIsStill: secret } = only;
        return update.where('cloud_config.claim_secret', secret === null ? 'is' : '=', secret);
      })
      .execute();
  };
  return {
    read: async () => {
      const found = await row();
      if (found === undefined) return nothing;
      const { station_token: sealed } = found;
      return {
        stationToken: sealed === null ? null : box.open(sealed, tokenPurpose),
        claimedAt: found.claimed_at,
        activeChannels: channelsOf(found.active_channels),
        statesSentAt: found.states_sent_at,
        dropped: found.dropped,
        resetAt: found.reset_at,
      };
    },
    claimSecret: async () => {
      for (;;) {
        const sealed = (await row())?.claim_secret ?? null;
        const kept = sealed === null ? null : box.open(sealed, secretPurpose);
        if (kept !== null) return kept;
        // The first writer creates the secret; all others read it.
        await write({ claim_secret: box.seal(newCode(secretGroups), secretPurpose) }, { secretIsStill: sealed });
      }
    },
    claim: async (stationToken) => {
      const sealed = box.seal(stationToken, tokenPurpose);
      const fresh = { states_sent_at: 0, dropped: 0, active_channels: JSON.stringify(eventChannels), reset_at: null };
      // The secret is used up: a person who saw it must not be able to claim the station again.
      await write({ station_token: sealed, claimed_at: clock.now(), claim_secret: null, ...fresh });
    },
    setChannels: (channels) => write({ active_channels: JSON.stringify([...new Set(channels)]) }),
    setStatesSentAt: async (at) => {
      await db.updateTable('cloud_config').set({ states_sent_at: at }).execute();
    },
    beginReset: () => write({ reset_at: clock.now() }),
    wipe: () =>
      db.transaction().execute(async (transaction) => {
        await transaction.deleteFrom('cloud_config').execute();
        await transaction.deleteFrom('cloud_outbox').execute();
        await transaction.deleteFrom('cloud_dead_letters').execute();
        await transaction.deleteFrom('cloud_commands').execute();
        return restoreHomeAccounts(transaction, clock.now());
      }),
  };
}

function channelsOf(text: string): EventChannel[] {
  const given = JSON.parse(text) as unknown[];
  return eventChannels.filter((channel) => given.includes(channel));
}
