import { Type } from 'typebox';
import {
  Automation,
  AutomationPatch,
  AutomationRuns,
  AutomationSummaries,
  NewAutomation,
  RunRequest,
  RunsQuery,
  RunSummary,
  TestRequest,
  TestTrace,
} from '@station/protocol/automations';
import { Id, PageQuery } from '@station/protocol/rest';
import type { AutomationService } from './automation-service.ts';
import { userOf } from '../http/access.ts';
import { feedPage, pageOf } from '../http/pages.ts';
import type { HttpServer } from '../http/server.ts';

const Params = Type.Object({ id: Id });
const defaultLimit = 20;

/** /api/automations (contracts, sections 9 and 14). */
export async function registerAutomationRoutes(
  app: HttpServer,
  { automations }: { automations: AutomationService },
): Promise<void> {
  const forUsers = { access: 'user' } as const;
  const heavy = { ...forUsers, heavy: 'answer' } as const;
  const forAdmins = { access: { station: 'admin' } } as const;
  const tags = ['automations'];
  const params = Params;

  app.get(
    '/api/automations',
    { config: forUsers, schema: { tags, querystring: PageQuery, response: { 200: AutomationSummaries } } },
    async (request, reply) => pageOf({ request, reply }, await automations.list(), ({ id }) => id),
  );
  app.post(
    '/api/automations',
    { config: forAdmins, schema: { tags, body: NewAutomation, response: { 201: Automation } } },
    async (request, reply) => reply.code(201).send(await automations.add(request.body, userOf(request))),
  );
  app.post(
    '/api/automations/test',
    { config: forAdmins, schema: { tags, body: TestRequest, response: { 200: TestTrace } } },
    (request) => automations.test(request.body.flow),
  );
  app.get(
    '/api/automations/:id',
    { config: forUsers, schema: { tags, params, response: { 200: Automation } } },
    (request) => automations.get(request.params.id, userOf(request)),
  );
  app.patch(
    '/api/automations/:id',
    { config: forAdmins, schema: { tags, params, body: AutomationPatch, response: { 200: Automation } } },
    (request) => automations.change(request.params.id, request.body, userOf(request)),
  );
  app.delete(
    '/api/automations/:id',
    { config: forAdmins, schema: { tags, params, response: { 204: Type.Null() } } },
    async (request, reply) => {
      await automations.remove(request.params.id);
      return reply.code(204).send(null);
    },
  );
  app.post(
    '/api/automations/:id/publish',
    { config: forAdmins, schema: { tags, params, response: { 200: Automation } } },
    (request) => automations.publish(request.params.id, userOf(request)),
  );
  app.post(
    '/api/automations/:id/draft',
    { config: forAdmins, schema: { tags, params, response: { 200: Automation } } },
    (request) => automations.unpublish(request.params.id, userOf(request)),
  );
  app.post(
    '/api/automations/:id/run',
    {
      config: forUsers,
      schema: { tags, params, body: Type.Union([Type.Null(), RunRequest]), response: { 202: RunSummary } },
    },
    async (request, reply) => {
      const { nodeId = null } = request.body ?? {};
      return reply.code(202).send(await automations.run(request.params.id, nodeId, userOf(request)));
    },
  );
  app.get(
    '/api/automations/:id/runs',
    { config: heavy, schema: { tags, params, querystring: RunsQuery, response: { 200: AutomationRuns } } },
    async (request, reply) => {
      const { before = null, limit = defaultLimit } = request.query;
      const runs = await automations.runs(request.params.id, before, limit);
      return feedPage({ request, reply }, runs, limit);
    },
  );
}
