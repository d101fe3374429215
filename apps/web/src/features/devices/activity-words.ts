import type { TFunction } from 'i18next';
import type { ActivityBy, ActivityEventData, ActivityEventKind, CommandEntry } from '@station/protocol/activity';
import type { DeviceType } from '@station/protocol/device-types';
import type { DeviceEvent } from '@station/protocol/devices';
import { deviceNameOf } from '../../i18n/browser-name.ts';
import { conditionTitle } from '../../i18n/condition-words.ts';
import { capabilityName, commandName, eventWords, spelled, valueWords } from '../../i18n/device-words.ts';
import { formatDuration } from '../../i18n/format.ts';
import { orElse } from '../../i18n/words.ts';

/** What an entry says: about whom, what, and who did it. */
export type EntryWords = {
  /** The device or the automation; null: the station itself, or there is only one device on the page. */
  subject: { name: string; href: string | null } | null;
  what: string;
  by: string | null;
};

export type EntryContext = {
  t: TFunction;
  locale: string;
  /** Null: the page is about one device. */
  nameOf: ((deviceId: string) => { name: string; isThere: boolean }) | null;
  typeOf: (deviceId: string) => DeviceType | undefined;
};

export function entryWords(context: EntryContext, event: DeviceEvent): EntryWords {
  const { t, locale } = context;
  const { kind, data, by = null } = event;
  switch (kind) {
    case 'notification':
      return {
        subject: automation(t, String(data['automationId']), String(data['automationName'])),
        what: String(data['message']),
        by: null,
      };
    case 'automation_run':
      return {
        subject: automation(t, String(data['automationId']), by?.name ?? ''),
        what: runWords(t, data),
        by: null,
      };
    case 'command':
      return {
        subject: device(context, event),
        what: commandWords(context, data as unknown as CommandEntry, typeOf(context, event)),
        by: by && byWords(t, by),
      };
  }
  if (isStationEvent(kind)) {
    // What a person is said to have done to themselves needs no "by".
    const isOwn = kind === 'new_login' || by === null;
    const subject = isOfDevice(kind) ? deviceOfEvent(context, data as ActivityEventData<'device_added'>) : null;
    return { subject, what: stationWords(t, locale, { kind, data, by }), by: isOwn ? null : byWords(t, by) };
  }
  return { subject: device(context, event), what: eventWords(t, locale, data, typeOf(context, event)), by: null };
}

const typeOf = ({ typeOf: find }: EntryContext, { deviceId }: DeviceEvent): DeviceType | undefined =>
  deviceId === null ? undefined : find(deviceId);

function device({ nameOf }: EntryContext, { deviceId }: DeviceEvent): EntryWords['subject'] {
  if (nameOf === null || deviceId === null) return null;
  const { name, isThere } = nameOf(deviceId);
  return { name, href: isThere ? `/devices/${deviceId}` : null };
}

const isOfDevice = (kind: ActivityEventKind): boolean => kind === 'device_added' || kind === 'device_removed';

/** By its present name, or by the one that it had. */
function deviceOfEvent({ nameOf }: EntryContext, { deviceId, name }: ActivityEventData<'device_added'>) {
  const now = nameOf?.(deviceId);
  return now?.isThere === true ? { name: now.name, href: `/devices/${deviceId}` } : { name, href: null };
}

const automation = (t: TFunction, id: string, name: string): EntryWords['subject'] => ({
  name: name || t('activity.automation'),
  href: `/automations/${id}`,
});

const runWords = (t: TFunction, { status, reason }: DeviceEvent['data']): string =>
  orElse(
    t,
    `automations.runs.reason.${String(reason)}`,
    orElse(t, `automations.runs.status.${String(status)}`, String(status)),
  );

/** "Power: on", "Brightness: 40 %", "Clean filter"; and how it ended, if not well. */
function commandWords(
  { t, locale }: EntryContext,
  { action, params, status }: CommandEntry,
  type: DeviceType | undefined,
): string {
  const command = type?.commands.find((one) => one.action === action);
  const values = Object.entries({ ...command?.sets, ...params }).flatMap(([key, value]) => {
    const capability = type?.capabilities.find((one) => one.key === key);
    return capability === undefined
      ? []
      : [`${capabilityName(t, locale, capability)}: ${valueWords(t, locale, { capability, value })}`];
  });
  const what = values.join(', ') || (command ? commandName(locale, command) : spelled(action));
  return status === 'confirmed' ? what : `${what} (${t(`activityLog.command.${status}`)})`;
}

function byWords(t: TFunction, { kind, id, name, person }: ActivityBy): string {
  switch (kind) {
    case 'person':
      return name === null ? t('activityLog.by.gonePerson') : t('activityLog.by.person', { name });
    case 'automation':
      if (name === null) return t('activityLog.by.goneAutomation');
      return name === '' ? t('activityLog.by.unnamedAutomation') : t('activityLog.by.automation', { name });
    case 'scene':
      // One that was tried has no id, one that was removed no name.
      if (id === null || name === null)
        return person === null ? t('activityLog.by.noScene') : t('activityLog.by.noSceneOf', { person });
      return person === null ? t('activityLog.by.scene', { name }) : t('activityLog.by.sceneOf', { name, person });
    case 'cloud':
      return t('activityLog.by.cloud');
    case 'consumer':
      return t('activityLog.by.consumer', { name: name ?? '' });
  }
}

/** Their order is that of the catalogue in the protocol, which would bring its schema library along. */
const stationEventKinds: Record<ActivityEventKind, true> = {
  backend_started: true,
  updated: true,
  rolled_back: true,
  update_failed: true,
  condition_raised: true,
  condition_cleared: true,
  clock_corrected: true,
  backup_made: true,
  backup_failed: true,
  network_lost: true,
  network_back: true,
  hotspot_started: true,
  hotspot_stopped: true,
  member_added: true,
  member_removed: true,
  role_changed: true,
  new_login: true,
  device_added: true,
  device_removed: true,
};

const isStationEvent = (kind: string): kind is ActivityEventKind => Object.hasOwn(stationEventKinds, kind);

type StationEntry = { kind: ActivityEventKind; data: DeviceEvent['data']; by: ActivityBy | null };

function stationWords(t: TFunction, locale: string, { kind, data, by }: StationEntry): string {
  const known = <K extends ActivityEventKind>() => data as ActivityEventData<K>;
  switch (kind) {
    case 'backend_started':
      return t('activityLog.event.backend_started', known<'backend_started'>());
    case 'updated':
    case 'update_failed':
      return t(`activityLog.event.${kind}`, { to: known<'updated'>().to ?? '…' });
    case 'rolled_back': {
      const { from, to, isManual } = known<'rolled_back'>();
      if (isManual || from === null) return t('activityLog.event.rolled_back', { to: to ?? '…' });
      return t('activityLog.event.rolled_back_automatically', { from, to: to ?? '…' });
    }
    case 'condition_raised':
    case 'condition_cleared': {
      const { condition: id } = known<'condition_cleared'>();
      return t(`activityLog.event.${kind}`, { title: conditionTitle(t, { id, message: id }) });
    }
    case 'clock_corrected': {
      const duration = formatDuration(locale, Math.abs(known<'clock_corrected'>().stepMs));
      return t('activityLog.event.clock_corrected', { duration });
    }
    case 'backup_failed': {
      const { reason } = known<'backup_failed'>();
      const words = orElse(t, `backup.refusal.${reason}`, orElse(t, `backup.place.${reason}`, reason));
      return t('activityLog.event.backup_failed', { reason: words });
    }
    case 'backup_made':
    case 'network_lost':
    case 'network_back':
    case 'hotspot_started':
    case 'hotspot_stopped':
    case 'device_added':
    case 'device_removed':
      return t(`activityLog.event.${kind}`);
    case 'member_added':
    case 'role_changed': {
      const { name, role } = known<'member_added'>();
      return t(`activityLog.event.${kind}`, { name, role: orElse(t, `account.role.${role}`, role) });
    }
    case 'member_removed':
      return t('activityLog.event.member_removed', { name: known<'member_removed'>().name });
    case 'new_login': {
      const { userAgent, address } = known<'new_login'>();
      const name = by?.name ?? t('activityLog.by.gonePerson');
      return t('activityLog.event.new_login', { name, device: browserWords(t, userAgent), address });
    }
  }
}

function browserWords(t: TFunction, userAgent: string | null): string {
  const { browser, system } = deviceNameOf(userAgent);
  if (browser !== null && system !== null) return t('sessions.device', { browser, system });
  return browser ?? system ?? t('sessions.unknown');
}

/** Everything that an entry says, to search in. */
export const searchedText = ({ subject, what, by }: EntryWords): string =>
  [subject?.name, what, by].filter(Boolean).join(' ');
