import { Type } from 'typebox';
import { AgentSettings } from '@station/protocol/rest';
import type { SettingsStore } from '../../settings/settings-store.ts';
import type { HttpServer } from '../server.ts';

/** Name of the setting that holds the Wi-Fi for new devices. */
export const wifiSetting = 'wifi';

/** POST /api/settings/agent: what the agent forwards (specification, "Wi-Fi watchdog", 6). */
export async function registerSettingsRoutes(
  app: HttpServer,
  { settings }: { settings: SettingsStore },
): Promise<void> {
  app.post(
    '/api/settings/agent',
    {
      config: { access: 'agent' },
      schema: { tags: ['settings'], body: AgentSettings, response: { 204: Type.Null() } },
    },
    async (request, reply) => {
      await settings.writeSecret(wifiSetting, request.body.wifi);
      return reply.code(204).send(null);
    },
  );
}
