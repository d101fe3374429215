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
} from './automations.ts';
import { PageQuery } from './rest.ts';
import { forAdmins, IdParams as params, noContent, type RouteTable } from './route.ts';

const tags = ['automations'];

/** Contracts, sections 9 and 14. */
export const automationRoutes = {
  'GET /api/automations': { access: 'user', tags, querystring: PageQuery, response: { 200: AutomationSummaries } },
  'POST /api/automations': { access: forAdmins, tags, body: NewAutomation, response: { 201: Automation } },
  'POST /api/automations/test': { access: forAdmins, tags, body: TestRequest, response: { 200: TestTrace } },
  'GET /api/automations/:id': { access: 'user', tags, params, response: { 200: Automation } },
  'PATCH /api/automations/:id': {
    access: forAdmins,
    tags,
    params,
    body: AutomationPatch,
    response: { 200: Automation },
  },
  'DELETE /api/automations/:id': { access: forAdmins, tags, params, response: noContent },
  'POST /api/automations/:id/publish': { access: forAdmins, tags, params, response: { 200: Automation } },
  'POST /api/automations/:id/draft': { access: forAdmins, tags, params, response: { 200: Automation } },
  'POST /api/automations/:id/run': {
    access: 'user',
    tags,
    params,
    body: Type.Union([Type.Null(), RunRequest]),
    response: { 202: RunSummary },
  },
  'GET /api/automations/:id/runs': {
    access: 'user',
    heavy: 'answer',
    tags,
    params,
    querystring: RunsQuery,
    response: { 200: AutomationRuns },
  },
} satisfies RouteTable;
