import type { BackendLogger } from '@station/kit/logger';
import { eventChannels, type CloudClaim, type EventChannel } from '@station/protocol/cloud';
import type { CloudConfigStore } from './cloud-config-store.ts';
import type { StationReset } from './legacy-messages.ts';
import type { Credentials } from './link.ts';

/** The claim of the station at the cloud: its code while it is unclaimed, and its token afterwards. */
export type StationClaim = {
  /** The stored credentials that the link presents to the cloud. */
  credentials(): Promise<Credentials>;
  /** What a person needs to claim the station; null when it is claimed. */
  code(): Promise<CloudClaim | null>;
  /** Stores the token that the cloud sent after a claim. */
  keepToken(token: string): Promise<void>;
  /** Ends the claim, and deletes the data of the cloud. */
  end(): Promise<void>;
};

type ClaimParts = {
  config: CloudConfigStore;
  channels: ActiveChannels;
  reset: StationReset;
  revoke(userId: string): void;
  stationId: string;
  host: string;
  logger: BackendLogger;
};

export function createStationClaim(parts: ClaimParts): StationClaim {
  const { config, stationId: chipId, host, logger } = parts;
  return {
    credentials: () => readCredentials(parts),
    code: async () => {
      if ((await config.read()).stationToken !== null) return null;
      const claimSecret = await config.claimSecret();
      const uri = `https://${host}/claim#${new URLSearchParams({ chipId, claimSecret }).toString()}`;
      return { chipId, claimSecret, uri };
    },
    keepToken: async (token) => {
      logger.keepSecret(token);
      await config.claim(token);
      logger.event('cloud_claimed', { host });
    },
    end: async () => {
      for (const userId of await config.wipe()) parts.revoke(userId);
      logger.event('cloud_unclaimed', { reason: 'The owner asked for it.' });
    },
  };
}

async function readCredentials({ config, channels, reset, stationId, logger }: ClaimParts): Promise<Credentials> {
  // An interrupted reset is finished before the link opens.
  if ((await config.read()).resetAt !== null) await reset.finish();
  const { stationToken, activeChannels } = await config.read();
  channels.set(activeChannels);
  const secret = stationToken ?? (await config.claimSecret());
  logger.keepSecret(secret);
  return stationToken === null
    ? { kind: 'unclaimed', chipId: stationId, claimSecret: secret }
    : { kind: 'claimed', stationToken };
}

/** The channels that the cloud subscribed to. */
export type ActiveChannels = { has(channel: EventChannel): boolean; set(channels: readonly EventChannel[]): void };

export function createActiveChannels(initial: readonly EventChannel[]): ActiveChannels {
  let active = initial;
  return {
    has: (channel) => active.includes(channel),
    set: (channels) => {
      active = eventChannels.filter((channel) => channels.includes(channel));
    },
  };
}
