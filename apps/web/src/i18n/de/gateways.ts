/** Devices of other systems, through a gateway. */
export const gateways = {
  title: 'Andere Systeme',
  lead: 'Zigbee-Geräte kommen über ein Zigbee2MQTT in deinem Netzwerk, Geräte von Tasmota, Shelly und ESPHome von selbst. Du siehst, schaltest und automatisierst sie wie alle anderen.',
  fault: 'Die Verbindungen konnten nicht gelesen werden',
  heard: {
    title: 'Gehört und nicht verbunden',
    help: 'Nur am Topic erkannt. Verbinde nur, was dir gehört.',
    refused:
      'wollte sich {{time}} als {{topic}} anmelden und wurde abgewiesen. Es braucht einen Zugang, den du hier anlegst und dort einträgst.',
    published: '{{time}} an deinem Broker gesehen, als {{topic}}',
    connect: 'Verbinden',
  },
  connect: 'System verbinden',
  connectAnother: 'Ein weiteres System verbinden',
  system: 'System',
  name: 'Name',
  baseTopic: 'Base-Topic',
  discoveryPrefix: 'Discovery-Präfix',
  discoveryHelp:
    'Wo die Geräte sich ankündigen. Ein anderes, wenn Home Assistant die Station sieht: Er nutzt „homeassistant“.',
  make: 'Zugang anlegen',
  systems: {
    zigbee2mqtt: {
      topic: 'Wie in seinen eigenen Einstellungen. Buchstaben, Ziffern, -, _ und /.',
      sheet: 'Trage diese Werte in die Einstellungen von Zigbee2MQTT ein, Abschnitt „mqtt“.',
      limits:
        'Die Station nimmt eine Liste von etwa 40 Geräten an; bei mehr trennt ihr üblicher Broker die Verbindung.',
    },
    tasmota: {
      topic: 'Lass „tasmota“ stehen: Darunter melden sich die Geräte an, und sie nutzen außerdem tele, stat und cmnd.',
      sheet:
        'Auf der Seite jedes Geräts: Einstellungen → MQTT konfigurieren. Host und Port sind Teile der Server-Adresse; das Base-Topic lässt du weg. Alle Geräte nutzen diesen Zugang.',
      limits:
        'Jedes Gerät braucht ein eigenes Topic, das FullTopic %prefix%/%topic%/ und SetOption19 0 (die Voreinstellung). Tastendrücke kommen mit SetOption73 1.',
    },
    shelly: {
      topic: 'Jedes Gerät bekommt darunter ein MQTT-Präfix, etwa shelly/boiler. Buchstaben, Ziffern, -, _ und /.',
      sheet:
        'Auf der Seite jedes Geräts: Settings → MQTT. Server ohne mqtt://, Client-ID wie sie ist, MQTT prefix: das Base-Topic, ein Schrägstrich und ein eigener Name. „RPC status notifications“ bleibt an. Alle Geräte nutzen diesen Zugang.',
      limits:
        'Ab Gen2, mit MQTT. Die erste Generation ist ein eigenes System. Ein Gerät, das schläft, erscheint, wenn es aufwacht.',
    },
    shelly_gen1: {
      topic: 'Lass „shellies“ stehen: Geräte dieser Generation kennen kein anderes.',
      sheet:
        'Auf der Seite jedes Geräts: Internet & Security → Advanced – Developer settings → Enable MQTT. Server ohne mqtt://; das Base-Topic lässt du weg. Alle Geräte nutzen diesen Zugang.',
      limits:
        'Ein Gerät erscheint mit dem, was es meldet. MQTT und die Cloud von Shelly schließen einander aus. Von den Thermostaten wird das Heizkörperventil übernommen.',
    },
    home_assistant: {
      topic: 'Jedes Gerät bekommt darunter ein Topic-Präfix, etwa esphome/kueche. Buchstaben, Ziffern, -, _ und /.',
      sheet:
        'Im YAML jedes Geräts, Abschnitt „mqtt“: broker und port aus der Server-Adresse, username und password, discovery_prefix, und als topic_prefix das Base-Topic, ein Schrägstrich und ein eigener Name. Alle Geräte nutzen diesen Zugang.',
      limits:
        'ESPHome und andere, die sich Home Assistant ankündigen. Werte mit einer Vorlage, die rechnet, werden nicht übernommen, Topics außerhalb der beiden Bäume auch nicht.',
    },
  },
  states: { waiting: 'Noch nichts gehört', online: 'Verbunden', offline: 'Offline' },
  devices_one: '{{count}} Gerät',
  devices_other: '{{count}} Geräte',
  notSupported: 'Nicht unterstützt: {{number}}',
  notSupportedMore: 'und {{number}} weitere',
  refusals: {
    template: 'hat eine Vorlage: Sein Wert müsste berechnet werden',
    kind: 'ein Teil, das die Station nicht kennt',
    outside: 'nutzt Topics außerhalb der eigenen dieses Systems',
    incomplete: 'sagt zu wenig über sich oder heißt, wie hier nichts heißen kann',
    group: 'eine Gruppe, deren Mitglieder nichts gemeinsam haben oder nicht bekannt sind',
    elsewhere: 'kommt schon über ein anderes System',
    no_room: 'kein Platz: Es sind schon zu viele',
    too_large: 'seine Nachricht ist zu groß',
  },
  renew: 'Neues Passwort',
  renewTitle: 'Neues Passwort für {{name}}?',
  renewHelp: 'Das jetzige gilt sofort nicht mehr. Das Gateway ist offline, bis dort das neue eingetragen ist.',
  remove: 'Trennen',
  removeTitle: '{{name}} trennen?',
  removeHelp_one: 'Sein Gerät verlässt die Station, mit seinem Verlauf.',
  removeHelp_other: 'Seine {{count}} Geräte verlassen die Station, mit ihrem Verlauf.',
  sheet: 'Zugang für {{name}}',
  sheetHelp: 'Das Passwort wird nur jetzt gezeigt. Geräte erscheinen nach einigen Sekunden.',
  notMade:
    'Ein anderes System verwaltet die Zugänge deines Brokers. Lege diesen Zugang dort an, für die Topics dieses Systems und alles darunter.',
} as const;
