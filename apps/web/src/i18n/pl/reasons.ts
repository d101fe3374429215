/** Why an operation failed. */
export const reason = {
  release_unhealthy: 'Nie działała poprawnie.',
  registry_unavailable: 'Nie udało się jej pobrać: rejestr obrazów nie odpowiedział.',
  registry_busy: 'Nie udało się jej pobrać: rejestr obrazów ogranicza teraz liczbę żądań.',
  registry_auth_failed: 'Nie udało się jej pobrać: rejestr obrazów odrzucił dane logowania.',
  image_missing: 'Nie udało się jej pobrać: brakuje jednego z obrazów.',
  disk_space_low: 'Zabrakło na nią wolnego miejsca.',
  engine_storage_failed: 'Silnik kontenerów nie mógł jej zapisać.',
  engine_failed: 'Silnik kontenerów nie mógł jej uruchomić.',
  rolled_back_by_hand: 'Wycofano ją ręcznie.',
  unknown: 'Nie zadziałała.',
  words: 'Szczegóły',
} as const;
