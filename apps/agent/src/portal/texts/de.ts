import type { Texts } from './portal-texts.ts';

export const de: Texts = {
  language: 'de',
  title: 'Station mit dem WLAN verbinden',
  product: 'Station',
  languageSwitch: 'Sprache',
  intro:
    'Dein Telefon ist mit {hotspot} verbunden, dem eigenen Netzwerk der Station. Wähle das Netzwerk, das die Station benutzen soll.',
  networks: 'Netzwerke in Reichweite',
  search: 'Neu suchen',
  noNetworks:
    'Kein Netzwerk gefunden. Stell die Station näher an den Router und suche neu, oder gib den Namen unten ein.',
  moreNetworks: 'Schwächere Netzwerke stehen nicht in der Liste. Wähle „Anderes Netzwerk“ und gib den Namen ein.',
  signal: { strong: 'Starkes Signal', good: 'Gutes Signal', fair: 'Mittleres Signal', weak: 'Schwaches Signal' },
  security: {
    open: 'ohne Passwort',
    owe: 'ohne Passwort',
    wep: 'WEP: veraltet, nicht nutzbar',
    wpa2: 'mit Passwort',
    wpa3: 'mit Passwort (WPA3)',
    'wpa2-wpa3': 'mit Passwort',
    enterprise: 'Firmenanmeldung: nicht nutzbar',
  },
  known: 'gespeichert',
  outOfReach: 'Zurzeit nicht in Reichweite',
  other: 'Anderes Netzwerk',
  otherHint: 'Eines, das seinen Namen nicht zeigt',
  name: 'Name des Netzwerks',
  nameHint: 'Genau wie geschrieben: Großbuchstaben und Leerzeichen zählen.',
  otherSecurity: 'Sicherheit',
  otherSecurities: {
    auto: 'Mit Passwort',
    wpa2: 'Mit Passwort, nur WPA2',
    wpa3: 'Mit Passwort, nur WPA3',
    open: 'Ohne Passwort',
    owe: 'Ohne Passwort, verschlüsselt (OWE)',
  },
  password: 'Passwort des Netzwerks',
  passwordHint: 'Steht oft auf einem Aufkleber am Router. Für ein Netzwerk ohne Passwort nicht nötig.',
  passwordAgain: 'Gib das Passwort noch einmal ein.',
  show: 'Anzeigen',
  hide: 'Verbergen',
  showWithoutScript: 'Passwort beim Tippen anzeigen',
  openHotspot:
    'Dieser Hotspot hat kein Passwort und ist deshalb nicht verschlüsselt: Andere in der Nähe können lesen, was du hier eingibst, auch das Passwort deines Netzwerks.',
  confirm: 'Ich weiß, dass andere in der Nähe lesen können, was ich sende.',
  code: 'Code der Station',
  codeHint:
    'Er steht auf dem Aufkleber der Station, und die Installation hat ihn angezeigt. Auf der Station zeigt ihn „station-agent code“.',
  join: 'Station verbinden',
  searching: {
    title: 'Suche nach Netzwerken',
    text: 'Das dauert bis zu 15 Sekunden. Dein Telefon bleibt verbunden; die Liste erscheint automatisch.',
    link: 'Liste anzeigen',
  },
  trying: {
    title: 'Die Station verbindet sich mit {name}',
    waiting: 'Lass diese Seite offen.',
    goesAway: 'Das Netzwerk {hotspot} verschwindet jetzt. Dein Telefon meldet das; es ist so richtig.',
    works: 'Wenn es klappt, verbinde dein Telefon mit deinem WLAN. Du findest die Station unter dieser Adresse:',
    fails:
      'Wenn es nicht klappt, ist {hotspot} in etwa einer Minute wieder da. Verbinde dein Telefon wieder damit: Die Seite nennt den Grund.',
    look: 'Ergebnis ansehen',
    busy: 'Die Station versucht dieses Netzwerk schon. Warte zuerst das Ergebnis ab.',
  },
  failures: {
    wrong_password: {
      title: 'Das Passwort von {name} ist wahrscheinlich falsch',
      help: 'Der Router hat es nicht angenommen. Gib es noch einmal ein; Großbuchstaben zählen.',
    },
    not_found: {
      title: '{name} wurde nicht gefunden',
      help: 'Prüfe, ob der Router eingeschaltet und nah genug ist, und die Schreibweise, falls du den Namen eingegeben hast. Versuche es dann noch einmal.',
    },
    no_address: {
      title: '{name} hat der Station keine Adresse gegeben',
      help: 'Die Station wurde eingelassen, aber der Router hat keine Adresse vergeben (DHCP). Starte den Router neu und versuche es noch einmal.',
    },
    no_gateway: {
      title: 'In {name} antwortet niemand',
      help: 'Die Station war verbunden und hatte eine Adresse, aber der Router hat nicht geantwortet. Starte den Router neu und versuche es noch einmal.',
    },
    unsupported: {
      title: 'Die Station kann {name} nicht benutzen',
      help: 'Diese Art der Sicherheit funktioniert mit der Station nicht. Stell den Router auf WPA2 oder wähle ein anderes Netzwerk.',
    },
    refused: {
      title: '{name} hat die Station abgewiesen',
      help: 'Vielleicht lässt der Router nur bekannte Geräte ein oder hat keinen Platz mehr. Sieh dir seine Einstellungen an und versuche es noch einmal.',
    },
    timed_out: {
      title: '{name} hat nicht rechtzeitig geantwortet',
      help: 'Vielleicht ist das Signal zu schwach oder das Passwort falsch. Stell die Station näher an den Router und gib das Passwort noch einmal ein.',
    },
    failed: {
      title: 'Die Station konnte sich nicht mit {name} verbinden',
      help: 'Prüfe das Passwort und versuche es noch einmal. Hilft das nicht, schalte die Station aus und wieder ein.',
    },
  },
  problems: {
    form_unreadable: {
      title: 'Das Formular war nicht lesbar',
      help: 'Wähle das Netzwerk und gib das Passwort noch einmal ein.',
    },
    no_network: { title: 'Kein Netzwerk gewählt', help: 'Wähle eines aus der Liste oder „Anderes Netzwerk“.' },
    name_missing: { title: 'Der Name des Netzwerks fehlt', help: 'Gib ihn unter „Anderes Netzwerk“ ein.' },
    name_too_long: {
      title: 'Der Name des Netzwerks ist zu lang',
      help: 'Ein Name hat höchstens 32 Byte: 32 einfache Buchstaben; Umlaute zählen doppelt.',
    },
    password_missing: { title: 'Das Passwort fehlt', help: 'Dieses Netzwerk verlangt eines. Gib es unten ein.' },
    password_length: {
      title: 'Das Passwort kann nicht stimmen',
      help: 'Ein Passwort dieses Netzwerks hat 8 bis 63 Zeichen; Umlaute zählen doppelt. Sieh noch einmal nach.',
    },
    password_characters: {
      title: 'Das Passwort kann nicht stimmen',
      help: 'Es enthält ein Zeichen, das kein WLAN annimmt, etwa einen Tabulator. Wurde es eingefügt?',
    },
    password_too_long: { title: 'Das Passwort ist zu lang', help: 'Höchstens 128 Byte. Sieh noch einmal nach.' },
    enterprise: {
      title: 'Dieses Netzwerk ist nicht nutzbar',
      help: 'Es verlangt von jeder Person einen Namen und ein Passwort (802.1X). Wähle ein Netzwerk mit einem Passwort für alle.',
    },
    wep: {
      title: 'Dieses Netzwerk ist nicht nutzbar',
      help: 'Seine Sicherheit (WEP) ist gebrochen und wird nicht mehr unterstützt. Stell den Router auf WPA2 oder WPA3.',
    },
    code_missing: {
      title: 'Der Code der Station fehlt',
      help: 'Diese Station war schon in einem Netzwerk, deshalb verlangt sie ihren Code. Gib ihn unten ein und das Passwort noch einmal.',
    },
    code_wrong: {
      title: 'Der Code der Station ist falsch',
      help: 'Sieh auf dem Aufkleber nach und gib ihn noch einmal ein, auch das Passwort. Verbleibende Versuche: {left}.',
    },
    code_closed: {
      title: 'Zu viele falsche Codes',
      help: 'Den nächsten Code nimmt die Station in {minutes} min an. Aus- und Einschalten hilft nicht. Bis dahin kannst du sie auch per Kabel verbinden.',
    },
    not_confirmed: {
      title: 'Deine Bestätigung fehlt',
      help: 'Andere in der Nähe können lesen, was du hier sendest. Wenn du einverstanden bist, setze das Häkchen über dem Knopf und gib das Passwort noch einmal ein.',
    },
  },
  leaving: {
    title: 'Die Station verbindet sich gerade automatisch',
    help: 'Ein bekanntes Netzwerk ist wieder da, oder ein Kabel wurde eingesteckt. Ist diese Seite in einer Minute noch da oder kommt sie wieder, wähle dein Netzwerk noch einmal.',
  },
  refused: {
    too_large: {
      title: 'Das war zu viel',
      help: 'Das Formular ist größer, als die Station annimmt. Fülle es noch einmal aus.',
    },
    origin: {
      title: 'Dieses Formular kommt von einer anderen Seite',
      help: 'Nur die Seite der Station selbst funktioniert. Öffne {address} im Browser deines Telefons und fülle das Formular dort aus.',
    },
    content_type: { title: 'Das Formular war nicht lesbar', help: 'Benutze die Seite der Station.' },
    broken: { title: 'In der Station ist ein Fehler aufgetreten', help: 'Versuche es gleich noch einmal.' },
  },
  back: 'Zur Startseite',
};
