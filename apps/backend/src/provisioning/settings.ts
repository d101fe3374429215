import { Type } from 'typebox';
import { isoTime } from '@station/kit/clock';
import {
  AgentSettings,
  AgentWifi,
  type AgentWifi as AgentWifiBody,
  DeviceWifi,
  type DeviceWifi as DeviceWifiBody,
  DeviceWifiPut,
} from '@station/protocol/rest';
import type { HttpServer } from '../http/server.ts';
import { type SettingsStore, wifiSetting } from './settings-store.ts';
import type { WifiOffers } from './wifi-offer.ts';
import { checkJoinedPassword, type CheckWifiPassword } from './wifi-password.ts';

type SettingsParts = {
  settings: SettingsStore;
  offers: WifiOffers;
  checkPassword: CheckWifiPassword;
  onOffer: () => Promise<void>;
};

/** What the agent forwards (specification, "Wi-Fi watchdog", 6), and what people set: the Wi-Fi that new devices get. */
export async function registerSettingsRoutes(
  app: HttpServer,
  { settings, offers, checkPassword, onOffer }: SettingsParts,
): Promise<void> {
  const agentSchema = { tags: ['settings'], body: AgentSettings, response: { 204: Type.Null() } };
  for (const url of ['/api/settings/agent', '/api/agent/wifi']) {
    app.post(url, { config: { access: 'agent' }, schema: agentSchema }, async (request, reply) => {
      const { wifi } = request.body;
      checkJoinedPassword(wifi);
      const isChanged = await offers.noteStationWifi(wifi);
      if (isChanged) await onOffer();
      return reply.code(204).send(null);
    });
  }
  app.get(
    '/api/agent/wifi',
    { config: { access: 'agent' }, schema: { tags: ['settings'], response: { 200: AgentWifi } } },
    async () => ({ wifi: await readAgentWifi(settings) }),
  );
  registerWifiRoutes(app, settings, checkPassword);
}

async function readAgentWifi(settings: SettingsStore): Promise<AgentWifiBody['wifi']> {
  const wifi = await settings.readSecret(wifiSetting, AgentSettings.properties.wifi);
  if (wifi === null) return null;
  const updatedAt = await settings.updatedAt(wifiSetting);
  return {
    ssid: wifi.ssid,
    security: wifi.security ?? null,
    updatedAt: updatedAt === null ? null : isoTime(updatedAt),
  };
}

/** /api/settings/wifi: the password goes in and never comes out. */
function registerWifiRoutes(app: HttpServer, settings: SettingsStore, checkPassword: CheckWifiPassword): void {
  const schema = { tags: ['settings'] };
  const access = { station: 'admin' } as const;
  const read = async (): Promise<DeviceWifiBody> => {
    const wifi = await settings.readSecret(wifiSetting, AgentSettings.properties.wifi);
    if (wifi === null) return { ssid: null, isOpen: false, updatedAt: null };
    const updatedAt = await settings.updatedAt(wifiSetting);
    return { ssid: wifi.ssid, isOpen: wifi.password === '', updatedAt: updatedAt === null ? null : isoTime(updatedAt) };
  };
  app.get('/api/settings/wifi', { config: { access }, schema: { ...schema, response: { 200: DeviceWifi } } }, read);
  app.put(
    '/api/settings/wifi',
    { config: { access }, schema: { ...schema, body: DeviceWifiPut, response: { 200: DeviceWifi } } },
    async (request) => {
      await checkPassword(request.body);
      await settings.writeSecret(wifiSetting, request.body);
      return read();
    },
  );
  app.delete(
    '/api/settings/wifi',
    { config: { access }, schema: { ...schema, response: { 204: Type.Null() } } },
    async (_request, reply) => {
      await settings.remove(wifiSetting);
      return reply.code(204).send(null);
    },
  );
}
