import { Type } from 'typebox';
import {
  Accepted,
  AutoUpdateRequest,
  AutoUpdateResult,
  CheckResult,
  HotspotLogin,
  Status,
  UpdateResult,
  Version,
} from './agent-api.ts';
import { LogQuery, Machine, ServiceRestartRequest } from './agent-machine.ts';
import { NetworkJoinRequest, NetworkState } from './agent-network.ts';
import { SystemDoctor } from './doctor.ts';
import { ErrorBody } from './errors.ts';
import { StationClock, StationClockRequest, SystemUpdateRequest } from './rest.ts';
import { forOperators, type RouteTable } from './route.ts';

const tags = ['system'];
const begun = { 202: Type.Object({}) };

/** The agent's API for people, the clock and the doctor (contracts, section 9). */
export const systemRoutes = {
  'GET /api/system/status': { access: 'user', tags, response: { 200: Status } },
  'GET /api/system/version': { access: 'user', tags, response: { 200: Version } },
  'GET /api/system/hotspot': { access: { roles: ['owner'] }, tags, response: { 200: HotspotLogin } },
  'GET /api/system/events': { access: 'user', tags },
  'POST /api/system/check': { access: forOperators, tags, response: { 200: CheckResult } },
  'POST /api/system/update': {
    access: forOperators,
    tags,
    body: Type.Union([Type.Null(), SystemUpdateRequest]),
    response: { 200: UpdateResult, 202: Accepted },
  },
  'POST /api/system/rollback': { access: forOperators, tags, response: { 202: Accepted } },
  'PUT /api/system/auto-update': {
    access: forOperators,
    tags,
    body: AutoUpdateRequest,
    response: { 200: AutoUpdateResult },
  },
  'POST /api/agent/restart': { access: 'agent', tags, response: { 202: Type.Null() } },
  'GET /api/system/machine': { access: forOperators, tags, response: { 200: Machine } },
  'POST /api/system/machine/restart': { access: forOperators, tags, response: begun },
  'POST /api/system/services/restart': {
    access: forOperators,
    tags,
    body: ServiceRestartRequest,
    response: begun,
  },
  'GET /api/system/network': { access: forOperators, tags, response: { 200: NetworkState } },
  'POST /api/system/network/scan': { access: forOperators, tags, response: { 200: NetworkState } },
  'POST /api/system/network/join': { access: forOperators, tags, body: NetworkJoinRequest, response: begun },
  'GET /api/system/logs': { access: forOperators, tags, querystring: LogQuery },
  'GET /api/system/clock': { access: 'user', tags, response: { 200: StationClock } },
  'POST /api/system/clock': {
    access: forOperators,
    tags,
    body: StationClockRequest,
    response: { 200: StationClock, 400: ErrorBody, 409: ErrorBody, 502: ErrorBody },
  },
  'GET /api/system/doctor': { access: forOperators, tags, response: { 200: SystemDoctor } },
  'GET /api/system/diagnostics': { access: forOperators, tags },
} satisfies RouteTable;
