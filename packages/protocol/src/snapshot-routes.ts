import { type TSchema, Type } from 'typebox';
import { cloudRoutes } from './cloud-routes.ts';
import { deviceRoutes } from './device-routes.ts';
import { firmwareRoutes } from './firmware-routes.ts';
import { peopleRoutes } from './people-routes.ts';
import { platformRoutes } from './platform-routes.ts';
import { provisioningRoutes } from './provisioning-routes.ts';
import type { RouteTable } from './route.ts';
import { sceneRoutes } from './scene-routes.ts';
import type { SnapshotKey } from './snapshot.ts';
import { systemRoutes } from './system-routes.ts';

const answers = {
  'GET /api/devices': deviceRoutes['GET /api/devices'].response[200],
  'GET /api/device-types': deviceRoutes['GET /api/device-types'].response[200],
  'GET /api/zones': deviceRoutes['GET /api/zones'].response[200],
  'GET /api/favourites': deviceRoutes['GET /api/favourites'].response[200],
  'GET /api/scenes': sceneRoutes['GET /api/scenes'].response[200],
  'GET /api/station': peopleRoutes['GET /api/station'].response[200],
  'GET /api/system/status': systemRoutes['GET /api/system/status'].response[200],
  'GET /api/conditions': platformRoutes['GET /api/conditions'].response[200],
  'GET /api/cloud/status': cloudRoutes['GET /api/cloud/status'].response[200],
  'GET /api/firmware/rollouts': firmwareRoutes['GET /api/firmware/rollouts'].response[200],
  'GET /api/unknown-devices': deviceRoutes['GET /api/unknown-devices'].response[200],
  'GET /api/devices/wifi': provisioningRoutes['GET /api/devices/wifi'].response[200],
} satisfies Record<SnapshotKey, TSchema>;

/** The answers of other routes by their keys. A route that is missing is asked itself. */
const Snapshot = Type.Partial(Type.Object(answers));

export const snapshotRoutes = {
  'GET /api/snapshot': {
    access: 'guest',
    tags: ['system'],
    description:
      'What home shows: the answers of these routes, in one. Left out is what the caller may not read, what has no answer within a second, a list of several pages, and what does not fit into 256 KiB.',
    response: { 200: Snapshot },
  },
} satisfies RouteTable;
