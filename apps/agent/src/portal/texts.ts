import type { AccessProblem } from './code-decide.ts';
import type { JoinFailure, Security } from '../core/wifi-network.ts';
import type { FormProblem, OtherSecurity } from './join-form.ts';
import type { Language } from './portal-decide.ts';

/** A thing that went wrong, and what helps. `{name}` stands for the network. */
export type Trouble = { title: string; help: string };

/** Every text of the page in one language. Plain text: the page escapes it, and fills in what is in braces. */
export type Texts = {
  language: Language;
  title: string;
  product: string;
  languageSwitch: string;
  intro: string;
  networks: string;
  search: string;
  noNetworks: string;
  moreNetworks: string;
  signal: { strong: string; good: string; fair: string; weak: string };
  security: Record<Security, string>;
  known: string;
  outOfReach: string;
  other: string;
  otherHint: string;
  name: string;
  nameHint: string;
  otherSecurity: string;
  otherSecurities: Record<OtherSecurity, string>;
  password: string;
  passwordHint: string;
  passwordAgain: string;
  show: string;
  hide: string;
  showWithoutScript: string;
  /** On an open hotspot. */
  openHotspot: string;
  confirm: string;
  code: string;
  codeHint: string;
  join: string;
  searching: { title: string; text: string; link: string };
  trying: {
    title: string;
    waiting: string;
    goesAway: string;
    works: string;
    fails: string;
    look: string;
    busy: string;
  };
  failures: Record<JoinFailure, Trouble>;
  problems: Record<FormProblem | AccessProblem, Trouble>;
  /** A join was requested while the station was leaving the hotspot. */
  leaving: Trouble;
  refused: Record<'too_large' | 'origin' | 'content_type' | 'broken', Trouble>;
  back: string;
};

const en: Texts = {
  language: 'en',
  title: 'Connect the station to Wi-Fi',
  product: 'Station',
  languageSwitch: 'Language',
  intro:
    'Your phone is connected to {hotspot}, the station’s own network. Choose the network that the station is to use.',
  networks: 'Networks in reach',
  search: 'Search again',
  noNetworks: 'No network was found. Move the station nearer to your router and search again, or type the name below.',
  moreNetworks: 'Weaker networks are not listed. Choose “Another network” and type the name.',
  signal: { strong: 'Strong signal', good: 'Good signal', fair: 'Fair signal', weak: 'Weak signal' },
  security: {
    open: 'no password',
    owe: 'no password',
    wep: 'WEP: too old, cannot be used',
    wpa2: 'password',
    wpa3: 'password (WPA3)',
    'wpa2-wpa3': 'password',
    enterprise: 'company log-in: cannot be used',
  },
  known: 'saved',
  outOfReach: 'Not in reach at the moment',
  other: 'Another network',
  otherHint: 'One that does not show its name',
  name: 'Name of the network',
  nameHint: 'Exactly as it is spelled: capital letters and spaces count.',
  otherSecurity: 'Security',
  otherSecurities: {
    auto: 'With a password',
    wpa2: 'With a password, WPA2 only',
    wpa3: 'With a password, WPA3 only',
    open: 'Without a password',
  },
  password: 'Password of the network',
  passwordHint: 'Often on a sticker on the router. Not needed for a network without a password.',
  passwordAgain: 'Type the password again.',
  show: 'Show',
  hide: 'Hide',
  showWithoutScript: 'Show the password while I type',
  openHotspot:
    'This hotspot has no password, so it is not encrypted: others nearby can read what you type here, also the password of your network.',
  confirm: 'I know that others nearby can read what I send.',
  code: 'Station code',
  codeHint:
    'It is on the label of the station, and the installer printed it. On the station, “station-agent code” shows it.',
  join: 'Connect the station',
  searching: {
    title: 'Searching for networks',
    text: 'This takes up to 15 seconds. Your phone stays connected; the list comes by itself.',
    link: 'Show the list',
  },
  trying: {
    title: 'The station is connecting to {name}',
    waiting: 'Keep this page open.',
    goesAway: 'The network {hotspot} goes away now. Your phone says so; that is how it should be.',
    works: 'If it works, connect your phone to your home network. You find the station at this address:',
    fails:
      'If it does not work, {hotspot} is back in about a minute. Connect your phone to it again: the page says why.',
    look: 'See how it went',
    busy: 'The station was already trying this network. Wait for the outcome first.',
  },
  failures: {
    wrong_password: {
      title: 'The password of {name} is probably wrong',
      help: 'The router did not accept it. Type it again; capital letters count.',
    },
    not_found: {
      title: '{name} was not found',
      help: 'Check that the router is on and near enough, and the spelling if you typed the name. Then try again.',
    },
    no_address: {
      title: '{name} gave the station no address',
      help: 'The station was let in, but the router handed out no address (DHCP). Restart the router and try again.',
    },
    no_gateway: {
      title: 'Nothing answers in {name}',
      help: 'The station was connected and got an address, but the router did not answer. Restart the router and try again.',
    },
    unsupported: {
      title: 'The station cannot use {name}',
      help: 'Its kind of security does not work with this station. Set the router to WPA2, or choose another network.',
    },
    refused: {
      title: '{name} turned the station away',
      help: 'The router may let in only known devices, or have no room for more. Look at its settings and try again.',
    },
    timed_out: {
      title: '{name} did not answer in time',
      help: 'The signal may be too weak, or the password wrong. Move the station nearer to the router and type the password again.',
    },
    failed: {
      title: 'The station could not connect to {name}',
      help: 'Check the password and try again. If that does not help, switch the station off and on.',
    },
  },
  problems: {
    form_unreadable: { title: 'The form could not be read', help: 'Choose the network and type the password again.' },
    no_network: { title: 'No network is chosen', help: 'Choose one from the list, or “Another network”.' },
    name_missing: { title: 'The name of the network is missing', help: 'Type it below “Another network”.' },
    name_too_long: {
      title: 'The name of the network is too long',
      help: 'A name has at most 32 bytes: 32 Latin letters, or 16 Cyrillic ones.',
    },
    password_missing: { title: 'The password is missing', help: 'This network asks for one. Type it below.' },
    password_length: {
      title: 'The password cannot be right',
      help: 'A password of this network has 8 to 63 characters. Look at it again.',
    },
    password_characters: {
      title: 'The password cannot be right',
      help: 'A password of this network has only Latin letters, digits and signs. Is another keyboard switched on?',
    },
    password_too_long: { title: 'The password is too long', help: 'At most 128 bytes. Look at it again.' },
    enterprise: {
      title: 'This network cannot be used',
      help: 'It asks each person for a name and a password (802.1X). Choose a network with one password for all.',
    },
    wep: {
      title: 'This network cannot be used',
      help: 'Its security (WEP) is broken and no longer supported. Set the router to WPA2 or WPA3.',
    },
    code_missing: {
      title: 'The station code is missing',
      help: 'This station was in a network before, so it asks for its code. Type the code below and the password again.',
    },
    code_wrong: {
      title: 'The station code is wrong',
      help: 'Look at the label and type it again, and the password too. Tries left: {left}.',
    },
    code_closed: {
      title: 'Too many wrong codes',
      help: 'The station accepts the next code in {minutes} min. Switching it off and on does not help. Until then you can also connect it by cable.',
    },
    not_confirmed: {
      title: 'Your confirmation is missing',
      help: 'Others nearby can read what you send here. Tick the box above the button if you want that, and type the password again.',
    },
  },
  leaving: {
    title: 'The station is just connecting by itself',
    help: 'A network that it knows is back, or a cable was plugged in. If this page is still here in a minute, or comes back, choose your network again.',
  },
  refused: {
    too_large: { title: 'That was too much', help: 'The form is larger than the station takes. Fill it in again.' },
    origin: {
      title: 'This form came from another site',
      help: 'Only the station’s own page can be used. Open {address} in the browser of your phone and fill in the form there.',
    },
    content_type: { title: 'The form could not be read', help: 'Use the station’s own page.' },
    broken: { title: 'Something went wrong in the station', help: 'Try again in a moment.' },
  },
  back: 'To the start page',
};

const uk: Texts = {
  language: 'uk',
  title: 'Під’єднайте станцію до Wi-Fi',
  product: 'Станція',
  languageSwitch: 'Мова',
  intro: 'Ваш телефон під’єднано до {hotspot}, власної мережі станції. Оберіть мережу, якою станція має користуватися.',
  networks: 'Мережі поблизу',
  search: 'Шукати знову',
  noNetworks: 'Жодної мережі не знайдено. Поставте станцію ближче до роутера й шукайте знову або введіть назву нижче.',
  moreNetworks: 'Слабші мережі не показано. Оберіть «Інша мережа» і введіть назву.',
  signal: { strong: 'Сильний сигнал', good: 'Добрий сигнал', fair: 'Середній сигнал', weak: 'Слабкий сигнал' },
  security: {
    open: 'без пароля',
    owe: 'без пароля',
    wep: 'WEP: застаріла, не підходить',
    wpa2: 'з паролем',
    wpa3: 'з паролем (WPA3)',
    'wpa2-wpa3': 'з паролем',
    enterprise: 'корпоративний вхід: не підходить',
  },
  known: 'збережена',
  outOfReach: 'Зараз поза досяжністю',
  other: 'Інша мережа',
  otherHint: 'Та, що не показує своєї назви',
  name: 'Назва мережі',
  nameHint: 'Точно так, як вона пишеться: великі літери й пробіли мають значення.',
  otherSecurity: 'Захист',
  otherSecurities: {
    auto: 'З паролем',
    wpa2: 'З паролем, лише WPA2',
    wpa3: 'З паролем, лише WPA3',
    open: 'Без пароля',
  },
  password: 'Пароль мережі',
  passwordHint: 'Часто вказаний на наліпці роутера. Для мережі без пароля не потрібен.',
  passwordAgain: 'Введіть пароль ще раз.',
  show: 'Показати',
  hide: 'Сховати',
  showWithoutScript: 'Показувати пароль, поки я вводжу',
  openHotspot:
    'Ця точка доступу не має пароля, тож вона незашифрована: інші поблизу можуть прочитати все, що ви тут вводите, зокрема пароль вашої мережі.',
  confirm: 'Я знаю, що інші поблизу можуть прочитати те, що я надсилаю.',
  code: 'Код станції',
  codeHint:
    'Він є на наліпці станції, і його показав інсталятор. На станції його показує команда «station-agent code».',
  join: 'Під’єднати станцію',
  searching: {
    title: 'Шукаємо мережі',
    text: 'Це триває до 15 секунд. Телефон залишається на зв’язку; список з’явиться сам.',
    link: 'Показати список',
  },
  trying: {
    title: 'Станція під’єднується до {name}',
    waiting: 'Не закривайте цю сторінку.',
    goesAway: 'Мережа {hotspot} зараз зникне. Телефон про це скаже; так і має бути.',
    works: 'Якщо все вийде, під’єднайте телефон до домашньої мережі. Станція буде за цією адресою:',
    fails:
      'Якщо не вийде, {hotspot} повернеться приблизно за хвилину. Під’єднайте до неї телефон знову: сторінка пояснить причину.',
    look: 'Подивитися, чи вийшло',
    busy: 'Станція вже пробувала цю мережу. Спершу дочекайтеся результату.',
  },
  failures: {
    wrong_password: {
      title: 'Пароль мережі {name}, імовірно, неправильний',
      help: 'Роутер його не прийняв. Введіть пароль ще раз; великі літери мають значення.',
    },
    not_found: {
      title: 'Мережу {name} не знайдено',
      help: 'Перевірте, чи роутер увімкнено й чи він достатньо близько, а якщо ви вводили назву, то й її написання. Потім спробуйте знову.',
    },
    no_address: {
      title: 'Мережа {name} не дала станції адреси',
      help: 'Станцію впустили, але роутер не видав адреси (DHCP). Перезавантажте роутер і спробуйте знову.',
    },
    no_gateway: {
      title: 'У мережі {name} ніхто не відповідає',
      help: 'Станція під’єдналася й отримала адресу, але роутер не відповів. Перезавантажте роутер і спробуйте знову.',
    },
    unsupported: {
      title: 'Станція не може користуватися мережею {name}',
      help: 'Її вид захисту не працює з цією станцією. Увімкніть на роутері WPA2 або оберіть іншу мережу.',
    },
    refused: {
      title: 'Мережа {name} не впустила станцію',
      help: 'Можливо, роутер пускає лише відомі пристрої або місць більше немає. Перегляньте його налаштування і спробуйте знову.',
    },
    timed_out: {
      title: 'Мережа {name} не відповіла вчасно',
      help: 'Можливо, сигнал заслабкий або пароль неправильний. Поставте станцію ближче до роутера й введіть пароль ще раз.',
    },
    failed: {
      title: 'Станція не змогла під’єднатися до {name}',
      help: 'Перевірте пароль і спробуйте знову. Якщо не допоможе, вимкніть і ввімкніть станцію.',
    },
  },
  problems: {
    form_unreadable: { title: 'Форму не вдалося прочитати', help: 'Оберіть мережу і введіть пароль ще раз.' },
    no_network: { title: 'Мережу не обрано', help: 'Оберіть одну зі списку або «Інша мережа».' },
    name_missing: { title: 'Бракує назви мережі', help: 'Введіть її під «Інша мережа».' },
    name_too_long: {
      title: 'Назва мережі задовга',
      help: 'Назва має щонайбільше 32 байти: 32 латинські літери або 16 кириличних.',
    },
    password_missing: { title: 'Бракує пароля', help: 'Ця мережа його потребує. Введіть пароль нижче.' },
    password_length: {
      title: 'Пароль не може бути правильним',
      help: 'Пароль цієї мережі має від 8 до 63 символів. Перевірте його.',
    },
    password_characters: {
      title: 'Пароль не може бути правильним',
      help: 'Пароль цієї мережі має лише латинські літери, цифри й знаки. Чи не ввімкнено іншу розкладку?',
    },
    password_too_long: { title: 'Пароль задовгий', help: 'Щонайбільше 128 байтів. Перевірте його.' },
    enterprise: {
      title: 'Ця мережа не підходить',
      help: 'Вона питає в кожного ім’я і пароль (802.1X). Оберіть мережу з одним паролем для всіх.',
    },
    wep: {
      title: 'Ця мережа не підходить',
      help: 'Її захист (WEP) зламано, він більше не підтримується. Увімкніть на роутері WPA2 або WPA3.',
    },
    code_missing: {
      title: 'Бракує коду станції',
      help: 'Ця станція вже була в мережі, тому питає свій код. Введіть його нижче, а також ще раз пароль.',
    },
    code_wrong: {
      title: 'Код станції неправильний',
      help: 'Подивіться на наліпку і введіть його ще раз, а також пароль. Залишилося спроб: {left}.',
    },
    code_closed: {
      title: 'Забагато неправильних кодів',
      help: 'Наступний код станція прийме за {minutes} хв. Вимикати її не допоможе. А поки що її можна під’єднати кабелем.',
    },
    not_confirmed: {
      title: 'Бракує вашого підтвердження',
      help: 'Інші поблизу можуть прочитати те, що ви тут надсилаєте. Якщо ви згодні, поставте позначку над кнопкою і введіть пароль ще раз.',
    },
  },
  leaving: {
    title: 'Станція саме під’єднується сама',
    help: 'Знову з’явилася мережа, яку вона знає, або під’єднали кабель. Якщо за хвилину ця сторінка ще тут або повернеться, оберіть мережу ще раз.',
  },
  refused: {
    too_large: { title: 'Це забагато', help: 'Форма більша, ніж приймає станція. Заповніть її ще раз.' },
    origin: {
      title: 'Ця форма з іншого сайту',
      help: 'Працює лише власна сторінка станції. Відкрийте {address} у браузері телефона й заповніть форму там.',
    },
    content_type: { title: 'Форму не вдалося прочитати', help: 'Користуйтеся власною сторінкою станції.' },
    broken: { title: 'У станції щось пішло не так', help: 'Спробуйте ще раз за мить.' },
  },
  back: 'На початкову сторінку',
};

export const texts: Record<Language, Texts> = { en, uk };
