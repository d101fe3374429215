/** The page that makes a phone or computer trust the station. */
export const secure = {
  title: 'Verschlüsselte Verbindung',
  checking: 'Diese Verbindung wird geprüft',
  on: 'Diese Verbindung ist verschlüsselt. Andere in deinem Netzwerk können nicht mitlesen.',
  other: 'Um ein weiteres Gerät einzurichten, öffne darauf {{address}}.',
  possible:
    'Diese Verbindung ist nicht verschlüsselt: Andere in deinem Netzwerk könnten mitlesen. Drei Schritte ändern das, einmal für jedes Gerät.',
  off: 'Auf dieser Station ist die Verschlüsselung ausgeschaltet. Ein Administrator kann sie in der Einstellungsdatei der Station einschalten.',
  fault: 'Die Station antwortet nicht, deshalb konnte die Verbindung nicht geprüft werden.',
  device: 'Dein Gerät',
  devices: {
    iphone: 'iPhone oder iPad',
    android: 'Android',
    windows: 'Windows',
    mac: 'Mac',
    linux: 'Linux',
    firefox: 'Firefox auf einem Computer',
  },
  download: { title: 'Lade das Zertifikat dieser Station herunter', link: 'Herunterladen' },
  install: {
    title: 'Installiere es',
    iphone:
      'Öffne diese Seite zum Herunterladen in Safari. Dann Einstellungen → Profil geladen → Installieren. Zuletzt Einstellungen → Allgemein → Info → Zertifikatsvertrauenseinstellungen: Schalte das mit dem Namen Station ein.',
    android:
      'Einstellungen → Sicherheit und Datenschutz → Weitere Sicherheitseinstellungen → Verschlüsselung und Anmeldedaten → Zertifikat installieren → CA-Zertifikat → Trotzdem installieren. Wähle die Datei ca.crt. Heißt ein Menü anders, suche in den Einstellungen nach „CA-Zertifikat“.',
    windows:
      'Öffne die Datei ca.crt → Zertifikat installieren → Aktueller Benutzer → Alle Zertifikate in folgendem Speicher speichern → Vertrauenswürdige Stammzertifizierungsstellen → Fertig stellen, und bestätige die Warnung mit Ja. Starte dann den Browser neu.',
    mac: 'Öffne die Datei ca.crt und füge sie der Schlüsselbundverwaltung hinzu. Doppelklicke dort auf das mit dem Namen Station und wähle unter „Vertrauen“ die Option „Immer vertrauen“.',
    linux:
      'In Chrome: Einstellungen → Datenschutz und Sicherheit → Sicherheit → Zertifikate verwalten → Benutzerdefiniert → Vertrauenswürdige Zertifikate → Importieren, und wähle ca.crt.',
    firefox:
      'Einstellungen → Datenschutz & Sicherheit → Zertifikate → Zertifikate anzeigen → Zertifizierungsstellen → Importieren. Wähle ca.crt und erlaube, damit Websites zu identifizieren.',
  },
  open: {
    title: 'Öffne die verschlüsselte Seite',
    link: 'Prüfen und öffnen',
    busy: 'Wird geprüft',
    untrusted:
      'Dieser Browser vertraut dem Zertifikat noch nicht. Prüfe Schritt 2; manche Browser musst du neu starten.',
    bookmark: 'Setze ein Lesezeichen auf {{address}}. Ab jetzt kommt dieses Gerät automatisch dorthin.',
    typed: 'Die Adresse beginnt mit https:// und endet mit dem Port, den das Installationsprogramm angezeigt hat.',
  },
  harmless: 'Das Zertifikat gilt nur für diese Station: für Adressen in einem Heimnetz und für keine Website.',
  row: { on: 'Diese Verbindung ist verschlüsselt', off: 'Diese Verbindung ist nicht verschlüsselt' },
} as const;
