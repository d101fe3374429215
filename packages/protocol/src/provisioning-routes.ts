import { Type } from 'typebox';
import { DevicesWifi, DevicesWifiRequest } from './devices-wifi.ts';
import {
  DeviceLoginSheet,
  ManualAdd,
  ManualProvisionings,
  Provisioning,
  ProvisioningAdd,
  ProvisioningStarted,
  ProvisioningView,
} from './provisioning.ts';
import { AgentSettings, AgentWifi, DeviceWifi, DeviceWifiPut } from './rest.ts';
import { forAdmins, IdParams as params, noContent, type RouteTable } from './route.ts';

const ofWifi = { access: forAdmins, tags: ['devices'] };
const ofSettings = { tags: ['settings'] };
const ofProvisioning = { access: forAdmins, tags: ['provisioning'] };
const agentWifi = { ...ofSettings, access: 'agent', body: AgentSettings, response: noContent } as const;
const add = { ...ofProvisioning, body: ProvisioningAdd, response: { 202: ProvisioningStarted } };

/** How devices are added, and which Wi-Fi they get (contracts, sections 9 to 11). */
export const provisioningRoutes = {
  'POST /api/settings/agent': agentWifi,
  'POST /api/agent/wifi': agentWifi,
  'GET /api/agent/wifi': { ...ofSettings, access: 'agent', response: { 200: AgentWifi } },
  'GET /api/settings/wifi': { ...ofSettings, access: forAdmins, response: { 200: DeviceWifi } },
  'PUT /api/settings/wifi': { ...ofSettings, access: forAdmins, body: DeviceWifiPut, response: { 200: DeviceWifi } },
  'DELETE /api/settings/wifi': { ...ofSettings, access: forAdmins, response: noContent },
  'GET /api/devices/wifi': { ...ofWifi, response: { 200: DevicesWifi } },
  'POST /api/devices/wifi': {
    ...ofWifi,
    body: Type.Union([Type.Null(), DevicesWifiRequest]),
    response: { 202: DevicesWifi },
  },
  'POST /api/devices/wifi/cancel': { ...ofWifi, response: { 200: DevicesWifi } },
  'DELETE /api/devices/wifi/offer': { ...ofWifi, response: noContent },
  'GET /api/provisioning': { ...ofProvisioning, response: { 200: ProvisioningView } },
  'POST /provisioning/add': add,
  'POST /api/provisioning/add': add,
  'POST /api/provisioning/manual': { ...ofProvisioning, body: ManualAdd, response: { 201: ManualProvisionings } },
  'DELETE /api/provisioning/:id': { ...ofProvisioning, params, response: { 200: Provisioning } },
  'POST /api/provisioning/:id/login': { ...ofProvisioning, params, response: { 200: DeviceLoginSheet } },
} satisfies RouteTable;
