import { BackendHealth, type BackendHealth as HealthBody } from '@station/protocol/rest';
import type { HttpServer } from './server.ts';

type Reasons = NonNullable<HealthBody['reasons']>;

/**
 * Each check answers within about two seconds and never throws: null when the part works, else why not. A part that is not configured
 * works.
 */
export type HealthChecks = { [Part in keyof Reasons]-?: () => Promise<NonNullable<Reasons[Part]> | null> };

/** GET /api/health: the agent requests it after an update (contracts, section 7). */
export async function registerHealthRoute(
  app: HttpServer,
  options: { checks: HealthChecks; version: string; replica?: () => HealthBody['replica'] | null },
): Promise<void> {
  const { checks, version } = options;
  app.get(
    '/api/health',
    {
      config: { access: 'public' },
      exposeHeadRoute: true,
      schema: { tags: ['system'], response: { 200: BackendHealth, 503: BackendHealth } },
    },
    async (_request, reply) => {
      const [database, mqtt] = await Promise.all([checks.database(), checks.mqtt()]);
      const isHealthy = database === null && mqtt === null;
      const replica = options.replica?.() ?? null;
      return reply.code(isHealthy ? 200 : 503).send({
        status: isHealthy ? 'ok' : 'failing',
        version,
        checks: { database: database === null, mqtt: mqtt === null },
        ...(!isHealthy && { reasons: { ...(database && { database }), ...(mqtt && { mqtt }) } }),
        ...(replica && { replica }),
      });
    },
  );
}
