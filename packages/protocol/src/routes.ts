import { automationRoutes } from './automation-routes.ts';
import { backupRoutes } from './backup-routes.ts';
import { cloudRoutes } from './cloud-routes.ts';
import { deviceRoutes } from './device-routes.ts';
import { firmwareRoutes } from './firmware-routes.ts';
import { notificationRoutes } from './notification-routes.ts';
import { peopleRoutes } from './people-routes.ts';
import { platformRoutes } from './platform-routes.ts';
import { provisioningRoutes } from './provisioning-routes.ts';
import { sceneRoutes } from './scene-routes.ts';
import { systemRoutes } from './system-routes.ts';

/** Every route of the backend (ADR 76). The backend registers its handlers from it; the web app imports its types alone. */
export const routes = {
  ...platformRoutes,
  ...deviceRoutes,
  ...firmwareRoutes,
  ...cloudRoutes,
  ...provisioningRoutes,
  ...automationRoutes,
  ...sceneRoutes,
  ...systemRoutes,
  ...peopleRoutes,
  ...backupRoutes,
  ...notificationRoutes,
};

export type Routes = typeof routes;
/** Method and path, e.g. `GET /api/devices/:id`. */
export type RouteKey = keyof Routes;
