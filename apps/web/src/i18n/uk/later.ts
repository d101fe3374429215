import { activityLog } from './activity-log.ts';
import { arrange } from './arrange.ts';
import { automations } from './automations.ts';
import { backup } from './backup.ts';
import { backendCondition, backendConditionTitle, filledDisk, heldDatabase } from './backend-conditions.ts';
import { cloud } from './cloud.ts';
import { deviceList } from './device-list.ts';
import { devicePage } from './device-page.ts';
import { devicesWifi } from './devices-wifi.ts';
import { diagnostics } from './diagnostics.ts';
import { finding } from './findings.ts';
import { find } from './find.ts';
import { firmware } from './firmware.ts';
import { passkeys } from './passkeys.ts';
import { log } from './log.ts';
import { machine } from './machine.ts';
import { network } from './network.ts';
import { notifications } from './notifications.ts';
import { provisioning } from './provisioning.ts';
import { reason } from './reasons.ts';
import { secure } from './secure.ts';
import { station } from './station.ts';
import { unknownDevices } from './unknown-devices.ts';

/** Ukrainian texts of the pages that are fetched after the first one. */
export const later = {
  draft: { found: 'Ці зміни ще не збережено.', discard: 'Скасувати зміни' },
  members: {
    title: 'Люди й гості',
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
      admin: 'Додавати й змінювати пристрої та автоматизації, оновлювати станцію, додавати й вилучати учасників.',
      member: 'Усе бачити, користуватися пристроями й запускати автоматизації, але нічого не змінювати.',
      limited: 'Бачити пристрої деяких зон та їхню історію й користуватися ними — і більше нічого.',
      guest: 'Користуватися пристроями деяких зон до визначеного вами часу. Без історії.',
    },
    role: 'Роль',
    zones: {
      title: 'Зони',
      none: 'Зон ще немає. Спершу розподіліть пристрої по зонах.',
      missing: 'Виберіть принаймні одну зону.',
      only: 'Лише: {{zones}}',
      gone: 'Ці зони вилучено',
    },
    end: {
      title: 'Доступ завершиться',
      tonight: 'Сьогодні опівночі',
      day: 'Через добу',
      week: 'Через тиждень',
      date: 'У певний день',
      when: 'Дата й час',
      zone: 'Часовий пояс станції: {{zone}}',
      past: 'Виберіть час у майбутньому.',
      missing: 'Укажіть дату й час.',
      until: 'до {{time}}',
      over: 'завершився {{time}}',
    },
    dialog: {
      add: 'Новий учасник',
      name: 'Ім’я',
      email: 'Електронна пошта',
      emailHelp: 'Потрібна для входу. Листів туди не надсилаємо.',
      passwordComes: 'Станція створить перший пароль і один раз покаже його вам.',
      submit: 'Додати',
      exists: 'Учасник із такою адресою вже є.',
      save: 'Зберегти',
      done: 'Готово',
      newPassword: 'Створити новий пароль',
      newPasswordHelp:
        'Якщо старий забуто. Він і ключі доступу перестануть діяти, і всі сеанси учасника ({{name}}) завершаться.',
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
      notCopied: 'Браузер не дозволяє тут копіювати. Виділіть рядки вручну.',
    },
    remove: {
      title: 'Вилучити {{name}}?',
      help: 'Усі сеанси учасника ({{name}}) завершаться одразу, і станція стане для нього закритою.',
      stays: 'Усе, що вже налаштовано, залишиться. Згодом учасника можна додати знову.',
      confirm: 'Вилучити',
      keep: 'Залишити',
    },
  },
  appearance: {
    title: 'Вигляд',
    system: 'Як на пристрої',
    light: 'Світлий',
    dark: 'Темний',
    help: 'Лише для цього браузера.',
  },
  settings: {
    title: 'Налаштування',
    fault: 'Не вдалося прочитати налаштування',
    saved: 'Збережено.',
    save: 'Зберегти',
    readOnly: 'Змінювати налаштування станції можуть лише власник та адміністратори.',
    station: {
      title: 'Ця станція',
      name: 'Назва',
      timeZone: 'Часовий пояс',
      zoneHere: 'Узяти часовий пояс цього пристрою: {{zone}}',
      timeNow: 'Там зараз {{time}}. За цим годинником працюють автоматизації.',
    },
    place: {
      title: 'Де розташована станція',
      help: 'Для автоматизацій за сходом і заходом сонця. Зберігається на станції з точністю до кілометра.',
      city: 'Місто поблизу',
      cities: 'Міста',
      choose: 'Виберіть…',
      latitude: 'Широта',
      longitude: 'Довгота',
      wrong: 'Число від −{{most}} до {{most}}.',
      here: 'Узяти місце цього пристрою',
      refused: 'Цей пристрій не повідомляє, де він. Виберіть місто або впишіть числа.',
      forget: 'Забути місце',
    },
    wifi: {
      title: 'Wi-Fi для нових пристроїв',
      help: 'Нові пристрої отримують цю мережу та її пароль. Ті, що вже тут, залишаються у своїй.',
      current: 'Нові пристрої приєднуються до {{ssid}}',
      open: 'Відкрита мережа, без пароля.',
      hidden: 'Пароль зберігається зашифрованим і більше не показується.',
      set: 'задано {{time}}',
      none: 'Мережу ще не задано, тож її доведеться вводити щоразу, коли додаєте пристрій.',
      ssid: 'Назва мережі',
      password: 'Пароль',
      missing: 'Введіть пароль цієї мережі, навіть якщо він той самий.',
      withoutPassword: 'Ця мережа без пароля',
      range: 'У WPA2 пароль має від 8 до 63 символів. Лише у WPA3 він буває коротшим або довшим.',
      change: 'Змінити мережу',
      choose: 'Задати мережу',
      forget: 'Забути мережу',
    },
    rows: {
      account: { title: 'Профіль', help: 'Пароль, мова, вихід' },
      household: { title: 'Дім і зони', help: 'Назва, часовий пояс, місце, зони' },
      network: { title: 'Wi-Fi і мережа', help: 'Мережі поруч, точка доступу, Wi-Fi пристроїв' },
      updates: { title: 'Оновлення', help: 'Станція та пристрої: що працює, що нового' },
      backup: { title: 'Резервні копії', help: 'Створити, завантажити, відновити, щоночі' },
      notifications: { title: 'Сповіщення', help: 'Цей браузер, пошта, тихі години' },
      members: { title: 'Люди й гості', help: 'Хто має доступ' },
      consumers: { title: 'Home Assistant та інші', help: 'Пристрої цієї станції в інших системах' },
      cloud: { title: 'Віддалений доступ', help: 'Через хмару' },
      diagnostics: { title: 'Діагностика й журнали', help: 'Що не так, служби, комп’ютер, журнали' },
      about: { title: 'Про станцію', help: 'Випуск, ліцензія, ваші дані, шифрування' },
    },
    zones: {
      title: 'Зони',
      none: 'Зон ще немає. Додайте пристрій до нової зони.',
      devices_one: '{{count}} пристрій',
      devices_few: '{{count}} пристрої',
      devices_many: '{{count}} пристроїв',
      devices_other: '{{count}} пристрою',
    },
    about: {
      title: 'Про станцію',
      release: 'Випуск',
      agent: 'Служба оновлень',
      stationId: 'Ідентифікатор',
      licence: 'Ліцензія',
      licenceName: 'Apache License 2.0, вільне програмне забезпечення',
      data: 'Ваші дані',
      dataHelp:
        'Пристрої, історія, автоматизації та люди зберігаються на самій станції, у її власній базі даних. Хмара не потрібна, а оновлення й відкати даних не змінюють.',
      unknown: 'невідомо',
    },
  },
  sessions: {
    notEnded: 'Ви ще не вийшли',
    title: 'Де ви увійшли',
    fault: 'Не вдалося прочитати, де ви увійшли',
    device: '{{browser}}, {{system}}',
    unknown: 'Невідомий пристрій',
    current: 'Цей браузер',
    used: 'Останнє використання: {{time}}',
    end: 'Вийти',
    endNamed: 'Вийти: {{name}}',
    endHere: 'Лише в цьому браузері.',
    everywhere: 'Вийти всюди',
    everywhereAsk: 'Вийти всюди?',
    everywhereHelp:
      'У кожному браузері й на кожному телефоні доведеться увійти знову, у цьому теж. Пароль і ключі доступу залишаються.',
  },

  password: {
    title: 'Пароль',
    current: 'Поточний пароль',
    next: 'Новий пароль',
    submit: 'Змінити пароль',
    changed: 'Пароль змінено. На інших пристроях ви вийшли.',
    wrong: 'Поточний пароль неправильний.',
    same: 'Це поточний пароль. Виберіть інший.',
  },

  arrange,
  automations,
  backendCondition,
  filledDisk,
  heldDatabase,
  backendConditionTitle,
  backup,
  devices: deviceList,
  activityLog,
  devicePage,
  devicesWifi,
  diagnostics,
  find,
  finding,
  firmware,
  cloud,
  passkeys,
  log,
  machine,
  network,
  notifications,
  provisioning,
  reason,
  secure,
  station,
  unknownDevices,
} as const;
