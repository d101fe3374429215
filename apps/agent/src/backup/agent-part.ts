import type {
  AgentBackup,
  AgentRestored,
  BrokerLogins,
  MissingPart,
  SavedNetwork,
} from '@station/protocol/agent-backup';
import { StationError } from '@station/kit/station-error';
import { isNewer, parseVersion } from '@station/protocol/version';
import type { AutoUpdate } from '../core/auto-update.ts';
import type { BrokerFile, SavedNetworks } from '../core/backup-ports.ts';
import type { StartAnswer } from '../core/stack-port.ts';
import { joinLogins } from './broker-logins-decide.ts';
import { joinable } from './saved-networks-decide.ts';

export type AgentPartSources = {
  /** Null: the agent does not manage the Wi-Fi of this machine. */
  networks: SavedNetworks | null;
  /** Null: the engine has no access to files of its services. */
  broker: BrokerFile | null;
  autoUpdate: Pick<AutoUpdate, 'choice' | 'choose'>;
  /** HTTPS=off: it reads null. */
  authority: { readAuthority(): Promise<string | null>; replaceAuthority(pem: string): Promise<boolean> };
  /** What runs now; null: nothing is installed. */
  release: () => { version: string | null; images: Record<string, string> } | null;
  update: (version: string) => Promise<StartAnswer>;
};

/** What a backup holds of the agent. */
export type AgentPart = {
  read(): Promise<AgentBackup>;
  /** Joins a backup with what is here. Each part on its own: what fails is named in `missing`. */
  restore(backup: AgentBackup): Promise<AgentRestored>;
};

type Missing = MissingPart[];
const isOutage = (error: unknown): boolean => error instanceof StationError;

export function createAgentPart(sources: AgentPartSources): AgentPart {
  return {
    read: async () => {
      const missing: Missing = [];
      const wifi = await readNetworks(sources, missing);
      const broker = await readLogins(sources, missing);
      const authority = await readAuthority(sources, missing);
      const release = sources.release();
      if (release === null) missing.push({ part: 'release', reason: 'not_managed' });
      const autoUpdate = sources.autoUpdate.choice();
      return { wifi, broker, release, authority, ...(autoUpdate !== null && { autoUpdate }), missing };
    },
    restore: async (backup) => {
      const missing: Missing = [];
      const wifi = await addNetworks(sources, backup.wifi ?? [], missing);
      const broker = backup.broker !== null && (await replaceLogins(sources, backup.broker, missing));
      if (backup.authority != null) await replaceAuthority(sources, backup.authority, missing);
      // Before the release: somebody may not want the next one by itself.
      if (backup.autoUpdate !== undefined) await takeChoice(sources, backup.autoUpdate, missing);
      // Last: an update replaces the containers that the steps above need.
      const release = await wantRelease(sources, backup.release?.version ?? null, missing);
      return { wifi, broker, release, missing };
    },
  };
}

async function readNetworks({ networks }: AgentPartSources, missing: Missing): Promise<SavedNetwork[] | null> {
  const found = await networks?.read();
  if (!found) {
    missing.push({ part: 'wifi', reason: networks === null ? 'not_managed' : 'unavailable' });
    return null;
  }
  if (found.unsupported > 0) missing.push({ part: 'wifi', reason: 'not_supported' });
  return found.networks;
}

async function readLogins({ broker }: AgentPartSources, missing: Missing): Promise<BrokerLogins | null> {
  const note = (reason: MissingPart['reason']): null => {
    missing.push({ part: 'broker', reason });
    return null;
  };
  if (broker === null) return note('not_managed');
  try {
    const found = await broker.read();
    if (found.kind === 'ok') return found.logins;
    return note(found.kind === 'absent' ? 'not_managed' : found.kind === 'too_large' ? 'too_large' : 'unavailable');
  } catch (error) {
    if (isOutage(error)) return note('unavailable');
    throw error;
  }
}

async function addNetworks(
  { networks }: AgentPartSources,
  saved: readonly SavedNetwork[],
  missing: Missing,
): Promise<AgentRestored['wifi']> {
  const taken = joinable(saved);
  if (taken.length < saved.length) missing.push({ part: 'wifi', reason: 'refused' });
  if (taken.length === 0) return { added: 0, kept: 0 };
  const done = await networks?.add(taken);
  if (!done) {
    missing.push({ part: 'wifi', reason: networks === null ? 'not_managed' : 'unavailable' });
    return { added: 0, kept: 0 };
  }
  if (done.refused > 0 && taken.length === saved.length) missing.push({ part: 'wifi', reason: 'refused' });
  return { added: done.added, kept: done.kept };
}

async function replaceLogins({ broker }: AgentPartSources, saved: BrokerLogins, missing: Missing): Promise<boolean> {
  try {
    const present = broker === null ? null : await broker.read();
    if (broker === null || present?.kind !== 'ok') {
      missing.push({ part: 'broker', reason: 'not_managed' });
      return false;
    }
    await broker.replace(joinLogins(present.logins, saved));
    return true;
  } catch (error) {
    if (!isOutage(error)) throw error;
    missing.push({ part: 'broker', reason: 'unavailable' });
    return false;
  }
}

async function readAuthority({ authority }: AgentPartSources, missing: Missing): Promise<string | null> {
  const pem = await authority.readAuthority().catch(() => undefined);
  if (pem === undefined) missing.push({ part: 'authority', reason: 'unavailable' });
  return pem ?? null;
}

async function replaceAuthority({ authority }: AgentPartSources, pem: string, missing: Missing): Promise<void> {
  const isTaken = await authority.replaceAuthority(pem).catch(() => null);
  if (isTaken !== true) missing.push({ part: 'authority', reason: isTaken === null ? 'unavailable' : 'refused' });
}

async function takeChoice({ autoUpdate }: AgentPartSources, choice: boolean, missing: Missing): Promise<void> {
  try {
    await autoUpdate.choose(choice);
  } catch (error) {
    if (!isOutage(error)) throw error;
    missing.push({ part: 'auto_update', reason: 'unavailable' });
  }
}

/** Installs the release of the backup when it is newer; an older one is not needed: newer releases read older data. */
async function wantRelease(
  { release, update }: AgentPartSources,
  version: string | null,
  missing: Missing,
): Promise<AgentRestored['release']> {
  if (version === null) return 'none';
  if (parseVersion(version) === null) {
    missing.push({ part: 'release', reason: 'refused' });
    return 'none';
  }
  if (!isNewer(version, release()?.version ?? null)) return 'current';
  const answer = await update(version);
  if (answer.kind === 'started') return 'started';
  if (answer.kind === 'already_current') return 'current';
  missing.push({ part: 'release', reason: 'refused' });
  return 'none';
}
