import { agentConditionTitle as title } from '@station/protocol/condition-titles-de';

/** What went wrong: conditions of the station, errors of requests. */
export const problems = {
  condition: {
    agent_open_on_network: {
      title: title.agent_open_on_network,
      help: 'Ein Administrator sollte in der Einstellungsdatei des Agents ein Token dafür setzen oder den Dienst nur auf diesem Rechner lauschen lassen.',
    },
    clock_behind: {
      title: title.clock_behind,
      help: 'Bis sie stimmt, können sichere Verbindungen scheitern. Sie wird automatisch gestellt, sobald das Internet erreichbar ist.',
    },
    disk_space_low: {
      title: title.disk_space_low,
      help: 'Gib auf der Station Speicherplatz frei. Danach wird das Update automatisch wiederholt.',
    },
    updates_unsigned: {
      title: title.updates_unsigned,
      help: 'Nichts beweist, woher eine neue Version kommt. Ein Administrator sollte den öffentlichen Schlüssel des Herausgebers in der Einstellungsdatei des Agents eintragen. Bis dahin wird eine Version von einer http://-Adresse nur auf deinen Wunsch installiert.',
    },
    agent_too_old: {
      title: title.agent_too_old,
      help: 'Führe das Installationsskript auf der Station noch einmal aus. Geräte und Einstellungen bleiben erhalten.',
    },
    compose_not_linked: {
      title: title.compose_not_linked,
      help: 'Die Umgebungsdatei des Stacks konnte nicht geschrieben werden. Prüfe die Rechte ihres Ordners.',
    },
    compose_project_unreadable: {
      title: title.compose_project_unreadable,
      help: 'Der Grund steht im Protokoll des Agents und unter dem letzten Fehler. Korrigiere auf der Station die Compose-Datei oder ihre .env; der Versuch wird automatisch wiederholt.',
    },
    engine_storage_failed: {
      title: title.engine_storage_failed,
      help: 'Starte die Station neu. Bleibt es dabei, prüfe ihre Festplatte.',
    },
    engine_unreachable: {
      title: title.engine_unreachable,
      help: 'Updates warten so lange. Bleibt es dabei, starte die Station neu.',
    },
    firmware_cache_not_writable: {
      title: title.firmware_cache_not_writable,
      help: 'Gib auf der Station Speicherplatz frei. Was gespeichert ist, bleibt, und der Versuch wird automatisch wiederholt.',
    },
    firmware_manifest_rejected: {
      title: title.firmware_manifest_rejected,
      help: 'Der fehlerhafte Teil wurde ignoriert. Der Herausgeber muss ihn korrigieren.',
    },
    firmware_manifest_unreachable: {
      title: title.firmware_manifest_unreachable,
      help: 'Es ist nichts zu tun: Die Station fragt automatisch wieder nach. Die Geräte behalten ihre Firmware.',
    },
    firmware_not_handed_over: {
      title: title.firmware_not_handed_over,
      help: 'Ein Administrator sollte Adresse und Token des Backends in der Einstellungsdatei des Agents prüfen. Der Versuch wird automatisch wiederholt.',
    },
    firmware_refused: {
      title: title.firmware_refused,
      help: 'Kein Gerät bekommt sie. Der Herausgeber muss sie korrigieren.',
    },
    hotspot_dns_port_taken: {
      title: title.hotspot_dns_port_taken,
      help: 'Ein anderes Programm auf der Station beantwortet Namensanfragen (Port 53). Beende es; der Hotspot wird automatisch wieder versucht.',
    },
    hotspot_failed: {
      title: title.hotspot_failed,
      help: 'Bekannte Netzwerke und der Hotspot werden automatisch wieder versucht. Ein Netzwerkkabel funktioniert sofort.',
    },
    image_damaged: {
      title: title.image_damaged,
      help: 'Verbinde die Station mit dem Internet: Sie lädt sie neu. Was sie sonst daran hindert, steht unter dem letzten Fehler.',
    },
    internet_unreachable: {
      title: title.internet_unreachable,
      help: 'Zuhause funktioniert alles. Prüfe den Router; die Station merkt, wenn das Internet zurück ist.',
    },
    network_manager_absent: {
      title: title.network_manager_absent,
      help: 'Das WLAN bleibt, wie es ist. Bleibt es dabei, starte die Station neu.',
    },
    portal_port_taken: {
      title: title.portal_port_taken,
      help: 'Ein anderes Programm belegt ihren Port. Beende es oder wähle in der Einstellungsdatei des Agents einen anderen Port (nur Administratoren).',
    },
    wifi_blocked_hard: {
      title: title.wifi_blocked_hard,
      help: 'Schalte es am Schalter des Gehäuses ein.',
    },
    wifi_blocked_soft: {
      title: title.wifi_blocked_soft,
      help: 'Ein Administrator sollte in der Einstellungsdatei des Agents das WLAN-Land eintragen oder das WLAN mit rfkill einschalten.',
    },
    wifi_country_unset: {
      title: title.wifi_country_unset,
      help: 'Manche Funkmodule bleiben ohne Land ausgeschaltet. Ein Administrator kann es in der Einstellungsdatei des Agents eintragen.',
    },
    wifi_credentials_not_forwarded: {
      title: title.wifi_credentials_not_forwarded,
      help: 'Gib das Netzwerk unter „Einstellungen“ ein, oder ein Administrator prüft das Token des Backends in der Einstellungsdatei des Agents. Der Versuch wird automatisch wiederholt.',
    },
    wifi_no_radio: {
      title: title.wifi_no_radio,
      help: 'Stecke einen ein oder schließe ein Kabel an.',
    },
    wifi_not_kept: {
      title: title.wifi_not_kept,
      help: 'Gib Speicherplatz frei, bevor die Station ausgeschaltet wird; sonst muss sie neu eingerichtet werden. Solange die Station in diesem Netzwerk ist, versucht sie es weiter.',
    },
    wifi_state_not_writable: {
      title: title.wifi_state_not_writable,
      help: 'Gib auf der Station Speicherplatz frei. Das WLAN funktioniert solange weiter.',
    },
    wifi_unmanaged: {
      title: title.wifi_unmanaged,
      help: 'Lass NetworkManager das WLAN-Gerät verwalten.',
    },
    manifest_rejected: {
      title: title.manifest_rejected,
      help: 'Sie wurde ignoriert, es ändert sich nichts. Der Herausgeber muss sie korrigieren.',
    },
    manifest_unreachable: {
      title: title.manifest_unreachable,
      help: 'Es ist nichts zu tun: Die Station fragt automatisch wieder nach. Alles andere funktioniert auch so.',
    },
    registry_auth_failed: {
      title: title.registry_auth_failed,
      help: 'Ein Administrator sollte Benutzername und Token der Registry in der Einstellungsdatei des Agents prüfen.',
    },
    registry_unreachable: {
      title: title.registry_unreachable,
      help: 'Es ist nichts zu tun: Die Station versucht es automatisch wieder. Bleibt es dabei, prüfe die Internetverbindung.',
    },
    release_failing: {
      title: title.release_failing,
      help: 'Ihre Seite lässt sich nicht anzeigen, sie stürzt immer wieder ab, oder sie braucht mehr Speicher, als sie verwenden darf. Stelle die vorige Version wieder her.',
    },
    rollback_unavailable: {
      title: title.rollback_unavailable,
      help: 'Ein Rollback bräuchte das Internet. Das nächste Update behält wieder eine Version.',
    },
    stack_unhealthy: {
      title: title.stack_unhealthy,
      help: 'Die Station startet sie immer wieder neu. Bleibt es dabei, kehre zur vorherigen Version zurück oder starte die Station neu.',
    },
    state_not_writable: {
      title: title.state_not_writable,
      help: 'Prüfe, ob die Festplatte voll oder schreibgeschützt ist. Bis dahin wird nichts geändert.',
    },
  },
  error: {
    code: 'Code',
    bad_request: 'Die Station hat die Anfrage nicht verstanden. Lade die Seite neu und versuche es noch einmal.',
    validation_failed: 'Im Formular stimmt etwas nicht. Prüfe die markierten Felder.',
    version_invalid: 'Das ist keine gültige Versionsnummer. Prüfe sie und versuche es noch einmal.',
    unauthorized: 'Du bist nicht mehr angemeldet. Melde dich neu an.',
    access_ended: 'Dein Zugriff ist beendet. Brauchst du ihn länger, wende dich an den Eigentümer der Station.',
    invalid_credentials: 'E-Mail oder Passwort falsch. Prüfe beides und versuche es noch einmal.',
    session_expired: 'Deine Sitzung ist abgelaufen. Melde dich neu an.',
    passkey_unknown: 'Die Station akzeptiert diesen Passkey nicht. Melde dich mit dem Passwort an.',
    passkeys_unavailable: 'Passkeys funktionieren nur auf der verschlüsselten Seite unter dem Namen der Station.',
    passkey_invalid:
      'Der Passkey konnte nicht hinzugefügt werden. Versuche es noch einmal und bestätige innerhalb weniger Minuten.',
    forbidden: 'Deine Rolle erlaubt das nicht. Wende dich an den Eigentümer der Station.',
    host_not_allowed: 'Unter dieser Adresse antwortet die Station nicht. Nimm ihre übliche.',
    host_unknown: 'Unter diesem Namen antwortet die Station nicht. Nimm ihre Adresse oder ihren üblichen Namen.',
    origin_not_allowed:
      'Die Anfrage kam von einer anderen Website und wurde abgelehnt. Öffne die Seite der Station selbst.',
    setup_code_invalid: 'Falscher Einrichtungscode. Vergleiche ihn mit dem, den die Station anzeigt.',
    not_found: 'Das gibt es nicht mehr. Geh zurück und sieh noch einmal nach.',
    method_not_allowed: 'Das bietet die Station nicht an. Lade die Seite neu, vielleicht ist sie veraltet.',
    conflict: 'Inzwischen hat sich etwas anderes geändert. Prüfe den aktuellen Stand und versuche es noch einmal.',
    channel_not_set:
      'Dieser Kanal ist noch nicht eingerichtet. Das kann ein Administrator unter „Einstellungen → Benachrichtigungen“ tun.',
    device_offline: 'Das Gerät ist offline. Prüfe, ob es Strom hat und in Reichweite ist.',
    clock_not_set:
      'Das System der Station hat die Zeit nicht angenommen. Mit Internetverbindung stellt sie ihre Uhr automatisch.',
    update_in_progress: 'Ein anderes Update läuft. Warte, bis es fertig ist.',
    nothing_to_roll_back: 'Es gibt keine frühere Version, zu der die Station zurückkehren könnte.',
    setup_already_done: 'Diese Station ist schon eingerichtet. Melde dich an.',
    restore_in_progress:
      'Auf dieser Station wird ein Backup wiederhergestellt. Warte, bis sie neu gestartet ist, und melde dich dann an.',
    candidate_ambiguous: 'Mehrere Geräte geben sich als dieses aus. Wähle eines in der Liste.',
    wifi_password_invalid:
      'Dieses WLAN kann dieses Passwort nicht haben. Mit WPA2 hat es 8 bis 63 Zeichen, mit WPA3 1 bis 128. Sieh noch einmal nach.',
    no_wifi_credentials: 'Die Station kennt kein WLAN. Gib Name und Passwort ein.',
    command_too_large: 'Das ist zu lang für dieses Gerät. Kürze es und versuche es noch einmal.',
    payload_too_large: 'Das ist zu viel auf einmal. Kürze es und versuche es noch einmal.',
    unsupported_media_type:
      'Die Station kann dieses Format nicht lesen. Lade die Seite neu, vielleicht ist sie veraltet.',
    automation_invalid: 'So kann diese Automation nicht laufen. Öffne sie und prüfe, was markiert ist.',
    too_many_changes: 'Der Wert hat sich in dieser Zeit zu oft geändert. Wähle eine kürzere.',
    backup_refused: 'Das kann die Station mit dem Backup nicht tun.',
    version_not_derivable: 'Diese Version steht nicht in der Versionsliste. Wähle eine veröffentlichte.',
    version_not_signed: 'Diese Version hat keine gültige Signatur. Wähle eine, die der Herausgeber signiert hat.',
    too_many_requests: 'Zu viele Versuche. Warte ein wenig und versuche es noch einmal.',
    tooManyWait: 'Zu viele Versuche. Versuche es in {{duration}} wieder.',
    internal:
      'In der Station ist etwas schiefgegangen. Versuche es noch einmal; bleibt es dabei, sieh in ihr Protokoll.',
    update_failed: 'Das Update ist fehlgeschlagen. Die vorherige Version läuft weiter.',
    update_rolled_back: 'Die neue Version hat die Prüfung nicht bestanden und wurde zurückgenommen.',
    rollback_failed: 'Das Rollback ist fehlgeschlagen. Die Station versucht es weiter.',
    agent_unreachable: 'Der Update-Dienst auf der Station antwortet nicht. Meist ist er innerhalb einer Minute zurück.',
    manifest_unavailable:
      'Der Update-Server ist nicht erreichbar. Prüfe die Internetverbindung oder versuche es später.',
    manifest_rejected:
      'Die Versionsliste ist ungültig und wurde ignoriert. Versuche es wieder, wenn sie korrigiert ist.',
    registry_unavailable:
      'Die Image-Registry ist nicht erreichbar. Prüfe die Internetverbindung oder versuche es später.',
    registry_busy: 'Die Image-Registry begrenzt zurzeit die Anfragen. Versuche es später noch einmal.',
    registry_auth_failed: 'Die Image-Registry hat die Zugangsdaten abgelehnt. Prüfe sie auf der Station.',
    image_missing: 'Ein Image dieser Version gibt es nicht. Wähle eine andere Version.',
    shutting_down: 'Die Station startet neu. Sie ist gleich zurück.',
    storage_full:
      'Die Festplatte der Station ist voll, deshalb lässt sich nichts speichern. Gib Speicherplatz frei und versuche es dann noch einmal.',
    storage_unwritable:
      'Die Station kann nicht auf ihren Speicher schreiben, deshalb lässt sich nichts speichern. Prüfe Festplatte oder SD-Karte und versuche es dann noch einmal.',
    storage_locked:
      'Ein anderes Programm sperrt die Datenbank der Station, deshalb kann nichts gespeichert werden. Speichere oder schließe, was darin offen ist, und versuche es noch einmal.',
    busy: 'Die Station ist mit anderen Anfragen beschäftigt. Versuche es gleich noch einmal.',
    compose_project_unreadable:
      'Die Dateien des Stacks auf der Station sind nicht lesbar. Der Grund steht im Protokoll des Agents.',
    unavailable: 'Die Station ist noch nicht bereit. Versuche es gleich noch einmal.',
    engine_storage_failed: 'Die Station kann die Version nicht speichern. Starte sie neu.',
    image_damaged:
      'Die Software der Station ist auf der Festplatte beschädigt. Was hilft, steht unter dem letzten Fehler.',
    disk_space_low: 'Es ist nicht genug Speicherplatz frei. Gib welchen frei und versuche es noch einmal.',
    no_answer: 'Die Station antwortet nicht. Prüfe, ob sie eingeschaltet ist und du in ihrem Netzwerk bist.',
    timed_out: 'Die Station hat zu lange nicht geantwortet. Versuche es gleich noch einmal.',
    bad_answer: 'Diese Seite versteht die Antwort der Station nicht. Lade die Seite neu.',
    field: {
      required: 'Bitte ausfüllen.',
      email: 'Das ist keine E-Mail-Adresse.',
      short: 'Mindestens {{min}} Zeichen.',
      number: 'Eine ganze Zahl von {{min}} bis {{max}}.',
      refused: 'Das akzeptiert die Station nicht. Bitte ändern.',
    },
  },
} as const;
