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
import { log } from './log.ts';
import { machine } from './machine.ts';
import { network } from './network.ts';
import { passkeys } from './passkeys.ts';
import { notifications } from './notifications.ts';
import { provisioning } from './provisioning.ts';
import { reason } from './reasons.ts';
import { secure } from './secure.ts';
import { station } from './station.ts';
import { unknownDevices } from './unknown-devices.ts';

/** Polish texts of the pages that are fetched after the first one. */
export const later = {
  draft: { found: 'Te zmiany nie są jeszcze zapisane.', discard: 'Odrzuć zmiany' },
  activityLog,
  members: {
    title: 'Domownicy i goście',
    count_one: 'Dostęp do tej stacji ma {{count}} osoba.',
    count_few: 'Dostęp do tej stacji mają {{count}} osoby.',
    count_many: 'Dostęp do tej stacji ma {{count}} osób.',
    count_other: 'Dostęp do tej stacji ma {{count}} osoby.',
    fault: 'Nie udało się odczytać użytkowników',
    people: 'Osoby',
    you: 'To ty',
    change: 'Zmień: {{name}}',
    add: 'Dodaj użytkownika',
    alone: {
      title: 'Na razie tylko ty',
      help: 'Dodaj osoby, z którymi mieszkasz lub pracujesz. Każda ma własne logowanie, więc nie trzeba dzielić się hasłem.',
    },
    readOnly: 'Dodawać, zmieniać i usuwać osoby może tylko właściciel i administratorzy. Zwróć się do jednego z nich.',
    roles: {
      title: 'Co może każda rola',
      owner: 'Wszystko, także wybór administratorów.',
      admin: 'Dodawać i zmieniać urządzenia i automatyzacje, aktualizować stację, dodawać i usuwać użytkowników.',
      member: 'Wszystko widzieć, używać urządzeń i uruchamiać automatyzacje, ale niczego nie zmieniać.',
      limited: 'Widzieć urządzenia wybranych stref z ich historią i z nich korzystać, nic więcej.',
      guest: 'Korzystać z urządzeń wybranych stref do ustalonego przez ciebie czasu. Bez historii.',
    },
    role: 'Rola',
    zones: {
      title: 'Strefy',
      none: 'Nie ma jeszcze stref. Najpierw przypisz urządzenia do stref.',
      missing: 'Wybierz co najmniej jedną strefę.',
      only: 'Tylko: {{zones}}',
      gone: 'Te strefy usunięto',
    },
    end: {
      title: 'Dostęp kończy się',
      tonight: 'Dziś o północy',
      day: 'Za dobę',
      week: 'Za tydzień',
      date: 'Określonego dnia',
      when: 'Data i godzina',
      zone: 'Strefa czasowa stacji: {{zone}}',
      past: 'Wybierz czas w przyszłości.',
      missing: 'Podaj datę i godzinę.',
      until: 'do {{time}}',
      over: 'zakończył się {{time}}',
    },
    dialog: {
      add: 'Dodaj użytkownika',
      name: 'Imię',
      email: 'E-mail',
      emailHelp: 'Służy do logowania. Nic tam nie wysyłamy.',
      passwordComes: 'Stacja utworzy pierwsze hasło i pokaże ci je jeden raz.',
      submit: 'Dodaj',
      exists: 'Jest już użytkownik z tym adresem.',
      save: 'Zapisz',
      done: 'Gotowe',
      newPassword: 'Utwórz nowe hasło',
      newPasswordHelp:
        'Jeśli {{name}} nie pamięta hasła. Stare hasło i klucze dostępu przestaną działać, a konto zostanie wszędzie wylogowane.',
      remove: 'Usuń z tej stacji',
    },
    made: {
      added: '{{name}} może się już zalogować',
      replaced: 'Nowe hasło: {{name}}',
      help: 'Przekaż te dane. Hasło widać tylko raz; później można je zmienić na stronie Konto.',
      address: 'Adres',
      password: 'Hasło',
      copy: 'Kopiuj',
      copied: 'Skopiowano',
      notCopied: 'Ta przeglądarka nie pozwala tu kopiować. Zaznacz wiersze ręcznie.',
    },
    remove: {
      title: 'Usunąć {{name}}?',
      help: '{{name}} od razu traci wszystkie sesje i nie może już widzieć tej stacji ani jej używać.',
      stays: 'To, co ta osoba skonfigurowała, zostaje. Możesz ją później dodać ponownie.',
      confirm: 'Usuń',
      keep: 'Zostaw',
    },
  },
  appearance: {
    title: 'Wygląd',
    system: 'Jak w urządzeniu',
    light: 'Jasny',
    dark: 'Ciemny',
    help: 'Tylko w tej przeglądarce.',
  },
  settings: {
    title: 'Ustawienia',
    fault: 'Nie udało się odczytać ustawień',
    saved: 'Zapisano.',
    save: 'Zapisz',
    readOnly: 'Ustawienia stacji może zmieniać tylko właściciel i administratorzy.',
    station: {
      title: 'Ta stacja',
      name: 'Nazwa',
      timeZone: 'Strefa czasowa',
      zoneHere: 'Użyj strefy czasowej tego urządzenia: {{zone}}',
      timeNow: 'Jest tam teraz {{time}}. Według tego zegara działają automatyzacje.',
    },
    place: {
      title: 'Gdzie jest stacja',
      help: 'Dla automatyzacji według wschodu i zachodu słońca. Zapisane na stacji, z dokładnością do kilometra.',
      city: 'Miasto w pobliżu',
      cities: 'Miasta',
      choose: 'Wybierz…',
      latitude: 'Szerokość geogr.',
      longitude: 'Długość geogr.',
      wrong: 'Liczba od −{{most}} do {{most}}.',
      here: 'Użyj położenia tego urządzenia',
      refused: 'To urządzenie nie podaje, gdzie jest. Wybierz miasto albo wpisz liczby.',
      forget: 'Zapomnij położenie',
    },
    wifi: {
      title: 'Wi-Fi dla nowych urządzeń',
      help: 'Nowe urządzenia dostają tę sieć i jej hasło. Urządzenia, które już tu są, zachowują swoją.',
      current: 'Nowe urządzenia dołączają do {{ssid}}',
      open: 'Otwarta sieć, bez hasła.',
      hidden: 'Jej hasło jest zaszyfrowane i nie jest już pokazywane.',
      set: 'ustawiono {{time}}',
      none: 'Nie ustawiono jeszcze sieci, więc wpisujesz ją przy każdym dodawaniu urządzenia.',
      ssid: 'Nazwa sieci',
      password: 'Hasło',
      missing: 'Wpisz hasło tej sieci, nawet jeśli jest takie samo jak wcześniej.',
      withoutPassword: 'Ta sieć nie ma hasła',
      range: 'W WPA2 hasło ma od 8 do 63 znaków. Tylko w WPA3 bywa krótsze lub dłuższe.',
      change: 'Zmień sieć',
      choose: 'Ustaw sieć',
      forget: 'Zapomnij ją',
    },
    rows: {
      account: { title: 'Konto', help: 'Hasło, język, wylogowanie' },
      household: { title: 'Dom i strefy', help: 'Nazwa, strefa czasowa, miejsce, strefy' },
      network: { title: 'Wi-Fi i sieć', help: 'Sieci w pobliżu, hotspot, Wi-Fi urządzeń' },
      updates: { title: 'Aktualizacje', help: 'Stacja i urządzenia: co działa, co nowego' },
      backup: { title: 'Kopia zapasowa', help: 'Tworzenie, pobieranie, przywracanie, co noc' },
      notifications: { title: 'Powiadomienia', help: 'Ta przeglądarka, e-mail, godziny ciszy' },
      members: { title: 'Domownicy i goście', help: 'Kto ma dostęp' },
      consumers: { title: 'Home Assistant i inne', help: 'Urządzenia tej stacji w innych systemach' },
      cloud: { title: 'Zdalny dostęp', help: 'Przez chmurę' },
      diagnostics: { title: 'Diagnostyka i dzienniki', help: 'Co nie działa, usługi, komputer, dzienniki' },
      about: { title: 'O stacji', help: 'Wersja, licencja, twoje dane, szyfrowanie' },
    },
    zones: {
      title: 'Strefy',
      none: 'Nie ma jeszcze stref. Przypisz urządzenie do nowej strefy.',
      devices_one: '{{count}} urządzenie',
      devices_few: '{{count}} urządzenia',
      devices_many: '{{count}} urządzeń',
      devices_other: '{{count}} urządzenia',
    },
    about: {
      title: 'Informacje',
      release: 'Wersja',
      agent: 'Usługa aktualizacji',
      stationId: 'Identyfikator stacji',
      licence: 'Licencja',
      licenceName: 'Apache License 2.0, wolne oprogramowanie',
      data: 'Twoje dane',
      dataHelp:
        'Urządzenia, historia, automatyzacje i użytkownicy są zapisane na samej stacji, w jej własnej bazie danych. Chmura nie jest potrzebna, a aktualizacje i przywracanie wersji nie zmieniają danych.',
      unknown: 'nieznane',
    },
  },
  sessions: {
    notEnded: 'Wylogowanie się nie powiodło',
    title: 'Gdzie trwa twoja sesja',
    fault: 'Nie udało się odczytać twoich sesji',
    device: '{{browser}} w systemie {{system}}',
    unknown: 'Nieznane urządzenie',
    current: 'Ta przeglądarka',
    used: 'Ostatnio używane {{time}}',
    end: 'Wyloguj',
    endNamed: 'Wyloguj: {{name}}',
    endHere: 'Tylko w tej przeglądarce.',
    everywhere: 'Wyloguj wszędzie',
    everywhereAsk: 'Wylogować wszędzie?',
    everywhereHelp:
      'W każdej przeglądarce i na każdym telefonie trzeba będzie zalogować się ponownie, w tej też. Hasło i klucze dostępu pozostają.',
  },

  password: {
    title: 'Hasło',
    current: 'Obecne hasło',
    next: 'Nowe hasło',
    submit: 'Zmień hasło',
    changed: 'Twoje hasło zostało zmienione. Na innych urządzeniach wylogowano cię.',
    wrong: 'Obecne hasło jest złe.',
    same: 'To jest obecne hasło. Wybierz inne.',
  },

  arrange,
  automations,
  backendCondition,
  filledDisk,
  heldDatabase,
  backendConditionTitle,
  backup,
  devices: deviceList,
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
