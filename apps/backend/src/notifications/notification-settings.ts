import { type Static, type TSchema, Type } from 'typebox';
import {
  type NotificationRules,
  StationNotifications,
  type StationNotificationsPut,
} from '@station/protocol/notifications';
import { Nullable } from '@station/protocol/nullable';
import { makeVapidKey, VapidKey } from './web-push.ts';

const shown = StationNotifications.properties;

/** What is kept, encrypted: it holds passwords and tokens. */
const KeptSettings = Type.Object({
  rules: shown.rules,
  mail: Nullable(
    Type.Object({
      host: Type.String(),
      port: Type.Integer(),
      security: Type.Enum(['tls', 'starttls', 'none']),
      username: Type.String(),
      password: Type.String(),
      from: Type.String(),
    }),
  ),
  ntfy: Nullable(
    Type.Object({
      url: Type.String(),
      topic: Type.String(),
      token: Type.String(),
      topics: Type.Array(Type.String()),
      language: Type.String(),
    }),
  ),
  webhook: Nullable(Type.Object({ url: Type.String(), topics: Type.Array(Type.String()), language: Type.String() })),
});
export type KeptSettings = Static<typeof KeptSettings>;

const usualRules: NotificationRules = {
  offlineMinutes: 15,
  batteryPercent: 15,
  updates: true,
  conditions: true,
};
const usual: KeptSettings = { rules: usualRules, mail: null, ntfy: null, webhook: null };

/** The settings of the station, as the composition root hands them in. */
export type SettingsPort = {
  readSecret<T extends TSchema>(key: string, schema: T): Promise<Static<T> | null>;
  writeSecret(key: string, value: unknown): Promise<void>;
};

const settingsKey = 'notifications';
const vapidKey = 'notifications_vapid';

export type NotificationSettings = {
  read(): Promise<KeptSettings>;
  change(put: StationNotificationsPut): Promise<KeptSettings>;
  /** Made at the first call. */
  vapid(): Promise<VapidKey>;
};

export function createNotificationSettings(settings: SettingsPort): NotificationSettings {
  const read = async (): Promise<KeptSettings> => (await settings.readSecret(settingsKey, KeptSettings)) ?? usual;
  const openVapid = async (): Promise<VapidKey> => {
    const known = await settings.readSecret(vapidKey, VapidKey);
    if (known !== null) return known;
    const made = makeVapidKey();
    await settings.writeSecret(vapidKey, made);
    // Read back: another replica may have written its own meanwhile.
    return (await settings.readSecret(vapidKey, VapidKey)) ?? made;
  };
  let vapid: Promise<VapidKey> | null = null;
  return {
    read,
    change: async (put) => {
      const changed = changedSettings(await read(), put);
      await settings.writeSecret(settingsKey, changed);
      return changed;
    },
    vapid: () => {
      vapid ??= openVapid();
      vapid.catch(() => (vapid = null));
      return vapid;
    },
  };
}

/** What admins may see of it. */
export function shownSettings({ rules, mail, ntfy, webhook }: KeptSettings): StationNotifications {
  const withoutPassword = mail && (({ password: _password, ...rest }) => rest)(mail);
  const withoutToken = ntfy && (({ token: _token, ...rest }) => rest)(ntfy);
  return {
    rules,
    mail: withoutPassword && { ...withoutPassword, hasPassword: mail?.password !== '' },
    ntfy: withoutToken && ({ ...withoutToken, hasToken: ntfy?.token !== '' } as StationNotifications['ntfy']),
    // The path of a webhook is often its key.
    webhook:
      webhook &&
      ({
        topics: webhook.topics,
        language: webhook.language,
        origin: URL.parse(webhook.url)?.origin ?? '',
      } as StationNotifications['webhook']),
  };
}

/** An absent secret stays while the server stays the same: it must not reach a server that somebody else entered. */
function changedSettings(kept: KeptSettings, put: StationNotificationsPut): KeptSettings {
  const { rules, mail, ntfy, webhook } = put;
  const isSameMail = mail !== null && kept.mail?.host === mail.host && kept.mail.username === mail.username;
  const isSameNtfy = ntfy !== null && kept.ntfy?.url === ntfy.url;
  const url = webhook?.url ?? kept.webhook?.url;
  return {
    rules,
    mail: mail && { ...mail, password: mail.password ?? (isSameMail ? (kept.mail?.password ?? '') : '') },
    ntfy: ntfy && { ...ntfy, token: ntfy.token ?? (isSameNtfy ? (kept.ntfy?.token ?? '') : '') },
    webhook: webhook && url !== undefined ? { topics: webhook.topics, language: webhook.language, url } : null,
  };
}
