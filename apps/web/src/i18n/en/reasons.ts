/** Why an operation failed. */
export const reason = {
  release_unhealthy: 'It did not become healthy.',
  registry_unavailable: 'It could not be downloaded: the image registry did not answer.',
  registry_busy: 'It could not be downloaded: the image registry limits requests for now.',
  registry_auth_failed: 'It could not be downloaded: the image registry refused the credentials.',
  image_missing: 'It could not be downloaded: an image of it does not exist.',
  disk_space_low: 'There was not enough free space for it.',
  engine_storage_failed: 'The container engine could not store it.',
  engine_failed: 'The container engine could not start it.',
  rolled_back_by_hand: 'It was rolled back manually.',
  unknown: 'It did not work.',
  words: 'Details',
} as const;
