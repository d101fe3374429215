import { randomUUID } from 'node:crypto';
import { BusError } from '@station/kit/message-bus';
import type { SavedNetwork } from '@station/protocol/agent-backup';
import { ownValue } from '@station/protocol/own-value';
import type { SavedNetworks } from '../../../core/backup-ports.ts';
import type { Client } from './client.ts';
import { isUnsettled, networkSettings, type Profile } from './profiles.ts';

/** `key-mgmt` (nm-settings(5)) of the networks that can be saved. WEP (`none`) and enterprise networks cannot. */
const securityOf: Readonly<Record<string, SavedNetwork['security']>> = {
  owe: 'owe',
  'wpa-psk': 'wpa2',
  sae: 'wpa3',
};

/** The most that a backup holds, and that restores leave here: a hijacked backend may ask for restores of new ones without an end. */
const maxNetworks = 100;

/** The networks of the profiles that NetworkManager joins automatically, also those that people made. */
export function createSavedNetworks(client: Client): SavedNetworks {
  return {
    read: () => unlessAbsent(() => read(client)),
    add: (networks) => unlessAbsent(() => add(client, networks)),
  };
}

const isSaved = (profile: Profile): boolean =>
  profile.mode === 'infrastructure' && profile.isAutomatic && !isUnsettled(profile);

async function read(client: Client): Promise<{ networks: SavedNetwork[]; unsupported: number }> {
  const profiles = (await client.readProfiles(await client.readTree())).filter(isSaved);
  const networks: SavedNetwork[] = [];
  let unsupported = 0;
  for (const profile of profiles.toSorted((a, b) => b.lastUsed - a.lastUsed)) {
    const network = await readOne(client, profile);
    if (network === null || networks.length === maxNetworks) unsupported += 1;
    else if (!networks.some(({ ssid }) => ssid === network.ssid)) networks.push(network);
  }
  return { networks, unsupported };
}

/** Null: its security cannot be saved, or NetworkManager does not have its password. */
async function readOne(client: Client, { path, ssid, isHidden, keyManagement }: Profile): Promise<SavedNetwork | null> {
  const security = keyManagement === null ? 'open' : ownValue(securityOf, keyManagement);
  if (security === undefined || ssid === '') return null;
  if (security === 'open' || security === 'owe') return { ssid, security, hidden: isHidden, password: null };
  const password = await client.passwordOf(path);
  return password === null || password === '' ? null : { ssid, security, hidden: isHidden, password };
}

async function add(
  client: Client,
  networks: readonly SavedNetwork[],
): Promise<{ added: number; kept: number; refused: number }> {
  const known = new Set((await client.readProfiles(await client.readTree())).filter(isSaved).map(({ ssid }) => ssid));
  const done = { added: 0, kept: 0, refused: 0 };
  for (const { ssid, security, hidden, password } of networks) {
    if (known.has(ssid)) {
      done.kept += 1;
      continue;
    }
    if (known.size >= maxNetworks) {
      done.refused += 1;
      continue;
    }
    const profile = { uuid: randomUUID(), ssid, security, password, isHidden: hidden, isPskOnly: false };
    try {
      await client.add(networkSettings(profile));
      known.add(ssid);
      done.added += 1;
    } catch (error) {
      if (!(error instanceof BusError) || error.isNobodyThere) throw error;
      done.refused += 1;
    }
  }
  return done;
}

async function unlessAbsent<T>(action: () => Promise<T>): Promise<T | null> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof BusError) return null;
    throw error;
  }
}
