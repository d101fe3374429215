import { AnnouncedDeviceTypes, FirmwareReady, OtaCheck, OtaCheckQuery, OtaDeviceTypes, OtaReport } from './firmware.ts';
import { FirmwareList, NewRollout, Rollout, RolloutDetails, Rollouts } from './firmware-rollouts.ts';
import { PageQuery } from './rest.ts';
import { forAdmins, IdParams as params, noContent, type RouteTable } from './route.ts';

const tags = ['firmware'];
const act = { access: forAdmins, tags, params, response: { 200: Rollout } };
const ota = { tags: ['ota'] };

/** Firmware for people, and /api/ota for agent and devices (contracts, section 9). */
export const firmwareRoutes = {
  'GET /api/firmware': { access: 'user', tags, querystring: PageQuery, response: { 200: FirmwareList } },
  'GET /api/firmware/rollouts': { access: 'user', tags, querystring: PageQuery, response: { 200: Rollouts } },
  'GET /api/firmware/rollouts/:id': {
    access: 'user',
    tags,
    params,
    querystring: PageQuery,
    response: { 200: RolloutDetails },
  },
  'POST /api/firmware/rollouts': { access: forAdmins, tags, body: NewRollout, response: { 201: RolloutDetails } },
  'POST /api/firmware/rollouts/:id/approve': act,
  'POST /api/firmware/rollouts/:id/pause': act,
  'POST /api/firmware/rollouts/:id/resume': act,
  'POST /api/firmware/rollouts/:id/abort': act,
  'GET /api/ota/device-types': { ...ota, access: 'agent', response: { 200: OtaDeviceTypes } },
  'POST /api/ota/device-types': { ...ota, access: 'agent', body: AnnouncedDeviceTypes, response: noContent },
  'POST /api/ota/firmware-ready': { ...ota, access: 'agent', body: FirmwareReady, response: noContent },
  'GET /api/ota/check': { ...ota, access: 'device', querystring: OtaCheckQuery, response: { 200: OtaCheck } },
  'POST /api/ota/report': { ...ota, access: 'device', body: OtaReport, response: noContent },
} satisfies RouteTable;
