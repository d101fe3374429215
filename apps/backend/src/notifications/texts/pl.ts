import { conditionTitle } from '@station/protocol/condition-titles-pl';
import type { AlertTexts } from './alert-texts.ts';
import { countedIn } from './counted.ts';

/** 1 urządzenie, 2 urządzenia, 5 urządzeń. */
const counted = countedIn('pl');

const devices = { one: 'urządzenie', few: 'urządzenia', many: 'urządzeń' };

export const pl: AlertTexts = {
  conditions: conditionTitle,
  andMore: (list, more) => `${list} i jeszcze ${more}`,
  offline: (names) => (names.length === 1 ? `${names[0]}: offline` : `Offline: ${counted(names.length, devices)}`),
  back: (names) => (names.length === 1 ? `${names[0]}: znów online` : `Znów online: ${counted(names.length, devices)}`),
  unstable: (names) =>
    names.length === 1
      ? `${names[0]} ciągle traci połączenie`
      : `Niestabilne połączenie: ${counted(names.length, devices)}`,
  unstableHelp: 'Kolejne powiadomienie przyjdzie, gdy połączenie będzie stabilne przez godzinę.',
  batteryLow: (names) =>
    names.length === 1 ? `${names[0]}: słaba bateria` : `Słaba bateria: ${counted(names.length, devices)}`,
  updateFailed: (version) =>
    version === null ? 'Aktualizacja się nie udała' : `Nie udało się zaktualizować do ${version}`,
  updateRolledBack: (version) => (version === null ? 'Aktualizację wycofano' : `Wycofano wersję ${version}`),
  rollbackFailed: (version) =>
    version === null ? 'Nie udało się przywrócić poprzedniej wersji' : `Nie udało się przywrócić ${version}`,
  kept: (version) => `Stacja działa w wersji ${version}.`,
  openStation: 'Otwórz stronę stacji, aby zobaczyć przyczynę.',
  firmwareStopped: (type, version) => `${type}: zatrzymano aktualizację firmware’u do ${version}`,
  openFirmware: 'Zbyt wiele urządzeń nie dało się zaktualizować. Otwórz stronę firmware’u, aby zobaczyć które.',
  conditionsRaised: (count) =>
    count === 1
      ? 'Stacja wymaga uwagi'
      : `Wymaga uwagi: ${counted(count, { one: 'sprawa', few: 'sprawy', many: 'spraw' })}`,
  conditionsOver: (titles) => `Już w porządku: ${titles.join(', ')}`,
  messages: (count) =>
    `${counted(count, { one: 'wiadomość', few: 'wiadomości', many: 'wiadomości' })} od automatyzacji`,
  test: 'Wiadomość testowa',
  testBody: 'Tutaj docierają powiadomienia tej stacji.',
};
