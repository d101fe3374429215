import type { NotificationTopic } from '@station/protocol/notifications';

export type NamedDevice = { id: string; name: string };

/** What people are told, as data; `render.ts` makes it a text in the language of the reader. */
export type Alert =
  | { kind: 'devices_offline' | 'devices_back' | 'devices_unstable' | 'battery_low'; devices: readonly NamedDevice[] }
  | { kind: 'update_failed' | 'update_rolled_back' | 'rollback_failed'; version: string | null; kept: string | null }
  /** By name, as `firmware_images` has it. `names`: of the type, by language. */
  | { kind: 'firmware_stopped'; firmware: string; names: Readonly<Record<string, string>>; version: string }
  /** By id, from the catalogues of the backend, the agent and the cloud link. */
  | { kind: 'conditions_raised' | 'conditions_over'; conditions: readonly string[]; isFault: boolean }
  /** The newest messages of automations, and how many more there were. */
  | { kind: 'automations'; messages: readonly { name: string; text: string }[]; more: number }
  | { kind: 'test' };

export const topicOf: Readonly<Record<Exclude<Alert['kind'], 'test'>, NotificationTopic>> = {
  devices_offline: 'devices',
  devices_back: 'devices',
  devices_unstable: 'devices',
  battery_low: 'battery',
  update_failed: 'updates',
  update_rolled_back: 'updates',
  rollback_failed: 'updates',
  firmware_stopped: 'updates',
  conditions_raised: 'conditions',
  conditions_over: 'conditions',
  automations: 'automations',
};

/**
 * Whether it passes quiet hours: the station itself is in trouble, or an automation says something. When an automation may speak is in its own
 * conditions; a leak must not wait until morning.
 */
export const isUrgent = (alert: Alert): boolean =>
  alert.kind === 'conditions_raised'
    ? alert.isFault
    : alert.kind === 'rollback_failed' || alert.kind === 'automations' || alert.kind === 'test';
