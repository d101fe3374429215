import type { AutomationService } from './automation-service.ts';
import { userOf } from '../http/access.ts';
import { feedPage, pageOf } from '../http/pages.ts';
import { serve } from '../http/serve.ts';
import type { HttpServer } from '../http/server.ts';

const defaultLimit = 20;

/** /api/automations (contracts, sections 9 and 14). */
export async function registerAutomationRoutes(
  app: HttpServer,
  { automations }: { automations: AutomationService },
): Promise<void> {
  serve(app, 'GET /api/automations', async (request, reply) =>
    pageOf({ request, reply }, await automations.list(), ({ id }) => id),
  );
  serve(app, 'POST /api/automations', async (request, reply) =>
    reply.code(201).send(await automations.add(request.body, userOf(request))),
  );
  serve(app, 'POST /api/automations/test', (request) => automations.test(request.body));
  serve(app, 'GET /api/automations/:id', (request) => automations.get(request.params.id, userOf(request)));
  serve(app, 'PATCH /api/automations/:id', (request) =>
    automations.change(request.params.id, request.body, userOf(request)),
  );
  serve(app, 'DELETE /api/automations/:id', async (request, reply) => {
    await automations.remove(request.params.id);
    return reply.code(204).send(null);
  });
  serve(app, 'POST /api/automations/:id/publish', (request) => automations.publish(request.params.id, userOf(request)));
  serve(app, 'POST /api/automations/:id/draft', (request) => automations.unpublish(request.params.id, userOf(request)));
  serve(app, 'POST /api/automations/:id/run', async (request, reply) =>
    reply.code(202).send(await automations.run(request.params.id, request.body ?? {}, userOf(request))),
  );
  serve(app, 'GET /api/automations/:id/runs', async (request, reply) => {
    const { before = null, limit = defaultLimit } = request.query;
    const runs = await automations.runs(request.params.id, before, limit);
    return feedPage({ request, reply }, runs, limit);
  });
}
