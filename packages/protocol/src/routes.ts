import type { Static, TSchema } from 'typebox';
import { automationRoutes } from './automation-routes.ts';
import { backupRoutes } from './backup-routes.ts';
import { cloudRoutes } from './cloud-routes.ts';
import { deviceRoutes } from './device-routes.ts';
import { firmwareRoutes } from './firmware-routes.ts';
import { consumerRoutes } from './consumer-routes.ts';
import { gatewayRoutes } from './gateway-routes.ts';
import { notificationRoutes } from './notification-routes.ts';
import { peopleRoutes } from './people-routes.ts';
import { platformRoutes } from './platform-routes.ts';
import { provisioningRoutes } from './provisioning-routes.ts';
import { sceneRoutes } from './scene-routes.ts';
import { snapshotRoutes } from './snapshot-routes.ts';
import { systemRoutes } from './system-routes.ts';

/** Every route of the backend (ADR 76). The backend registers its handlers from it; the web app imports its types alone. */
export const routes = {
  ...platformRoutes,
  ...deviceRoutes,
  ...firmwareRoutes,
  ...cloudRoutes,
  ...provisioningRoutes,
  ...gatewayRoutes,
  ...consumerRoutes,
  ...automationRoutes,
  ...sceneRoutes,
  ...systemRoutes,
  ...peopleRoutes,
  ...backupRoutes,
  ...notificationRoutes,
  ...snapshotRoutes,
};

export type Routes = typeof routes;
/** Method and path, e.g. `GET /api/devices/:id`. */
export type RouteKey = keyof Routes;

type Declared<Key extends RouteKey, Part extends 'params' | 'querystring' | 'body'> =
  Routes[Key] extends Record<Part, infer Schema extends TSchema> ? Static<Schema> : never;

/** What a caller sends: parameters of the path, query and body, as far as the route declares them. */
export type SentTo<Key extends RouteKey> = ([Declared<Key, 'params'>] extends [never]
  ? unknown
  : { params: Declared<Key, 'params'> }) &
  ([Declared<Key, 'querystring'>] extends [never] ? unknown : OptionalIfEmpty<Declared<Key, 'querystring'>>) &
  ([Declared<Key, 'body'>] extends [never]
    ? unknown
    : null extends Declared<Key, 'body'>
      ? { body?: NonNullable<Declared<Key, 'body'>> }
      : { body: Declared<Key, 'body'> });

type OptionalIfEmpty<Query> = Partial<Query> extends Query ? { query?: Query } : { query: Query };

/** What is answered when the route succeeds; `void` without a body, `unknown` for a file or a stream. */
export type AnswerOf<Key extends RouteKey> =
  Routes[Key] extends Record<'response', infer Answers> ? StaticAnswer<Answers[keyof Answers & Success]> : unknown;

type Success = 200 | 201 | 202 | 204;
type StaticAnswer<Schema> = Schema extends TSchema ? (Static<Schema> extends null ? void : Static<Schema>) : never;
