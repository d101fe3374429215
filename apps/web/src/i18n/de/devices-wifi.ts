/** Bringing the devices to another Wi-Fi. */
export const devicesWifi = {
  title: 'WLAN der Geräte wechseln',
  help: 'Geräte, die online sind, bekommen das neue WLAN und wechseln dorthin. Tu das, solange das alte WLAN noch läuft, und schalte es erst danach ab.',
  fault: 'Der Wechsel des WLANs konnte nicht gelesen werden',
  offer:
    'Die Station ist jetzt in „{{ssid}}“. Ihre Geräte sind vielleicht noch im alten WLAN, und auch neue bekommen es, bis du entscheidest.',
  useStation: 'Zu „{{ssid}}“ mitnehmen',
  other: 'Anderes WLAN…',
  dismiss: 'Nicht jetzt',
  start: 'WLAN wechseln',
  cancel: 'Anhalten',
  cancelHelp: 'Kein weiteres Gerät bekommt das neue WLAN. Wer es schon hat, kann noch wechseln.',
  progress: 'Geräte, die gewechselt haben',
  head: {
    running: 'Wechsel zu „{{ssid}}“: {{done}} von {{total}} sind da',
    ended: 'Alle {{total}} Geräte sind in „{{ssid}}“',
    partly: '{{done}} von {{total}} Geräten sind in „{{ssid}}“',
    cancelled: 'Angehalten: {{done}} von {{total}} Geräten sind in „{{ssid}}“',
    none: 'Kein Gerät muss zu „{{ssid}}“ wechseln',
  },
  started: 'begonnen {{time}}',
  ended: 'beendet {{time}}',
  state: {
    waiting: 'Noch nicht gesendet',
    told: 'Gesendet, noch nicht angekommen',
    followed: 'Gewechselt',
    not_followed: 'Nicht angekommen',
    not_told: 'Nicht gesendet',
    offline: 'Offline',
  },
  advice: {
    not_followed:
      'Nicht angekommen: Schalte das alte WLAN wieder ein, prüfe das Passwort und versuche es noch einmal. Hilft das nicht, richte das Gerät neu ein.',
    not_told: 'Nicht gesendet: Diese Geräte bleiben im alten WLAN. Versuche es noch einmal.',
    offlineRunning: 'Offline: Sie bekommen das neue WLAN, wenn sie online kommen, solange der Wechsel läuft.',
    offline: 'Offline: Sie bleiben im alten WLAN. Schalte sie ein, solange es läuft, und versuche es noch einmal.',
  },
  showFollowed_one: '{{count}} gewechseltes Gerät anzeigen',
  showFollowed_other: '{{count}} gewechselte Geräte anzeigen',
  hideFollowed: 'Gewechselte Geräte ausblenden',
  gone: 'ein entferntes Gerät',
} as const;
