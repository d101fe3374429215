import { conditionTitle } from '@station/protocol/condition-titles-uk';
import type { AlertTexts } from './alert-texts.ts';
import { countedIn } from './counted.ts';

/** 1 пристрій, 2 пристрої, 5 пристроїв. */
const counted = countedIn('uk');

const devices = { one: 'пристрій', few: 'пристрої', many: 'пристроїв' };

export const uk: AlertTexts = {
  conditions: conditionTitle,
  andMore: (list, more) => `${list} та ще ${more}`,
  offline: (names) =>
    names.length === 1 ? `${names[0]}: не на зв’язку` : `Не на зв’язку: ${counted(names.length, devices)}`,
  back: (names) =>
    names.length === 1 ? `${names[0]}: знову на зв’язку` : `Знову на зв’язку: ${counted(names.length, devices)}`,
  unstable: (names) =>
    names.length === 1
      ? `${names[0]}: зв’язок постійно зникає`
      : `Постійно зникає зв’язок: ${counted(names.length, devices)}`,
  unstableHelp: 'Наступне сповіщення буде, коли зв’язок протримається годину.',
  batteryLow: (names) =>
    names.length === 1
      ? `${names[0]}: батарея розряджається`
      : `Розряджаються батареї: ${counted(names.length, devices)}`,
  updateFailed: (version) => (version === null ? 'Оновлення не вдалося' : `Не вдалося оновити до ${version}`),
  updateRolledBack: (version) => (version === null ? 'Оновлення відкочено' : `Випуск ${version} відкочено`),
  rollbackFailed: (version) => (version === null ? 'Відкат не вдався' : `Не вдалося повернутися до ${version}`),
  kept: (version) => `Станція працює на ${version}.`,
  openStation: 'Причину видно на сторінці станції.',
  firmwareStopped: (type, version) => `${type}: оновлення прошивки до ${version} зупинено`,
  openFirmware: 'Забагато пристроїв не змогли оновитися. Які саме, видно на сторінці прошивок.',
  conditionsRaised: (count) =>
    count === 1
      ? 'Станція потребує уваги'
      : `Потребують уваги: ${counted(count, { one: 'річ', few: 'речі', many: 'речей' })}`,
  conditionsOver: (titles) => `Уже гаразд: ${titles.join(', ')}`,
  messages: (count) =>
    `${counted(count, { one: 'повідомлення', few: 'повідомлення', many: 'повідомлень' })} від автоматизацій`,
  test: 'Пробне повідомлення',
  testBody: 'Сповіщення цієї станції надходять сюди.',
};
