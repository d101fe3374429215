import { isoTime } from '@station/kit/clock';
import { AgentSettings, type AgentWifi, type DeviceWifi } from '@station/protocol/rest';
import { serve } from '../http/serve.ts';
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
  for (const route of ['POST /api/settings/agent', 'POST /api/agent/wifi'] as const) {
    serve(app, route, async (request, reply) => {
      const { wifi } = request.body;
      checkJoinedPassword(wifi);
      const isChanged = await offers.noteStationWifi(wifi);
      if (isChanged) await onOffer();
      return reply.code(204).send(null);
    });
  }
  serve(app, 'GET /api/agent/wifi', async () => ({ wifi: await readAgentWifi(settings) }));
  registerWifiRoutes(app, settings, checkPassword);
}

async function readAgentWifi(settings: SettingsStore): Promise<AgentWifi['wifi']> {
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
  const read = async (): Promise<DeviceWifi> => {
    const wifi = await settings.readSecret(wifiSetting, AgentSettings.properties.wifi);
    if (wifi === null) return { ssid: null, isOpen: false, updatedAt: null };
    const updatedAt = await settings.updatedAt(wifiSetting);
    return { ssid: wifi.ssid, isOpen: wifi.password === '', updatedAt: updatedAt === null ? null : isoTime(updatedAt) };
  };
  serve(app, 'GET /api/settings/wifi', read);
  serve(app, 'PUT /api/settings/wifi', async (request) => {
    await checkPassword(request.body);
    await settings.writeSecret(wifiSetting, request.body);
    return read();
  });
  serve(app, 'DELETE /api/settings/wifi', async (_request, reply) => {
    await settings.remove(wifiSetting);
    return reply.code(204).send(null);
  });
}
