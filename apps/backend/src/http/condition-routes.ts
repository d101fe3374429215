import type { BackendConditions } from '../core/conditions.ts';
import { serve } from './serve.ts';
import type { HttpServer } from './server.ts';

/** GET /api/conditions. */
export async function registerConditionsRoute(
  app: HttpServer,
  { conditions }: { conditions: Pick<BackendConditions, 'list'> },
): Promise<void> {
  serve(app, 'GET /api/conditions', async () => conditions.list());
}
