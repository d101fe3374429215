import type { Texts } from './portal-texts.ts';

export const pl: Texts = {
  language: 'pl',
  title: 'Połącz stację z Wi-Fi',
  product: 'Stacja',
  languageSwitch: 'Język',
  intro: 'Twój telefon jest połączony z {hotspot}, własną siecią stacji. Wybierz sieć, z której ma korzystać stacja.',
  networks: 'Sieci w zasięgu',
  search: 'Szukaj ponownie',
  noNetworks: 'Nie znaleziono żadnej sieci. Przysuń stację do routera i szukaj ponownie albo wpisz nazwę poniżej.',
  moreNetworks: 'Słabszych sieci nie ma na liście. Wybierz „Inna sieć” i wpisz nazwę.',
  signal: { strong: 'Silny sygnał', good: 'Dobry sygnał', fair: 'Średni sygnał', weak: 'Słaby sygnał' },
  security: {
    open: 'bez hasła',
    owe: 'bez hasła',
    wep: 'WEP: przestarzałe, nie zadziała',
    wpa2: 'z hasłem',
    wpa3: 'z hasłem (WPA3)',
    'wpa2-wpa3': 'z hasłem',
    enterprise: 'logowanie firmowe: nie zadziała',
  },
  known: 'zapisana',
  outOfReach: 'Teraz poza zasięgiem',
  other: 'Inna sieć',
  otherHint: 'Taka, która nie pokazuje swojej nazwy',
  name: 'Nazwa sieci',
  nameHint: 'Dokładnie tak, jak jest zapisana: wielkie litery i spacje mają znaczenie.',
  otherSecurity: 'Zabezpieczenie',
  otherSecurities: {
    auto: 'Z hasłem',
    wpa2: 'Z hasłem, tylko WPA2',
    wpa3: 'Z hasłem, tylko WPA3',
    open: 'Bez hasła',
    owe: 'Bez hasła, szyfrowana (OWE)',
  },
  password: 'Hasło sieci',
  passwordHint: 'Często jest na naklejce routera. Sieć bez hasła go nie wymaga.',
  passwordAgain: 'Wpisz hasło jeszcze raz.',
  show: 'Pokaż',
  hide: 'Ukryj',
  showWithoutScript: 'Pokazuj hasło podczas pisania',
  openHotspot:
    'Ten hotspot nie ma hasła, więc nie jest szyfrowany: inni w pobliżu mogą odczytać, co tu wpisujesz, także hasło twojej sieci.',
  confirm: 'Wiem, że inni w pobliżu mogą odczytać to, co wysyłam.',
  code: 'Kod stacji',
  codeHint: 'Jest na naklejce stacji i pokazał go instalator. Na stacji pokazuje go polecenie „station-agent code”.',
  join: 'Połącz stację',
  searching: {
    title: 'Szukanie sieci',
    text: 'To trwa do 15 sekund. Telefon pozostaje połączony; lista pojawi się automatycznie.',
    link: 'Pokaż listę',
  },
  trying: {
    title: 'Stacja łączy się z {name}',
    waiting: 'Nie zamykaj tej strony.',
    goesAway: 'Sieć {hotspot} zaraz zniknie. Telefon to zgłosi; tak ma być.',
    works: 'Jeśli się uda, połącz telefon z siecią domową. Stacja będzie pod tym adresem:',
    fails:
      'Jeśli się nie uda, {hotspot} wróci za około minutę. Połącz z nią telefon jeszcze raz: strona poda przyczynę.',
    look: 'Zobacz wynik',
    busy: 'Stacja już próbuje tej sieci. Najpierw poczekaj na wynik.',
  },
  failures: {
    wrong_password: {
      title: 'Hasło sieci {name} jest prawdopodobnie błędne',
      help: 'Router go nie przyjął. Wpisz je jeszcze raz; wielkość liter ma znaczenie.',
    },
    not_found: {
      title: 'Nie znaleziono sieci {name}',
      help: 'Sprawdź, czy router jest włączony i wystarczająco blisko, a jeśli nazwa była wpisana ręcznie, także jej pisownię. Potem spróbuj ponownie.',
    },
    no_address: {
      title: 'Sieć {name} nie dała stacji adresu',
      help: 'Router wpuścił stację, ale nie przydzielił adresu (DHCP). Uruchom router ponownie i spróbuj jeszcze raz.',
    },
    no_gateway: {
      title: 'W sieci {name} nic nie odpowiada',
      help: 'Stacja połączyła się i dostała adres, ale router nie odpowiedział. Uruchom router ponownie i spróbuj jeszcze raz.',
    },
    unsupported: {
      title: 'Stacja nie może korzystać z sieci {name}',
      help: 'Jej rodzaj zabezpieczenia nie działa z tą stacją. Ustaw w routerze WPA2 albo wybierz inną sieć.',
    },
    refused: {
      title: 'Sieć {name} nie wpuściła stacji',
      help: 'Router może wpuszczać tylko znane urządzenia albo nie mieć już miejsca. Sprawdź jego ustawienia i spróbuj ponownie.',
    },
    timed_out: {
      title: 'Sieć {name} nie odpowiedziała na czas',
      help: 'Sygnał może być za słaby albo hasło błędne. Przysuń stację do routera i wpisz hasło jeszcze raz.',
    },
    failed: {
      title: 'Stacja nie mogła połączyć się z {name}',
      help: 'Sprawdź hasło i spróbuj ponownie. Jeśli to nie pomoże, wyłącz i włącz stację.',
    },
  },
  problems: {
    form_unreadable: {
      title: 'Nie udało się odczytać formularza',
      help: 'Wybierz sieć i wpisz hasło jeszcze raz.',
    },
    no_network: { title: 'Nie wybrano sieci', help: 'Wybierz jedną z listy albo „Inna sieć”.' },
    name_missing: { title: 'Brakuje nazwy sieci', help: 'Wpisz ją pod „Inna sieć”.' },
    name_too_long: {
      title: 'Nazwa sieci jest za długa',
      help: 'Nazwa ma najwyżej 32 bajty: 32 zwykłe litery; litera ze znakiem, jak „ł”, liczy się podwójnie.',
    },
    password_missing: { title: 'Brakuje hasła', help: 'Ta sieć go wymaga. Wpisz je poniżej.' },
    password_length: {
      title: 'To hasło nie może być poprawne',
      help: 'Hasło tej sieci ma od 8 do 63 znaków; polskie litery liczą się podwójnie. Sprawdź je.',
    },
    password_characters: {
      title: 'To hasło nie może być poprawne',
      help: 'Zawiera znak, którego nie przyjmuje żadna sieć Wi-Fi, na przykład tabulator. Czy zostało wklejone?',
    },
    password_too_long: { title: 'Hasło jest za długie', help: 'Najwyżej 128 bajtów. Sprawdź je.' },
    enterprise: {
      title: 'Z tej sieci nie można korzystać',
      help: 'Wymaga od każdej osoby nazwy i hasła (802.1X). Wybierz sieć z jednym hasłem dla wszystkich.',
    },
    wep: {
      title: 'Z tej sieci nie można korzystać',
      help: 'Jej zabezpieczenie (WEP) jest złamane i nie jest już obsługiwane. Ustaw w routerze WPA2 lub WPA3.',
    },
    code_missing: {
      title: 'Brakuje kodu stacji',
      help: 'Ta stacja była już w sieci, dlatego wymaga swojego kodu. Wpisz go poniżej, a hasło jeszcze raz.',
    },
    code_wrong: {
      title: 'Kod stacji jest błędny',
      help: 'Spójrz na naklejkę i wpisz go jeszcze raz, hasło także. Pozostałe próby: {left}.',
    },
    code_closed: {
      title: 'Za dużo błędnych kodów',
      help: 'Następny kod stacja przyjmie za {minutes} min. Wyłączenie i włączenie nie pomoże. Do tego czasu możesz też podłączyć ją kablem.',
    },
    not_confirmed: {
      title: 'Brakuje twojej zgody',
      help: 'Inni w pobliżu mogą odczytać, co tu wysyłasz. Jeśli się zgadzasz, zaznacz pole nad przyciskiem i wpisz hasło jeszcze raz.',
    },
  },
  leaving: {
    title: 'Stacja łączy się automatycznie',
    help: 'Wróciła znana sieć albo podłączono kabel. Jeśli za minutę ta strona nadal tu będzie lub wróci, wybierz sieć jeszcze raz.',
  },
  refused: {
    too_large: {
      title: 'To za dużo',
      help: 'Formularz jest większy, niż stacja przyjmuje. Wypełnij go jeszcze raz.',
    },
    origin: {
      title: 'Ten formularz pochodzi z innej strony',
      help: 'Działa tylko własna strona stacji. Otwórz {address} w przeglądarce telefonu i wypełnij formularz tam.',
    },
    content_type: { title: 'Nie udało się odczytać formularza', help: 'Skorzystaj z własnej strony stacji.' },
    broken: { title: 'W stacji wystąpił błąd', help: 'Spróbuj ponownie za chwilę.' },
  },
  back: 'Na stronę początkową',
};
