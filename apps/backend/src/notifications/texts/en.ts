import { conditionTitle } from '@station/protocol/condition-titles-en';
import type { AlertTexts } from './alert-texts.ts';

const devices = (names: readonly string[], one: string, many: string): string =>
  names.length === 1 ? `${names[0]} ${one}` : `${names.length} devices ${many}`;

export const en: AlertTexts = {
  conditions: conditionTitle,
  andMore: (list, more) => `${list} and ${more} more`,
  offline: (names) => devices(names, 'is offline', 'are offline'),
  back: (names) => devices(names, 'is back online', 'are back online'),
  unstable: (names) => devices(names, 'keeps losing its connection', 'keep losing their connection'),
  unstableHelp: 'You are told again when it has been stable for an hour.',
  batteryLow: (names) =>
    names.length === 1 ? `The battery of ${names[0]} is low` : `The batteries of ${names.length} devices are low`,
  updateFailed: (version) => (version === null ? 'The update failed' : `The update to ${version} failed`),
  updateRolledBack: (version) =>
    version === null ? 'The update was rolled back' : `Release ${version} was rolled back`,
  rollbackFailed: (version) => (version === null ? 'The rollback failed' : `The rollback to ${version} failed`),
  kept: (version) => `The station runs ${version}.`,
  openStation: 'Open Station to see the reason.',
  firmwareStopped: (type, version) => `The firmware update of ${type} to ${version} was stopped`,
  openFirmware: 'Too many devices failed. Open Firmware to see which.',
  conditionsRaised: (count) => (count === 1 ? 'The station needs attention' : `${count} things need attention`),
  conditionsOver: (titles) => `No longer: ${titles.join(', ')}`,
  messages: (count) => `${count} messages from automations`,
  test: 'Test message',
  testBody: 'Notifications of this station arrive here.',
};
