import type { TFunction } from 'i18next';
import type { BackendCondition } from '@station/protocol/backend-conditions';
import { backendConditionTitle } from './station-words.ts';

/** Its help names what it is about: devices, stations, the free space. */
export function backendConditionWords(t: TFunction, condition: BackendCondition): { title: string; help: string } {
  const { id, details } = condition;
  const title = backendConditionTitle(t, condition);
  switch (id) {
    case 'foreign_station_devices':
    case 'devices_reconnecting':
    case 'device_logins_missing': {
      const ids = details[id === 'foreign_station_devices' ? 'stationIds' : 'externalIds'];
      return { title, help: t(`backendCondition.${id}`, { ids: Array.isArray(ids) ? ids.join(', ') : '…' }) };
    }
    case 'automations_broken':
    case 'storage_full':
    case 'backup_failed':
    case 'backup_old':
    case 'clock_untrusted':
    case 'notifications_failing':
      return { title, help: t(`backendCondition.${id}`) };
    case 'storage_unwritable':
      if (details['reason'] === 'locked') return { title, help: t('heldDatabase') };
      return { title, help: t('backendCondition.storage_unwritable', { reason: textOf(details['reason']) }) };
    case 'storage_low':
      return { title, help: storageLowWords(t, details) };
    default:
      return { title, help: '' };
  }
}

/** An older station does not say who takes the space. */
function storageLowWords(t: TFunction, { freeMb, databaseMb, otherMb, filledBy }: BackendCondition['details']): string {
  const sizes = { freeMb: textOf(freeMb), databaseMb: textOf(databaseMb), otherMb: textOf(otherMb) };
  if (filledBy === 'database') return t('filledDisk.database', sizes);
  return filledBy === 'other' ? t('filledDisk.other', sizes) : t('backendCondition.storage_low', sizes);
}

/** A detail that a newer station may leave out. */
const textOf = (detail: unknown): string =>
  typeof detail === 'string' || typeof detail === 'number' ? String(detail) : '…';
