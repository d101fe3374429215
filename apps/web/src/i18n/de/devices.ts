/** Tiles, pages and activity of devices. */
export const devices = {
  device: {
    back: 'Start',
    details: '{{name}}: Details',
    more: 'Einzelheiten',
    sliderOf: '{{what}}, {{name}}',
    waiting: 'Warten auf das Gerät…',
    offlineSince: 'Offline, zuletzt gesehen {{time}}',
    fault: 'Die Geräte konnten nicht gelesen werden',
    faulty: 'Sendet unlesbare Daten',
    broken: '{{name}} kann nicht angezeigt werden: Was es meldet, ist fehlerhaft.',
    status: { online: 'online', offline: 'offline', unknown: 'noch nicht gesehen' },
    refused: {
      noAnswer: 'Keine Antwort. Ob es geklappt hat, ist nicht bekannt. Wenn nicht, versuche es noch einmal.',
      notSent: 'Die Station hat nicht geantwortet. Versuche es noch einmal.',
      failed: 'Das Gerät war nicht erreichbar, es hat sich nichts geändert. Versuche es noch einmal.',
    },
    capability: {
      power: 'Zustand',
      brightness: 'Helligkeit',
      temperature: 'Temperatur',
      humidity: 'Luftfeuchte',
      motion: 'Bewegung',
      battery: 'Batterie',
    },
    value: {
      yes: 'Ja',
      no: 'Nein',
    },
    event: {
      some: 'Etwas ist passiert',
      ota_failed: 'Firmware-Update fehlgeschlagen',
      type_differs: 'Meldet einen anderen Gerätetyp',
    },
    activity: {
      title: 'Aktivität',
      empty: 'Noch ist nichts passiert.',
      older: 'Ältere anzeigen',
      fresh_one: '{{count}} neues Ereignis anzeigen',
      fresh_other: '{{count}} neue Ereignisse anzeigen',
    },
  },
  activity: {
    title: 'Aktivität',
    removed: 'Entferntes Gerät',
    automation: 'Automation',
  },
} as const;
