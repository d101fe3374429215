import { automations } from './automations.ts';
import { backup } from './backup.ts';
import { backendCondition, backendConditionTitle, filledDisk } from './backend-conditions.ts';
import { cloud } from './cloud.ts';
import { devicePage } from './device-page.ts';
import { devicesWifi } from './devices-wifi.ts';
import { diagnostics } from './diagnostics.ts';
import { finding } from './findings.ts';
import { firmware } from './firmware.ts';
import { provisioning } from './provisioning.ts';
import { reason } from './reasons.ts';
import { station } from './station.ts';
import { unknownDevices } from './unknown-devices.ts';

/** Ukrainian texts of the pages that are fetched after the first one. */
export const later = {
  more: { title: 'Більше', lead: 'Усе інше про цю станцію.' },
  members: {
    title: 'Учасники',
    count_one: 'Доступ до станції має {{count}} особа.',
    count_few: 'Доступ до станції мають {{count}} особи.',
    count_many: 'Доступ до станції мають {{count}} осіб.',
    count_other: 'Доступ до станції мають {{count}} особи.',
    fault: 'Не вдалося прочитати список учасників',
    people: 'Люди',
    you: 'Це ви',
    change: 'Змінити: {{name}}',
    add: 'Додати учасника',
    alone: {
      title: 'Поки що тільки ви',
      help: 'Додайте тих, із ким живете чи працюєте. У кожного буде власний вхід, і ділитися паролем не доведеться.',
    },
    readOnly:
      'Додавати, змінювати й вилучати людей можуть лише власник та адміністратори. Зверніться до когось із них.',
    roles: {
      title: 'Хто що може',
      owner: 'Усе, зокрема вирішує, хто адміністратор.',
      admin: 'Додавати й змінювати пристрої та сценарії, оновлювати станцію, додавати й вилучати учасників.',
      member: 'Усе бачити й користуватися пристроями. Більше нічого не змінює.',
    },
    role: 'Роль',
    ownerChooses: 'Змінити роль може лише власник.',
    dialog: {
      add: 'Новий учасник',
      name: 'Ім’я',
      email: 'Електронна пошта',
      emailHelp: 'Потрібна для входу. Листів туди не надсилаємо.',
      passwordComes: 'Станція сама створить перший пароль і один раз покаже його вам.',
      submit: 'Додати',
      exists: 'Учасник із такою адресою вже є.',
      save: 'Зберегти',
      done: 'Готово',
      newPassword: 'Створити новий пароль',
      newPasswordHelp: 'Якщо старий забуто. Він перестане діяти, і всі сеанси учасника ({{name}}) завершаться.',
      remove: 'Вилучити зі станції',
    },
    made: {
      added: 'Учасника додано: {{name}}',
      replaced: 'Новий пароль: {{name}}',
      help: 'Передайте ці дані. Пароль видно лише тут і лише зараз; згодом його можна змінити в профілі.',
      address: 'Адреса',
      password: 'Пароль',
      copy: 'Скопіювати',
      copied: 'Скопійовано',
      notCopied: 'Браузер не дозволяє тут копіювати. Виділіть рядки самі.',
    },
    remove: {
      title: 'Вилучити {{name}}?',
      help: 'Усі сеанси учасника ({{name}}) завершаться одразу, і станція стане для нього закритою.',
      stays: 'Усе, що вже налаштовано, залишиться. Згодом учасника можна додати знову.',
      confirm: 'Вилучити',
      keep: 'Залишити',
    },
  },
  settings: {
    title: 'Параметри',
    fault: 'Не вдалося прочитати параметри',
    saved: 'Збережено.',
    save: 'Зберегти',
    readOnly: 'Змінювати параметри станції можуть лише власник та адміністратори.',
    station: {
      title: 'Ця станція',
      name: 'Назва',
      timeZone: 'Часовий пояс',
      timeNow: 'Там зараз {{time}}. За цим годинником працюють сценарії.',
    },
    wifi: {
      title: 'Wi-Fi для нових пристроїв',
      help: 'Доданий пристрій отримає назву цієї мережі та її пароль. Пристрої, які вже тут, залишаться у своїй.',
      current: 'Нові пристрої приєднуються до {{ssid}}',
      open: 'Відкрита мережа, без пароля.',
      hidden: 'Пароль зберігається зашифрованим і більше не показується.',
      set: 'задано {{time}}',
      none: 'Мережу ще не задано, тож її доведеться вказувати, коли додаєте пристрій.',
      ssid: 'Назва мережі',
      password: 'Пароль',
      missing: 'Введіть пароль цієї мережі, навіть якщо він той самий.',
      withoutPassword: 'Ця мережа без пароля',
      short: 'Пароль Wi-Fi має щонайменше 8 символів.',
      change: 'Змінити мережу',
      choose: 'Задати мережу',
      forget: 'Забути мережу',
    },
    language: { title: 'Мова', help: 'Мова цих сторінок, лише в цьому браузері.' },
    unknown: { title: 'Невідомі пристрої', help: 'Прийняти або заблокувати' },
    account: { title: 'Ваш профіль', help: 'Пароль, вихід' },
    about: {
      title: 'Про станцію',
      release: 'Випуск',
      agent: 'Служба оновлень',
      stationId: 'Ідентифікатор',
      licence: 'Ліцензія',
      licenceName: 'Apache License 2.0, вільне програмне забезпечення',
      data: 'Ваші дані',
      dataHelp:
        'Пристрої, історія, сценарії та люди зберігаються на самій станції, у її власній базі даних. Хмара не потрібна, а оновлення й повернення до попереднього випуску даних не зачіпають.',
      unknown: 'невідомо',
    },
  },
  sessions: {
    title: 'Де ви увійшли',
    fault: 'Не вдалося прочитати, де ви увійшли',
    device: '{{browser}}, {{system}}',
    unknown: 'Невідомий пристрій',
    current: 'Цей браузер',
    used: 'Останнє використання: {{time}}',
    end: 'Вийти',
    endNamed: 'Вийти: {{name}}',
    endHere: 'Лише в цьому браузері.',
  },

  password: {
    title: 'Пароль',
    current: 'Теперішній пароль',
    next: 'Новий пароль',
    submit: 'Змінити пароль',
    changed: 'Пароль змінено. Усі інші ваші сеанси завершено.',
    wrong: 'Теперішній пароль не підходить.',
  },

  automations,
  backendCondition,
  filledDisk,
  backendConditionTitle,
  backup,
  devicePage,
  devicesWifi,
  diagnostics,
  finding,
  firmware,
  cloud,
  provisioning,
  reason,
  station,
  unknownDevices,
} as const;
