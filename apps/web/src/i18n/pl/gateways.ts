/** Devices of other systems, through a gateway. */
export const gateways = {
  title: 'Inne systemy',
  lead: 'Urządzenia Zigbee łączą się przez Zigbee2MQTT w Twojej sieci, urządzenia Tasmota, Shelly i ESPHome same. Widać je, przełącza się je i automatyzuje tak jak wszystkie inne.',
  fault: 'Nie udało się odczytać połączeń',
  heard: {
    title: 'Zauważone, jeszcze niepołączone',
    help: 'Rozpoznane tylko po temacie. Połącz tylko to, co należy do Ciebie.',
    refused:
      '{{time}} próbowało się zalogować jako {{topic}} i zostało odrzucone. Potrzebuje loginu, który utworzysz tutaj i wpiszesz tam.',
    published: 'widziane {{time}} na Twoim brokerze jako {{topic}}',
    connect: 'Połącz',
  },
  connect: 'Połącz system',
  connectAnother: 'Połącz kolejny system',
  system: 'System',
  name: 'Nazwa',
  baseTopic: 'Temat bazowy',
  discoveryPrefix: 'Prefiks wykrywania',
  discoveryHelp: 'Tam urządzenia się ogłaszają. Inny, gdy stację widzi Home Assistant: używa on „homeassistant”.',
  make: 'Utwórz login',
  systems: {
    zigbee2mqtt: {
      topic: 'Taki jak w jego własnych ustawieniach. Litery, cyfry, -, _ i /.',
      sheet: 'Wpisz te wartości w ustawieniach Zigbee2MQTT, w sekcji „mqtt”.',
      limits: 'Stacja przyjmuje listę około 40 urządzeń; przy większej jej zwykły broker zrywa połączenie.',
    },
    tasmota: {
      topic:
        'Zostaw „tasmota”: urządzenia ogłaszają się poniżej tego tematu, a oprócz niego używają tele, stat i cmnd.',
      sheet:
        'Na stronie każdego urządzenia: Configuration → Configure MQTT. Host i port są częściami adresu serwera; tematu bazowego nie wpisuj. Wszystkie urządzenia używają tego loginu.',
      limits:
        'Każde urządzenie potrzebuje własnego Topic, FullTopic %prefix%/%topic%/ oraz SetOption19 0 (domyślnie). Naciśnięcia przycisków przychodzą po ustawieniu SetOption73 1.',
    },
    shelly: {
      topic: 'Każde urządzenie dostaje poniżej niego prefiks MQTT, na przykład shelly/bojler. Litery, cyfry, -, _ i /.',
      sheet:
        'Na stronie każdego urządzenia: Settings → MQTT. Serwer bez mqtt://, Client ID bez zmian, MQTT prefix: temat bazowy, ukośnik i własna nazwa. „RPC status notifications” zostaje włączone. Wszystkie urządzenia używają tego loginu.',
      limits:
        'Od Gen2, z MQTT. Pierwsza generacja jest osobnym systemem. Urządzenie, które śpi, pojawi się, gdy się obudzi.',
    },
    shelly_gen1: {
      topic: 'Zostaw „shellies”: urządzenia tej generacji nie znają innego.',
      sheet:
        'Na stronie każdego urządzenia: Internet & Security → Advanced – Developer settings → Enable MQTT. Serwer bez mqtt://; tematu bazowego nie wpisuj. Wszystkie urządzenia używają tego loginu.',
      limits:
        'Urządzenie pojawia się z tym, co wysyła. MQTT i chmura Shelly wykluczają się. Z termostatów przejmowana jest głowica grzejnikowa.',
    },
    home_assistant: {
      topic:
        'Każde urządzenie dostaje poniżej niego prefiks tematu, na przykład esphome/kuchnia. Litery, cyfry, -, _ i /.',
      sheet:
        'W pliku YAML każdego urządzenia, w sekcji „mqtt”: broker i port z adresu serwera, username i password, discovery_prefix, a jako topic_prefix temat bazowy, ukośnik i własna nazwa. Wszystkie urządzenia używają tego loginu.',
      limits:
        'ESPHome i inne, które ogłaszają się dla Home Assistant. Wartości z szablonem, który liczy, nie są przejmowane, tak jak tematy poza oboma drzewami.',
    },
  },
  states: { waiting: 'Jeszcze się nie odezwało', online: 'Połączono', offline: 'Offline' },
  devices_one: '{{count}} urządzenie',
  devices_few: '{{count}} urządzenia',
  devices_many: '{{count}} urządzeń',
  devices_other: '{{count}} urządzenia',
  notSupported: 'Nieobsługiwane: {{number}}',
  notSupportedMore: 'i jeszcze {{number}}',
  refusals: {
    template: 'ma szablon: jego wartość trzeba by obliczać',
    kind: 'część, której stacja nie zna',
    outside: 'używa tematów spoza własnych tego systemu',
    incomplete: 'mówi o sobie za mało albo ma nazwę, która tu nie jest możliwa',
    group: 'grupa, której członkowie nie mają nic wspólnego albo nie są znani',
    elsewhere: 'przychodzi już przez inny system',
    no_room: 'brak miejsca: jest ich już za dużo',
    too_large: 'jego wiadomość jest za duża',
  },
  renew: 'Nowe hasło',
  renewTitle: 'Nowe hasło dla {{name}}?',
  renewHelp: 'Obecne przestanie działać od razu. Bramka będzie offline, dopóki nie wpiszesz tam nowego.',
  remove: 'Rozłącz',
  removeTitle: 'Rozłączyć {{name}}?',
  removeHelp_one: 'Jego urządzenie zniknie ze stacji razem z historią.',
  removeHelp_few: 'Jego {{count}} urządzenia znikną ze stacji razem z historią.',
  removeHelp_many: 'Jego {{count}} urządzeń zniknie ze stacji razem z historią.',
  removeHelp_other: 'Jego {{count}} urządzenia znikną ze stacji razem z historią.',
  sheet: 'Login dla {{name}}',
  sheetHelp: 'Hasło jest pokazywane tylko teraz. Urządzenia pojawią się po kilku sekundach.',
  notMade:
    'Loginami Twojego brokera zarządza inny system. Utwórz tam ten login, dla tematów tego systemu i wszystkiego poniżej.',
} as const;
