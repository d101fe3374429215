/** Devices that want to connect and that the station does not have. */
export const unknownDevices = {
  title: 'Unbekannte Geräte',
  lead: 'Sie wollen sich verbinden, aber diese Station kennt sie nicht. Sie warten und bekommen keine Antwort, bis du entscheidest.',
  fault: 'Die unbekannten Geräte konnten nicht gelesen werden',
  empty: {
    title: 'Es wartet kein Gerät',
    help: 'Ein Gerät, das diese Station nicht kennt, erscheint hier, wenn es sich verbinden will.',
  },
  waiting: 'Wartend',
  accepted: 'Zugelassen',
  blocked: 'Blockiert',
  blockedHelp: 'Sie bekommen keine Antwort, und niemand wird über sie benachrichtigt.',
  noType: 'Typ noch nicht bekannt',
  seen: 'zuletzt gesehen {{time}}',
  firstSeen: 'zuerst gesehen {{time}}',
  firmware: 'Firmware {{version}}',
  loginRefused:
    'Es wollte sich mit einem Passwort anmelden, das die Station nicht kennt. Wenn du es zulässt, vertraut die Station seiner nächsten Anmeldung.',
  contested:
    'Mehrere Geräte geben sich als dieses aus, deshalb kannst du es nicht zulassen. Vergiss es und schalte das falsche aus.',
  until: 'Es wird hinzugefügt, sobald es sich wieder anmeldet, bis {{time}}.',
  accept: 'Zulassen…',
  block: 'Blockieren',
  unblock: 'Freigeben',
  forget: 'Vergessen',
  ofDevice: '{{action}}: {{id}}',
  done: '{{name}} ist zugelassen.',
  dialog: {
    title: 'Dieses Gerät hinzufügen?',
    help: 'Lass es nur zu, wenn es deins ist. Es kann dann Werte melden und Befehle ausführen.',
    name: 'Name',
    confirm: 'Hinzufügen',
    conflict: 'Mehrere Geräte geben sich als dieses aus. Vergiss es und versuche es noch einmal.',
  },
} as const;
