import { BackendConditions as BackendConditionsBody } from '@station/protocol/backend-conditions';
import type { BackendConditions } from '../core/conditions.ts';
import type { HttpServer } from './server.ts';

/** GET /api/conditions. */
export async function registerConditionsRoute(
  app: HttpServer,
  { conditions }: { conditions: Pick<BackendConditions, 'list'> },
): Promise<void> {
  app.get(
    '/api/conditions',
    { config: { access: 'user' }, schema: { tags: ['system'], response: { 200: BackendConditionsBody } } },
    async () => conditions.list(),
  );
}
