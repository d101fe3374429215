import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { type Clock, isoTime } from '@station/kit/clock';
import {
  AgentSettings,
  AgentWifi,
  type AgentWifi as AgentWifiBody,
  DeviceWifi,
  type DeviceWifi as DeviceWifiBody,
  DeviceWifiPut,
} from '@station/protocol/rest';
import type { HttpServer } from '../http/server.ts';
import type { Database } from '../store/schema.ts';
import type { SecretBox } from '../store/secret-box.ts';

/** Settings by name, JSON values; the secret ones are encrypted. */
type SettingsStore = {
  /** Null when it was never set, or what is kept does not fit the schema any more. */
  read<T extends TSchema>(key: string, schema: T): Promise<Static<T> | null>;
  write(key: string, value: unknown): Promise<void>;
  /** Null also when the key it was encrypted with is gone. */
  readSecret<T extends TSchema>(key: string, schema: T): Promise<Static<T> | null>;
  writeSecret(key: string, value: unknown): Promise<void>;
  /** Epoch milliseconds; null when it was never set. */
  updatedAt(key: string): Promise<number | null>;
  remove(key: string): Promise<void>;
};

export function createSettingsStore({ db, box, clock }: { db: Database; box: SecretBox; clock: Clock }): SettingsStore {
  const readText = async (key: string): Promise<string | null> => {
    const row = await db.selectFrom('settings').select('value').where('key', '=', key).executeTakeFirst();
    return row?.value ?? null;
  };
  const writeText = async (key: string, value: string): Promise<void> => {
    const set = { value, updated_at: clock.now() };
    await db
      .insertInto('settings')
      .values({ key, ...set })
      .onConflict((conflict) => conflict.column('key').doUpdateSet(set))
      .execute();
  };
  const fitting = <T extends TSchema>(text: string | null, schema: T): Static<T> | null => {
    if (text === null) return null;
    const value: unknown = JSON.parse(text);
    return Value.Check(schema, value) ? value : null;
  };
  return {
    read: async (key, schema) => fitting(await readText(key), schema),
    write: (key, value) => writeText(key, JSON.stringify(value)),
    readSecret: async (key, schema) => {
      const sealed = await readText(key);
      return fitting(sealed === null ? null : box.open(sealed, key), schema);
    },
    writeSecret: (key, value) => writeText(key, box.seal(JSON.stringify(value), key)),
    updatedAt: async (key) => {
      const row = await db.selectFrom('settings').select('updated_at').where('key', '=', key).executeTakeFirst();
      return row?.updated_at ?? null;
    },
    remove: async (key) => {
      await db.deleteFrom('settings').where('key', '=', key).execute();
    },
  };
}

/** Name of the setting that holds the Wi-Fi for new devices. */
const wifiSetting = 'wifi';

/** What the agent forwards (specification, "Wi-Fi watchdog", 6), and what people set: the Wi-Fi that new devices get. */
export async function registerSettingsRoutes(
  app: HttpServer,
  { settings }: { settings: SettingsStore },
): Promise<void> {
  const agentSchema = { tags: ['settings'], body: AgentSettings, response: { 204: Type.Null() } };
  for (const url of ['/api/settings/agent', '/api/agent/wifi']) {
    app.post(url, { config: { access: 'agent' }, schema: agentSchema }, async (request, reply) => {
      await settings.writeSecret(wifiSetting, request.body.wifi);
      return reply.code(204).send(null);
    });
  }
  app.get(
    '/api/agent/wifi',
    { config: { access: 'agent' }, schema: { tags: ['settings'], response: { 200: AgentWifi } } },
    async () => ({ wifi: await readAgentWifi(settings) }),
  );
  registerWifiRoutes(app, settings);
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
function registerWifiRoutes(app: HttpServer, settings: SettingsStore): void {
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
