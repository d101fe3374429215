/** The routes that home shows: a snapshot has their answers. */
export const snapshotKeys = [
  'GET /api/devices',
  'GET /api/device-types',
  'GET /api/zones',
  'GET /api/favourites',
  'GET /api/scenes',
  'GET /api/station',
  'GET /api/system/status',
  'GET /api/conditions',
  'GET /api/cloud/status',
  'GET /api/firmware/rollouts',
  'GET /api/unknown-devices',
  'GET /api/devices/wifi',
] as const;

export type SnapshotKey = (typeof snapshotKeys)[number];
