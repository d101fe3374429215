import type { SavedNetwork } from '@station/protocol/agent-backup';

/**
 * The networks of a backup that this machine may join automatically. Anybody can open a network of any name, so a network without a password
 * is chosen by a person who is there.
 */
export function joinable(networks: readonly SavedNetwork[]): SavedNetwork[] {
  return networks.filter(({ security, password }) =>
    security === 'wpa2'
      ? password !== null && /^([\x20-\x7e]{8,63}|[0-9a-fA-F]{64})$/.test(password)
      : security === 'wpa3' && password !== null,
  );
}
