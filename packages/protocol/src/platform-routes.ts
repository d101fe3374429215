import { BackendConditions } from './backend-conditions.ts';
import { BackendHealth } from './rest.ts';
import type { RouteTable } from './route.ts';

/** Routes of the backend that belong to no feature. */
export const platformRoutes = {
  'GET /metrics': { access: 'metrics', tags: ['system'] },
  'GET /api/health': { access: 'public', tags: ['system'], response: { 200: BackendHealth, 503: BackendHealth } },
  'GET /api/conditions': { access: 'user', tags: ['system'], response: { 200: BackendConditions } },
  'GET /api/openapi.json': { access: 'public', tags: ['docs'] },
} satisfies RouteTable;
