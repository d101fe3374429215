export { backendConditionTitle } from '@station/protocol/condition-titles-de';

/** What helps with them. */
export const backendCondition = {
  foreign_station_devices:
    'Sie verwenden die ID einer anderen Station ({{ids}}) und bekommen keine Antwort. Wurde die ID dieser Station geändert oder ging ihre Datenbank verloren, sollte ein Administrator diese ID wieder in der Einstellungsdatei eintragen. Nutzt eine andere Station diesen Broker, ist nichts zu tun.',
  device_logins_missing:
    'Der Nachrichten-Broker hat die Zugangsdaten einiger Geräte verloren ({{ids}}). Stelle die Daten des Brokers wieder her oder richte diese Geräte neu ein.',
  devices_reconnecting:
    'Zwei Platinen haben dieselbe ID ({{ids}}) und trennen einander, oder eine startet immer wieder neu. Schalte eine davon aus, um es herauszufinden, und richte sie mit eigener ID neu ein.',
  automations_broken:
    'Etwas, das sie verwendet, gibt es nicht mehr, zum Beispiel ein entferntes Gerät. Öffne „Automationen“: Was nicht mehr funktioniert, ist dort markiert. Bearbeite es oder schalte es aus.',
  storage_full:
    'Die Station zeigt weiter, was sie hat, und Nachrichten der Geräte warten, bis Platz ist. Gib auf ihrer Festplatte Speicherplatz frei; dann geht es automatisch weiter.',
  storage_unwritable:
    'Die Station zeigt weiter, was sie hat, und Nachrichten der Geräte warten ({{reason}}). Prüfe Festplatte oder SD-Karte oder den Datenbankserver; dann geht es automatisch weiter.',
  storage_low:
    'Etwa {{freeMb}} MB sind frei. Bevor der Platz ausgeht, wird der älteste Verlauf gelöscht; die Zustände der Geräte werden immer gespeichert. Gib Speicherplatz frei oder nimm eine größere Festplatte.',
  backup_failed:
    'Die Station versucht es innerhalb einer Stunde wieder. Was schiefging, steht unter „Einstellungen → Backup“.',
  backup_old:
    'In den letzten drei Tagen entstand kein gutes Backup. Öffne „Einstellungen → Backup“ und erstelle eines.',
  notifications_failing:
    'Nachrichten werden höchstens einen Tag lang erneut gesendet. Öffne „Einstellungen → Benachrichtigungen“ und teste dort den Kanal.',
  clock_untrusted:
    'Ob die Uhrzeit der Station stimmt, ist nicht bekannt. Bis dahin wird nichts wegen seines Alters gelöscht, und neue Zeiten werden später korrigiert. Verbinde die Station mit dem Internet oder stelle ihre Uhr unten.',
} as const;

/** `storage_low`, if the station says what takes the space. */
export const filledDisk = {
  database:
    'Etwa {{freeMb}} MB sind frei. Am meisten Platz belegen die Daten der Station selbst: {{databaseMb}} MB. Bevor der Platz ausgeht, wird der älteste Verlauf gelöscht, höchstens die Hälfte; die Zustände der Geräte werden immer gespeichert. Nimm eine größere Festplatte, oder lass einen Administrator die Obergrenze für die Daten in der Einstellungsdatei senken.',
  other:
    'Etwa {{freeMb}} MB sind frei. Die Daten der Station belegen {{databaseMb}} MB, andere Dateien {{otherMb}} MB: Backups, Images oder andere Programme. Gib Speicherplatz frei oder nimm eine größere Festplatte. Bevor der Platz ausgeht, wird der älteste Verlauf gelöscht, höchstens die Hälfte; die Zustände der Geräte werden immer gespeichert.',
} as const;

/** In place of the help of `storage_unwritable`. */
export const heldDatabase =
  'Die Station zeigt weiter, was sie hat, und Nachrichten der Geräte warten: Ein anderes Programm sperrt die Datenbank. Speichere oder schließe, was darin offen ist; dann geht es automatisch weiter.';
