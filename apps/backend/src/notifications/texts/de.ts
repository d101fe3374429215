import { conditionTitle } from '@station/protocol/condition-titles-de';
import type { AlertTexts } from './alert-texts.ts';

const devices = (names: readonly string[], one: string, many: string): string =>
  names.length === 1 ? `${names[0]} ${one}` : `${names.length} Geräte ${many}`;

export const de: AlertTexts = {
  conditions: conditionTitle,
  andMore: (list, more) => `${list} und ${more} weitere`,
  offline: (names) => devices(names, 'ist offline', 'sind offline'),
  back: (names) => devices(names, 'ist wieder online', 'sind wieder online'),
  unstable: (names) => devices(names, 'verliert ständig die Verbindung', 'verlieren ständig die Verbindung'),
  unstableHelp: 'Die nächste Nachricht kommt, wenn die Verbindung eine Stunde lang gehalten hat.',
  batteryLow: (names) =>
    names.length === 1 ? `Batterie schwach: ${names[0]}` : `Batterie schwach bei ${names.length} Geräten`,
  updateFailed: (version) =>
    version === null ? 'Das Update ist fehlgeschlagen' : `Das Update auf ${version} ist fehlgeschlagen`,
  updateRolledBack: (version) =>
    version === null ? 'Das Update wurde zurückgenommen' : `Version ${version} wurde zurückgenommen`,
  rollbackFailed: (version) =>
    version === null ? 'Das Rollback ist fehlgeschlagen' : `Das Rollback auf ${version} ist fehlgeschlagen`,
  kept: (version) => `Auf der Station läuft ${version}.`,
  openStation: 'Den Grund zeigt die Seite „Station“.',
  firmwareStopped: (type, version) => `Das Firmware-Update von ${type} auf ${version} wurde gestoppt`,
  openFirmware: 'Zu viele Geräte sind gescheitert. Welche, zeigt die Seite „Firmware“.',
  conditionsRaised: (count) =>
    count === 1 ? 'Die Station braucht Aufmerksamkeit' : `${count} Punkte brauchen Aufmerksamkeit`,
  conditionsOver: (titles) => `Erledigt: ${titles.join(', ')}`,
  messages: (count) => `${count} Nachrichten von Automationen`,
  test: 'Testnachricht',
  testBody: 'Benachrichtigungen dieser Station kommen hier an.',
};
