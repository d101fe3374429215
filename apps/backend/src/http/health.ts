import type { BackendHealth } from '@station/protocol/rest';
import { type ReplyOf, serve } from './serve.ts';
import type { HttpServer } from './server.ts';

type Reasons = NonNullable<BackendHealth['reasons']>;

/**
 * Each check answers within about two seconds and never throws: null when the part works, else why not. A part that is not configured
 * works.
 */
export type HealthChecks = { [Part in keyof Reasons]-?: () => Promise<NonNullable<Reasons[Part]> | null> };

/** GET /api/health: the agent requests it after an update (contracts, section 7). */
export async function registerHealthRoute(
  app: HttpServer,
  options: { checks: HealthChecks; version: string; replica?: () => BackendHealth['replica'] | null },
): Promise<void> {
  const { checks, version } = options;
  const answer = async (reply: ReplyOf<'GET /api/health'>) => {
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
  };
  serve(app, 'GET /api/health', (_request, reply) => answer(reply), { exposeHeadRoute: true });
}
