import { Type } from 'typebox';
import { ActivityQuery } from './activity.ts';
import { CommandRequest, DeviceCommand } from './device-commands.ts';
import { DeviceHistory, HistoryExportQuery, HistoryQuery } from './device-history.ts';
import { DeviceTypes } from './device-types.ts';
import {
  Device,
  DeviceEvents,
  DevicePatch,
  DeviceRemoval,
  Devices,
  EventsQuery,
  Favourites,
  HeardDevices,
  NewZone,
  Zone,
  ZoneOrder,
  Zones,
} from './devices.ts';
import { PageQuery } from './rest.ts';
import { forAdmins, IdParams as params, noContent, type RouteTable } from './route.ts';
import { AcceptUnknownDevice, UnknownDevice, UnknownDevices } from './unknown-devices.ts';

const tags = ['devices'];
const ExternalIdParams = Type.Object({ externalId: Type.String({ minLength: 1, maxLength: 64 }) });
/** A guest has no history. */
const ofHistory = { access: 'limited', heavy: 'answer', tags } as const;
const block = { access: forAdmins, tags, params: ExternalIdParams, response: { 200: UnknownDevice } };

/** Devices, their commands and history, zones, and what a person wants first (contracts, section 9). */
export const deviceRoutes = {
  'GET /api/devices': {
    access: 'guest',
    heavy: 'answer',
    tags,
    querystring: PageQuery,
    response: { 200: Devices },
  },
  'GET /api/agent/devices': { access: 'agent', tags, response: { 200: HeardDevices } },
  'GET /api/devices/:id': { access: 'guest', tags, params, response: { 200: Device } },
  'PATCH /api/devices/:id': { access: forAdmins, tags, params, body: DevicePatch, response: { 200: Device } },
  'DELETE /api/devices/:id': { access: forAdmins, tags, params, response: { 200: DeviceRemoval } },
  'GET /api/devices/:id/events': { ...ofHistory, params, querystring: EventsQuery, response: { 200: DeviceEvents } },
  'GET /api/activity': { ...ofHistory, querystring: ActivityQuery, response: { 200: DeviceEvents } },
  'GET /api/devices/:id/history': { ...ofHistory, params, querystring: HistoryQuery, response: { 200: DeviceHistory } },
  'GET /api/devices/:id/history.csv': {
    access: 'limited',
    heavy: 'stream',
    tags,
    description: 'text/csv (RFC 4180), for spreadsheets.',
    params,
    querystring: HistoryExportQuery,
  },
  'GET /api/device-types': { access: 'guest', tags, querystring: PageQuery, response: { 200: DeviceTypes } },
  'POST /api/devices/:id/command': {
    access: 'guest',
    tags,
    params,
    body: CommandRequest,
    response: { 202: DeviceCommand },
  },
  'GET /api/favourites': { access: 'guest', tags, response: { 200: Favourites } },
  'PUT /api/favourites': { access: 'guest', tags, body: Favourites, response: { 200: Favourites } },
  'GET /api/unknown-devices': { access: forAdmins, tags, querystring: PageQuery, response: { 200: UnknownDevices } },
  'POST /api/unknown-devices/:externalId/accept': {
    access: forAdmins,
    tags,
    description:
      '201: added, with the type of its handshake and the login that the broker has. 202: its type is not known; it is added with its next handshake. If only its login was seen (`loginRefused`), it may log in within 10 minutes with the token that it presented. 409: different tokens were presented for this id.',
    params: ExternalIdParams,
    body: AcceptUnknownDevice,
    response: { 201: Device, 202: UnknownDevice },
  },
  'POST /api/unknown-devices/:externalId/block': block,
  'DELETE /api/unknown-devices/:externalId/block': block,
  'DELETE /api/unknown-devices/:externalId': {
    access: forAdmins,
    tags,
    params: ExternalIdParams,
    response: noContent,
  },
  'GET /api/zones': { access: 'guest', tags: ['zones'], querystring: PageQuery, response: { 200: Zones } },
  'POST /api/zones': { access: forAdmins, tags: ['zones'], body: NewZone, response: { 201: Zone } },
  'PUT /api/zones/order': { access: forAdmins, tags: ['zones'], body: ZoneOrder, response: noContent },
  'PATCH /api/zones/:id': { access: forAdmins, tags: ['zones'], params, body: NewZone, response: { 200: Zone } },
  'DELETE /api/zones/:id': { access: forAdmins, tags: ['zones'], params, response: noContent },
} satisfies RouteTable;
