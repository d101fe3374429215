import type { FindingTexts } from '../en/findings.ts';

/** What a check of the diagnostics found, and what to do about it. */
export const finding: FindingTexts = {
  check_failed: {
    message: 'Das ließ sich nicht prüfen: {{reason}}.',
    help: 'Prüfe noch einmal. Bleibt es dabei, sagt vielleicht das Protokoll des Programms mehr.',
  },
  follows: {
    message: 'Die Ursache ist ein anderer Befund dieses Berichts ({{cause}}).',
    help: 'Behebe den zuerst und prüfe dann noch einmal.',
  },
  certificate_missing: {
    message: 'In {{folder}} ist kein Zertifikat, deshalb hat die Web-App kein HTTPS.',
    help: 'Der Agent erstellt es innerhalb einer Minute. Bleibt es dabei, steht der Grund im Protokoll des Agents (certificate_failed).',
  },
  certificate_expired: {
    message: 'Das Zertifikat der Station gilt von {{from}} bis {{until}}, also jetzt nicht.',
    help: 'Prüfe die Uhr des Rechners. Der Agent erneuert das Zertifikat, wenn er läuft.',
  },
  authority_renewed: {
    message:
      'Die Zertifizierungsstelle der Station wurde erneuert. Handys und Rechner mit dem alten Zertifikat vertrauen ihr bis {{until}}.',
    help: 'Öffne auf jedem davon vor diesem Tag /secure und installiere das Zertifikat noch einmal.',
  },
  public_certificate_missing: {
    message: 'Für {{name}} gibt es kein Zertifikat: {{reason}}.',
    help: 'Der Name muss aus dem Internet zu dieser Station führen, und der Router muss Port 80 oder 443 an sie weiterleiten. Der Proxy versucht es automatisch wieder. HTTP und das eigene Zertifikat funktionieren solange.',
  },
  public_certificate_ending: {
    message: 'Das Zertifikat für {{name}} gilt bis {{until}} und wird nicht erneuert: {{reason}}.',
    help: 'Der Name muss aus dem Internet zu dieser Station führen, und der Router muss Port 80 oder 443 an sie weiterleiten. Der Proxy versucht es automatisch wieder.',
  },
  public_certificate_ended: {
    message: 'Das Zertifikat für {{name}} ist am {{until}} abgelaufen und wurde nicht erneuert: {{reason}}.',
    help: 'Prüfe die Uhr des Rechners. Der Name muss aus dem Internet zu dieser Station führen, und der Router muss Port 80 oder 443 an sie weiterleiten. HTTP und das eigene Zertifikat funktionieren solange.',
  },
  backup_disk_missing: {
    message: 'In {{folder}} (BACKUP_DIR) ist kein Datenträger eingehängt: Sicherungen bleiben auf dem der Station.',
    help: 'Stecke den Stick ein oder hänge die Freigabe ein, und prüfe, was sie einhängt (/etc/fstab). Oder entferne BACKUP_DIR.',
  },
  backup_disk_not_writable: {
    message:
      'Der Datenträger in {{folder}} (BACKUP_DIR) nimmt keine Sicherungen an: Benutzer {{user}} darf dort nicht schreiben.',
    help: 'Mach diesen Benutzer mit chown zum Eigentümer; hänge einen Stick mit FAT oder exFAT mit uid={{user}} ein. Ein schreibgeschützter Datenträger hat Fehler oder einen Schalter dafür.',
  },
  backup_disk_fat: {
    message: 'Der Datenträger in {{folder}} hat das Dateisystem FAT: Keine Datei darauf kann größer als 4 GB sein.',
    help: 'Eine größere Sicherung passt nicht darauf, auch wenn genug Platz frei ist. Formatiere ihn mit exFAT oder ext4, bevor die Sicherungen so groß werden.',
  },
  backup_disk_exfat: {
    message:
      'Der Datenträger in {{folder}} hat das Dateisystem exFAT, das kein Journal führt: Wird er während einer Sicherung abgezogen oder stromlos, können Dateien verloren gehen.',
    help: 'Hänge ihn aus, bevor du ihn abziehst. Mit ext4 behält er, was er hatte.',
  },
  local_name_missing: {
    message: 'Die Station hat keinen Namen in ihrem Netzwerk (mDNS): Man findet sie nur über ihre Adresse.',
    help: 'systemctl restart avahi-daemon; im Protokoll des Dienstes steht, warum er nicht läuft.',
  },
  security_updates_pending: {
    message: 'Sicherheitsupdates für {{count}} Pakete des Rechners sind nicht installiert: {{packages}}.',
    help: 'apt-get upgrade installiert sie. Das Paket unattended-upgrades tut es automatisch.',
  },
  config_invalid: {
    message: '{{problem}}.',
    help: 'Korrigiere die Umgebungsdatei. Alle Variablen stehen in docs/configuration.md.',
  },
  config_file_unusable: {
    message: '{{file}} ({{variable}}) ist nicht verwendbar: {{reason}}.',
    help: 'Korrigiere die Datei oder den Pfad in der Umgebungsdatei.',
  },
  disk_full: {
    message: 'In {{folder}} sind nur noch {{free}} von {{size}} frei.',
    help: 'Gib Speicherplatz frei: alte Protokolle, heruntergeladene Pakete, Images ohne Namen. Die Befehle stehen in docs/operations.md.',
  },
  disk_nearly_full: {
    message: 'In {{folder}} sind noch {{free}} von {{size}} frei.',
    help: 'Gib bald Speicherplatz frei: alte Protokolle, heruntergeladene Pakete, Images ohne Namen. Die Befehle stehen in docs/operations.md.',
  },
  disk_files_used_up: {
    message: 'Im Dateisystem von {{folder}} ist nur noch Platz für {{free}} weitere Dateien.',
    help: 'Entferne kleine Dateien, zum Beispiel alte Protokolle und Pakete. Mehr Speicherplatz hilft nicht.',
  },
  disk_read_only: {
    message: 'Das Dateisystem von {{folder}} ({{device}}) ist schreibgeschützt.',
    help: 'Das tut der Kernel nach Fehlern der Festplatte. Sichere die Daten jetzt, dann starte die Station neu. Passiert es wieder, ersetze die Karte oder Festplatte.',
  },
  disk_errors: {
    message:
      'Der Kernel zählte {{count}} Fehler im Dateisystem auf {{device}}; den ersten {{first}}, den letzten {{last}}.',
    help: 'Sichere die Daten und ersetze die Karte oder Festplatte. Nach einer Reparatur mit e2fsck beginnt der Zähler wieder bei null.',
  },
  disk_worn: {
    message: 'Der Speicher {{device}} hat {{percent}} % seiner erwarteten Lebensdauer verbraucht.',
    help: 'Plane, ihn zu ersetzen.',
  },
  disk_worn_out: {
    message: 'Der Speicher {{device}} ist am Ende seiner Lebensdauer.',
    help: 'Sichere die Daten und ersetze ihn jetzt.',
  },
  clock_wrong: {
    message: 'Die Uhr zeigt {{now}}, aber etwas wurde um {{known}} geschrieben.',
    help: 'Verbinde die Station mit dem Internet, damit die Netzwerkzeit (NTP) die Uhr stellt, oder stelle sie manuell.',
  },
  clock_not_synchronised: {
    message: 'Die Uhr ist nicht mit der Netzwerkzeit (NTP) abgeglichen.',
    help: 'Verbinde die Station mit dem Internet; vielleicht blockiert der Router oder das Netzwerk NTP (UDP-Port 123).',
  },
  name_unresolved: {
    message: 'Der Name {{host}} lässt sich nicht auflösen ({{reason}}).',
    help: 'Prüfe das Netzwerk der Station und ihren Nameserver (DNS).',
  },
  data_folder_missing: {
    message: 'Den Datenordner {{folder}} gibt es nicht.',
    help: 'Das Backend legt ihn beim ersten Start an. Lief es schon einmal, prüfe DATA_DIR und was dort eingehängt ist.',
  },
  data_folder_not_writable: {
    message: 'In den Datenordner {{folder}} lässt sich nicht schreiben.',
    help: 'Er muss dem Benutzer gehören, unter dem das Backend läuft.',
  },
  open_to_others: {
    message: '{{file}} ist für andere Benutzer lesbar (Rechte {{mode}}).',
    help: 'Erlaube nur seinem Eigentümer den Zugriff: chmod go= und der Dateiname.',
  },
  owner_differs: {
    message: '{{file}} gehört dem Benutzer {{owner}}, der Datenordner dem Benutzer {{expected}}.',
    help: 'Gib sie mit chown demselben Benutzer; sonst kann das Backend sie nicht verwenden.',
  },
  key_damaged: {
    message: '{{file}} enthält keinen Schlüssel.',
    help: 'Stelle die Datei aus einem Backup wieder her. Ohne sie erstellt das Backend einen neuen Schlüssel: Alle melden sich neu an, und geheime Einstellungen (WLAN, Cloud) müssen neu eingegeben werden.',
  },
  database_missing: {
    message: 'Die Datenbank {{file}} gibt es nicht.',
    help: 'Das Backend legt sie beim nächsten Start an oder stellt die neueste gute Kopie wieder her.',
  },
  database_damaged: {
    message: 'Die Datenbank {{file}} ist beschädigt: {{reason}}.',
    help: 'Starte das Backend neu: Es behält die beschädigte Datei und stellt die neueste gute Kopie wieder her. Prüfe dann den Zustand der Festplatte.',
  },
  database_unreadable: {
    message: 'Die Datenbank {{file}} ist nicht lesbar: {{reason}}.',
    help: 'Prüfe ihre Rechte und den Zustand der Festplatte.',
  },
  database_not_read: {
    message: 'Die Datenbank ist groß ({{size}}); nur ihr Anfang wurde geprüft.',
    help: 'Die Diagnose auf der Kommandozeile der Station liest sie ganz.',
  },
  database_unreachable: {
    message: 'Die Datenbank auf {{host}} antwortet nicht: {{reason}}.',
    help: 'Prüfe das Protokoll des Datenbankservers und DATABASE_URL.',
  },
  database_suspected: {
    message: 'Das Backend bemerkte ein Anzeichen für Beschädigung: {{reason}}.',
    help: 'Starte das Backend neu: Es prüft die ganze Datei und stellt bei Bedarf die neueste gute Kopie wieder her.',
  },
  database_replacement_unfinished: {
    message: 'Das Ersetzen einer beschädigten Datenbank wurde unterbrochen.',
    help: 'Starte das Backend neu: Es schließt das Ersetzen ab.',
  },
  database_was_damaged: {
    message: 'Eine beschädigte Datenbank wurde durch eine Kopie ersetzt; sie liegt noch als {{file}} vor.',
    help: 'Prüfe den Zustand der Festplatte. Lösche die Datei, wenn du sie nicht mehr brauchst.',
  },
  database_was_lost: {
    message: 'Die Datenbank war beschädigt, und keine Kopie war gut; die beschädigte liegt als {{file}} vor.',
    help: 'Behalte diese Datei: Sie kann alles sein, was übrig ist. Öffne die Web-App und stelle ein Backup wieder her.',
  },
  database_newer: {
    message: 'Eine neuere Version hat die Datenbank geändert ({{migrations}}).',
    help: 'Nichts, solange alles funktioniert: Nach einem Rollback ist das normal.',
  },
  database_behind: {
    message: 'Die Datenbank wartet auf Änderungen dieser Version ({{migrations}}).',
    help: 'Starte das Backend: Es nimmt sie vor.',
  },
  copies_missing: {
    message: 'Es gibt keine Kopie der Datenbank.',
    help: 'Das Backend erstellt täglich eine, solange es läuft. Fehlt sie nach einem Tag, steht der Grund in seinem Protokoll (database_copy_failed).',
  },
  copies_old: {
    message: 'Die neueste Kopie der Datenbank ist {{days}} Tage alt.',
    help: 'Das Backend erstellt täglich eine, solange es läuft. Warum nicht, steht in seinem Protokoll (database_copy_failed).',
  },
  copy_damaged: {
    message: 'Die Kopie {{file}} ist beschädigt: {{reason}}.',
    help: 'Prüfe den Zustand der Festplatte. Lösche diese Kopie; das Backend erstellt innerhalb eines Tages eine neue.',
  },
  broker_unreachable: {
    message: 'Der MQTT-Broker {{broker}} antwortet nicht: {{reason}}.',
    help: 'Prüfe den Dienst des Brokers, sein Protokoll und MQTT_URL.',
  },
  broker_refuses: {
    message: 'Der MQTT-Broker {{broker}} lehnt die Anmeldung des Backends ab: {{reason}}.',
    help: 'MQTT_USERNAME und MQTT_PASSWORD müssen die sein, die der Broker kennt. Im mitgelieferten Stack starte den Dienst mqtt neu.',
  },
  broker_not_listening: {
    message: 'Das Backend läuft, aber am Port seines Brokers ({{port}}) lauscht nichts.',
    help: 'Prüfe das Protokoll des Backends, dann starte es neu.',
  },
  port_taken: {
    message: 'Ein anderes Programm verwendet Port {{port}}.',
    help: 'Beende dieses Programm oder wähle in der Umgebungsdatei einen anderen Port.',
  },
  backend_stopped: {
    message: 'Das Backend läuft nicht.',
    help: 'Starte es. Endet es wieder, steht der Grund in seinem Protokoll.',
  },
  backend_unhealthy: {
    message: 'Das Backend läuft, aber gestört: {{reason}}.',
    help: 'Die anderen Prüfungen und das Protokoll des Backends sagen mehr.',
  },
  agent_unreachable: {
    message: 'Der Update-Dienst antwortet nicht unter {{address}}: {{reason}}.',
    help: 'Prüfe diesen Dienst: systemctl status station-agent. Updates und WLAN brauchen ihn, Geräte nicht.',
  },
  agent_refuses: {
    message: 'Der Update-Dienst lehnt das Token des Backends ab.',
    help: 'AGENT_TOKEN muss in den Umgebungsdateien des Update-Dienstes und des Stacks gleich sein.',
  },
  web_app_incomplete: {
    message: '{{file}} der Web-App fehlt.',
    help: 'Installiere die Version noch einmal oder baue die Web-App neu. WEB_DIR muss ihren Ordner nennen.',
  },
  config_doubtful: {
    message: '{{problem}}.',
    help: 'Korrigiere die Umgebungsdatei des Update-Dienstes, dann starte ihn neu.',
  },
  environment_open_to_others: {
    message: '{{file}} ist für andere Benutzer lesbar (Rechte {{mode}}) und enthält Geheimnisse.',
    help: 'Erlaube nur seinem Eigentümer den Zugriff: chmod 600 und der Dateiname.',
  },
  state_missing: {
    message: 'In {{folder}} ist kein Journal: Es ist noch keine Version installiert.',
    help: 'Der Update-Dienst installiert die erste Version, sobald er den Update-Server erreicht.',
  },
  state_damaged: {
    message: 'Das Journal in {{folder}} ist beschädigt: {{reason}}.',
    help: 'Starte den Update-Dienst neu: Er behält die beschädigte Datei und liest den Zustand aus dem laufenden Stack. Prüfe dann den Zustand der Festplatte.',
  },
  state_unreadable: {
    message: 'Der Zustand in {{folder}} ist nicht lesbar: {{reason}}.',
    help: 'Führe die Diagnose als root aus. Prüfe den Zustand der Festplatte.',
  },
  state_file_stale: {
    message: '{{file}} stimmt nicht mit dem Journal überein.',
    help: 'Starte den Update-Dienst neu: Er schreibt die Datei neu.',
  },
  unit_inactive: {
    message: 'Der Dienst station-agent läuft nicht (Zustand: {{state}}).',
    help: 'Starte ihn: systemctl start station-agent. Warum er endete, steht in seinem Protokoll.',
  },
  unit_not_enabled: {
    message: 'Der Dienst station-agent startet nicht mit der Station (Zustand: {{state}}).',
    help: 'Aktiviere ihn: systemctl enable station-agent',
  },
  engine_unreachable: {
    message: 'Docker antwortet nicht: {{reason}}.',
    help: 'Starte ihn neu: systemctl restart docker. Warum er nicht läuft, steht in seinem Protokoll.',
  },
  compose_fails: {
    message: 'Compose kann den Stack in {{folder}} nicht lesen: {{reason}}.',
    help: 'Korrigiere docker-compose.yml oder deren .env, oder installiere das Compose-Plugin von Docker.',
  },
  image_files_unsynced: {
    message:
      'containerd schreibt die Dateien eines Images nicht auf die Festplatte, bevor ein Download endet: Nach einem Stromausfall können sie leer sein.',
    help: 'Setze in /etc/containerd/config.toml unter diff-service sync_fs = true, und starte containerd und Docker neu.',
  },
  image_missing: {
    message: 'Das Image von {{service}} ({{version}}) fehlt.',
    help: 'Starte die Station neu, während sie die Registry erreicht: Der Update-Dienst lädt das Image wieder.',
  },
  rollback_image_missing: {
    message: 'Das Image von {{service}} der vorherigen Version {{version}} fehlt: Ein Rollback braucht das Netzwerk.',
    help: 'Nichts. Das nächste Update behält wieder eine vollständige vorherige Version.',
  },
  service_not_running: {
    message: 'Der Dienst {{service}} läuft nicht (Zustand: {{state}}).',
    help: 'Prüfe sein Protokoll mit docker compose logs. Bleibt es dabei, starte die Station neu: Der Update-Dienst startet ihn.',
  },
  network_manager_missing: {
    message: 'NetworkManager läuft nicht: Der Update-Dienst kann das WLAN nicht verwalten.',
    help: 'Starte ihn: systemctl start NetworkManager. Braucht die Station kein WLAN, setze WIFI_WATCHDOG=false.',
  },
  wifi_device_missing: {
    message: 'Den WLAN-Adapter {{device}} gibt es nicht.',
    help: 'Prüfe WIFI_INTERFACE, ob der Adapter eingesteckt und ob sein Treiber geladen ist.',
  },
  wifi_blocked: {
    message: 'Das WLAN-Funkmodul ist ausgeschaltet.',
    help: 'Schalte es ein: rfkill unblock wifi. Manche Funkmodule brauchen WIFI_COUNTRY.',
  },
  release_server_silent: {
    message: 'Die Versionsliste {{url}} ist nicht abrufbar: {{reason}}.',
    help: 'Prüfe die Internetverbindung und UPDATE_SERVER_URL. Zuhause funktioniert alles auch ohne.',
  },
  port_80_taken: {
    message: 'An Port 80 antwortet etwas, aber nicht diese Station: {{reason}}.',
    help: 'Ein anderes Programm belegt Port 80. Beende es oder gib dem Proxy mit HTTP_PORT einen anderen Port.',
  },
  dns_port_taken: {
    message:
      'Ein DNS-Server belegt Port 53 auf allen Adressen: Telefone kommen nicht zur Einrichtungsseite des Hotspots.',
    help: 'Binde diesen Server nur an die Adressen, die er bedient.',
  },
  backend_silent: {
    message: 'Das Backend unter {{url}} ist gestört: {{reason}}.',
    help: 'Prüfe die Dienste des Stacks und das Protokoll des Backends.',
  },
};
