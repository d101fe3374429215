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

/** German texts of the pages that are fetched after the first one. */
export const later = {
  draft: { found: 'Diese Änderungen sind noch nicht gespeichert.', discard: 'Änderungen verwerfen' },
  activityLog,
  members: {
    title: 'Personen und Gäste',
    count_one: 'Eine Person hat Zugriff auf diese Station.',
    count_other: '{{count}} Personen haben Zugriff auf diese Station.',
    fault: 'Die Mitglieder konnten nicht gelesen werden',
    people: 'Personen',
    you: 'Du',
    change: '{{name}} ändern',
    add: 'Mitglied hinzufügen',
    alone: {
      title: 'Bisher nur du',
      help: 'Füge die Menschen hinzu, mit denen du lebst oder arbeitest. Jeder hat ein eigenes Konto, niemand teilt ein Passwort.',
    },
    readOnly: 'Nur Eigentümer und Administratoren können Personen hinzufügen, ändern oder entfernen. Frag sie.',
    roles: {
      title: 'Was jede Rolle darf',
      owner: 'Alles, auch festlegen, wer Administrator ist.',
      admin:
        'Geräte und Automationen hinzufügen und ändern, die Station aktualisieren, Mitglieder hinzufügen und entfernen.',
      member: 'Alles sehen, Geräte bedienen und Automationen ausführen, aber nichts ändern.',
      limited: 'Geräte bestimmter Bereiche mit ihrem Verlauf sehen und bedienen, sonst nichts.',
      guest: 'Geräte bestimmter Bereiche bis zu einem Zeitpunkt bedienen, den du festlegst. Ohne Verlauf.',
    },
    role: 'Rolle',
    zones: {
      title: 'Bereiche',
      none: 'Noch gibt es keine Bereiche. Ordne die Geräte zuerst Bereichen zu.',
      missing: 'Wähle mindestens einen Bereich.',
      only: 'Nur: {{zones}}',
      gone: 'Diese Bereiche wurden entfernt',
    },
    end: {
      title: 'Zugriff endet',
      tonight: 'Heute um Mitternacht',
      day: 'In einem Tag',
      week: 'In einer Woche',
      date: 'An einem bestimmten Tag',
      when: 'Datum und Uhrzeit',
      zone: 'Zeitzone der Station: {{zone}}',
      past: 'Wähle einen Zeitpunkt in der Zukunft.',
      missing: 'Gib Datum und Uhrzeit ein.',
      until: 'bis {{time}}',
      over: 'geendet {{time}}',
    },
    dialog: {
      add: 'Mitglied hinzufügen',
      name: 'Name',
      email: 'E-Mail',
      emailHelp: 'Zum Anmelden. Es wird nichts dorthin gesendet.',
      passwordComes: 'Die Station erstellt ein erstes Passwort und zeigt es dir einmal.',
      submit: 'Hinzufügen',
      exists: 'Jemand mit dieser Adresse ist schon Mitglied.',
      save: 'Speichern',
      done: 'Fertig',
      newPassword: 'Neues Passwort erstellen',
      newPasswordHelp:
        'Falls {{name}} es vergessen hat. Das alte Passwort und Passkeys gelten nicht mehr, und {{name}} wird überall abgemeldet.',
      remove: 'Von dieser Station entfernen',
    },
    made: {
      added: '{{name}} kann sich jetzt anmelden',
      replaced: 'Neues Passwort für {{name}}',
      help: 'Gib das weiter. Das Passwort wird nur einmal angezeigt; es lässt sich später unter „Konto“ ändern.',
      address: 'Adresse',
      password: 'Passwort',
      copy: 'Kopieren',
      copied: 'Kopiert',
      notCopied: 'Dieser Browser erlaubt hier kein Kopieren. Markiere stattdessen die Zeilen.',
    },
    remove: {
      title: '{{name}} entfernen?',
      help: '{{name}} wird sofort überall abgemeldet und kann diese Station nicht mehr sehen oder bedienen.',
      stays: 'Was eingerichtet wurde, bleibt. Du kannst die Person später wieder hinzufügen.',
      confirm: 'Entfernen',
      keep: 'Behalten',
    },
  },
  appearance: {
    title: 'Darstellung',
    system: 'Wie das Gerät',
    light: 'Hell',
    dark: 'Dunkel',
    help: 'Gilt nur für diesen Browser.',
  },
  settings: {
    title: 'Einstellungen',
    fault: 'Die Einstellungen konnten nicht gelesen werden',
    saved: 'Gespeichert.',
    save: 'Speichern',
    readOnly: 'Nur Eigentümer und Administratoren können die Einstellungen der Station ändern.',
    station: {
      title: 'Diese Station',
      name: 'Name',
      timeZone: 'Zeitzone',
      zoneHere: 'Zeitzone dieses Geräts übernehmen: {{zone}}',
      timeNow: 'Dort ist es jetzt {{time}}. Automationen richten sich nach dieser Uhr.',
    },
    place: {
      title: 'Standort der Station',
      help: 'Für Automationen, die sich nach Sonnenaufgang und -untergang richten. Wird auf der Station gespeichert, auf etwa einen Kilometer genau.',
      city: 'Stadt in der Nähe',
      cities: 'Städte',
      choose: 'Wählen…',
      latitude: 'Breitengrad',
      longitude: 'Längengrad',
      wrong: 'Eine Zahl von −{{most}} bis {{most}}.',
      here: 'Standort dieses Geräts übernehmen',
      refused: 'Dieses Gerät verrät nicht, wo es ist. Wähle eine Stadt oder gib die Zahlen ein.',
      forget: 'Standort vergessen',
    },
    wifi: {
      title: 'WLAN für neue Geräte',
      help: 'Neue Geräte bekommen dieses WLAN und sein Passwort. Geräte, die schon da sind, behalten ihres.',
      current: 'Neue Geräte verbinden sich mit {{ssid}}',
      open: 'Ein offenes WLAN, ohne Passwort.',
      hidden: 'Sein Passwort wird verschlüsselt gespeichert und nie wieder angezeigt.',
      set: 'eingestellt {{time}}',
      none: 'Noch ist kein WLAN eingestellt, deshalb gibst du bei jedem neuen Gerät eines ein.',
      ssid: 'Name des WLANs',
      password: 'Passwort',
      missing: 'Gib das Passwort dieses WLANs ein, auch wenn es dasselbe ist wie vorher.',
      withoutPassword: 'Dieses WLAN hat kein Passwort',
      range: 'Mit WPA2 hat ein Passwort 8 bis 63 Zeichen. Nur mit WPA3 ist es kürzer oder länger.',
      change: 'WLAN ändern',
      choose: 'WLAN einstellen',
      forget: 'Vergessen',
    },
    rows: {
      account: { title: 'Konto', help: 'Passwort, Sprache, Abmelden' },
      household: { title: 'Zuhause und Bereiche', help: 'Name, Zeitzone, Ort, Bereiche' },
      network: { title: 'WLAN und Netzwerk', help: 'Netze in der Nähe, Hotspot, WLAN der Geräte' },
      updates: { title: 'Updates', help: 'Station und Geräte: was läuft, was neu ist' },
      backup: { title: 'Backup', help: 'Erstellen, herunterladen, wiederherstellen, jede Nacht' },
      notifications: { title: 'Benachrichtigungen', help: 'Dieser Browser, E-Mail, Ruhezeiten' },
      members: { title: 'Personen und Gäste', help: 'Wer Zugriff hat' },
      consumers: { title: 'Home Assistant und andere', help: 'Geräte dieser Station in anderen Systemen' },
      cloud: { title: 'Fernzugriff', help: 'Über die Cloud' },
      diagnostics: { title: 'Diagnose und Protokolle', help: 'Was nicht stimmt, Dienste, Rechner, Protokolle' },
      about: { title: 'Über', help: 'Version, Lizenz, deine Daten, Verschlüsselung' },
    },
    zones: {
      title: 'Bereiche',
      none: 'Noch keine Bereiche. Ordne ein Gerät einem neuen Bereich zu.',
      devices_one: '{{count}} Gerät',
      devices_other: '{{count}} Geräte',
    },
    about: {
      title: 'Info',
      release: 'Version',
      agent: 'Update-Dienst',
      stationId: 'Stations-ID',
      licence: 'Lizenz',
      licenceName: 'Apache License 2.0, freie Software',
      data: 'Deine Daten',
      dataHelp:
        'Geräte, Verlauf, Automationen und Personen sind auf der Station selbst gespeichert, in ihrer eigenen Datenbank. Es braucht keine Cloud, und Updates und Rollbacks lassen die Daten unberührt.',
      unknown: 'unbekannt',
    },
  },
  sessions: {
    notEnded: 'Du bist noch angemeldet',
    title: 'Wo du angemeldet bist',
    fault: 'Deine Anmeldungen konnten nicht gelesen werden',
    device: '{{browser}} auf {{system}}',
    unknown: 'Unbekanntes Gerät',
    current: 'Dieser Browser',
    used: 'Zuletzt benutzt {{time}}',
    end: 'Abmelden',
    endNamed: 'Abmelden: {{name}}',
    endHere: 'Nur in diesem Browser.',
    everywhere: 'Überall abmelden',
    everywhereAsk: 'Überall abmelden?',
    everywhereHelp:
      'Jeder Browser und jedes Handy, in dem du angemeldet bist, muss sich neu anmelden, auch dieser. Dein Passwort und deine Passkeys bleiben.',
  },

  password: {
    title: 'Passwort',
    current: 'Jetziges Passwort',
    next: 'Neues Passwort',
    submit: 'Passwort ändern',
    changed: 'Dein Passwort wurde geändert. Auf anderen Geräten bist du abgemeldet.',
    wrong: 'Das jetzige Passwort ist falsch.',
    same: 'Das ist das jetzige Passwort. Wähle ein anderes.',
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
