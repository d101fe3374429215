/** Why an operation failed. */
export const reason = {
  release_unhealthy: 'Він не пройшов перевірку.',
  registry_unavailable: 'Його не вдалося завантажити: реєстр образів не відповів.',
  registry_auth_failed: 'Його не вдалося завантажити: реєстр образів відхилив облікові дані.',
  image_missing: 'Його не вдалося завантажити: бракує одного з образів.',
  disk_space_low: 'Для нього забракло вільного місця.',
  engine_storage_failed: 'Рушій контейнерів не зміг його зберегти.',
  engine_failed: 'Рушій контейнерів не зміг його запустити.',
  rolled_back_by_hand: 'Його відкотили вручну.',
  unknown: 'Він не запрацював.',
  words: 'Подробиці',
} as const;
