/** Why an operation failed. */
export const reason = {
  release_unhealthy: 'Sie hat die Prüfung nicht bestanden.',
  registry_unavailable: 'Sie ließ sich nicht herunterladen: Die Image-Registry hat nicht geantwortet.',
  registry_busy: 'Sie ließ sich nicht herunterladen: Die Image-Registry begrenzt zurzeit die Anfragen.',
  registry_auth_failed: 'Sie ließ sich nicht herunterladen: Die Image-Registry hat die Zugangsdaten abgelehnt.',
  image_missing: 'Sie ließ sich nicht herunterladen: Eines ihrer Images gibt es nicht.',
  disk_space_low: 'Für sie war nicht genug Speicherplatz frei.',
  engine_storage_failed: 'Die Container-Engine konnte sie nicht speichern.',
  engine_failed: 'Die Container-Engine konnte sie nicht starten.',
  rolled_back_by_hand: 'Sie wurde manuell zurückgenommen.',
  unknown: 'Sie hat nicht funktioniert.',
  words: 'Details',
} as const;
