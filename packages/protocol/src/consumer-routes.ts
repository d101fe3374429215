import { Type } from 'typebox';
import { ConsumerKind, ConsumerLoginSheet, Consumers, NewConsumer } from './consumers.ts';
import { forAdmins, noContent, type RouteTable } from './route.ts';

const ofConsumers = { access: forAdmins, tags: ['consumers'] };
const params = Type.Object({ kind: ConsumerKind });

export const consumerRoutes = {
  'GET /api/consumers': { ...ofConsumers, response: { 200: Consumers } },
  'PUT /api/consumers/:kind': {
    ...ofConsumers,
    description: 'Switches it on, with a login of its own. What was published on other topics is removed.',
    params,
    body: NewConsumer,
    response: { 201: ConsumerLoginSheet },
  },
  'POST /api/consumers/:kind/login': {
    ...ofConsumers,
    description: 'A new password; the one before ends.',
    params,
    response: { 200: ConsumerLoginSheet },
  },
  'DELETE /api/consumers/:kind': {
    ...ofConsumers,
    description: 'Switches it off: nothing of what was published stays at the broker.',
    params,
    response: noContent,
  },
} satisfies RouteTable;
