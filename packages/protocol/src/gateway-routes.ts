import { GatewayLoginSheet, Gateways, HeardSystems, NewGateway } from './gateways.ts';
import { forAdmins, IdParams as params, noContent, type RouteTable } from './route.ts';

const ofGateways = { access: forAdmins, tags: ['gateways'] };

export const gatewayRoutes = {
  'GET /api/gateways': { ...ofGateways, response: { 200: Gateways } },
  'GET /api/gateways/heard': {
    ...ofGateways,
    description: 'Systems that were noticed in the last hour and are not connected.',
    response: { 200: HeardSystems },
  },
  'POST /api/gateways': { ...ofGateways, body: NewGateway, response: { 201: GatewayLoginSheet } },
  'POST /api/gateways/:id/login': {
    ...ofGateways,
    description: 'A new password; the one before ends.',
    params,
    response: { 200: GatewayLoginSheet },
  },
  'DELETE /api/gateways/:id': {
    ...ofGateways,
    description: 'Its devices leave the station with it.',
    params,
    response: noContent,
  },
} satisfies RouteTable;
