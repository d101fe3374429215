import { Type, type Static } from 'typebox';
import { languages, type Language as LanguageCode } from './languages.ts';
import { Nullable } from './nullable.ts';
import { Id, Time } from './rest.ts';
import { httpAddress, timeOfDay } from './text-fields.ts';

/** Bodies of `/api/notifications`: what people want to be told, and where it goes (ADR 55). */

const closed = { additionalProperties: false } as const;

/** What a notification is about; people choose by it. */
export const notificationTopics = ['devices', 'battery', 'updates', 'conditions', 'automations'] as const;
export type NotificationTopic = (typeof notificationTopics)[number];
const Topics = Type.Array(Type.Enum([...notificationTopics]), { maxItems: 10, uniqueItems: true });

export const notificationChannels = ['push', 'email', 'ntfy', 'webhook'] as const;
export const NotificationChannel = Type.Enum([...notificationChannels]);
export type NotificationChannel = Static<typeof NotificationChannel>;

const Language = Type.Enum(languages);

/** Why a message did not arrive. */
const channelFaults = [
  /** No connection, or no answer in time. */
  'no_answer',
  'certificate',
  'login_refused',
  /** The address is private, and AUTOMATION_WEBHOOK_ALLOW does not name it. */
  'not_allowed',
  /** Too many messages, for the service. */
  'limited',
  /** The service does not take this message, sender or receiver. */
  'refused',
  /** The browser no longer takes notifications. */
  'gone',
  'failed',
] as const;
const ChannelFault = Type.Enum([...channelFaults]);
export type ChannelFault = Static<typeof ChannelFault>;

const TimeOfDay = Type.String(timeOfDay);
const QuietHours = Nullable(
  Type.Object({ from: TimeOfDay, to: TimeOfDay }, { ...closed, description: 'In the time zone of the station.' }),
);
export type QuietHours = Static<typeof QuietHours>;

/** PUT /api/notifications/preferences: of the user who asks. */
export const NotificationPreferences = Type.Object(
  {
    email: Type.Boolean({ description: 'To the e-mail address of the account.' }),
    topics: Topics,
    quiet: QuietHours,
    language: Type.Unsafe<LanguageCode>({ ...Language, description: 'Of e-mails; a browser has its own.' }),
  },
  closed,
);
export type NotificationPreferences = Static<typeof NotificationPreferences>;

/** A channel as people see it. `sentAt`: the last message that arrived. */
const ChannelState = Type.Object({
  isSet: Type.Boolean(),
  sentAt: Nullable(Time),
  fault: Nullable(Type.Object({ reason: ChannelFault, since: Time })),
  waiting: Type.Integer({ description: 'Messages that were tried and wait for another try.' }),
});
export type ChannelState = Static<typeof ChannelState>;

export const NotificationsView = Type.Object({
  preferences: NotificationPreferences,
  email: Type.String({ description: 'The e-mail address of the account.' }),
  push: Type.Object({
    publicKey: Type.String({ description: 'For `applicationServerKey` of `pushManager.subscribe` (RFC 8292).' }),
    subscriptions: Type.Array(
      Type.Object({ id: Id, isThisSession: Type.Boolean(), userAgent: Nullable(Type.String()), since: Time }),
    ),
  }),
  channels: Type.Object({ push: ChannelState, email: ChannelState, ntfy: ChannelState, webhook: ChannelState }),
});
export type NotificationsView = Static<typeof NotificationsView>;

const urlSafeBase64 = (bytes: number) =>
  Type.String({ pattern: `^[A-Za-z0-9_-]{${Math.ceil((bytes * 4) / 3)}}=*$`, expected: `${bytes} bytes in Base64url` });

/** PUT /api/notifications/push: this browser, as `PushSubscription.toJSON()` describes it. It ends with the session. */
export const PushSubscriptionPut = Type.Object(
  {
    endpoint: Type.String({ minLength: 10, maxLength: 1000, ...httpAddress }),
    keys: Type.Object({ p256dh: urlSafeBase64(65), auth: urlSafeBase64(16) }, closed),
    language: Language,
  },
  closed,
);
export type PushSubscriptionPut = Static<typeof PushSubscriptionPut>;
export const PushSubscribed = Type.Object({ id: Id });

const Host = Type.String({
  minLength: 1,
  maxLength: 253,
  pattern: '^[A-Za-z0-9._:-]+$',
  expected: 'the name or IP address of a server',
});
const HttpUrl = Type.String({
  minLength: 8,
  maxLength: 1000,
  pattern: '^https?://[^\\s]+$',
  expected: 'an address with http:// or https://, without blanks',
});
const MailAddress = Type.String({
  minLength: 3,
  maxLength: 254,
  pattern: '^[^\\s@<>,;"]+@[^\\s@<>,;"]+$',
  expected: 'an e-mail address',
});
const Secret = Type.String({ maxLength: 500 });

const mailServer = {
  host: Host,
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  security: Type.Enum(['tls', 'starttls', 'none'], { description: '`none`: only without a user name.' }),
  username: Type.String({ maxLength: 254 }),
  from: MailAddress,
};
const ntfyTopic = {
  url: HttpUrl,
  topic: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', expected: '1 to 64 letters, digits, "_" and "-"' }),
  topics: Topics,
  language: Language,
};
const webhook = { topics: Topics, language: Language };

const minutes = Type.Integer({ minimum: 1, maximum: 1440 });
/** When something is worth a message; null: never. */
const NotificationRules = Type.Object(
  {
    offlineMinutes: Nullable(minutes),
    batteryPercent: Nullable(Type.Integer({ minimum: 1, maximum: 90 })),
    updates: Type.Boolean(),
    conditions: Type.Boolean(),
  },
  closed,
);
export type NotificationRules = Static<typeof NotificationRules>;

/** GET /api/notifications/station (admin). Passwords, tokens and the path of the webhook never leave the station. */
export const StationNotifications = Type.Object({
  rules: NotificationRules,
  mail: Nullable(Type.Object({ ...mailServer, hasPassword: Type.Boolean() })),
  ntfy: Nullable(Type.Object({ ...ntfyTopic, hasToken: Type.Boolean() })),
  webhook: Nullable(Type.Object({ ...webhook, origin: Type.String() })),
});
export type StationNotifications = Static<typeof StationNotifications>;

export const MailServerPut = Type.Object({ ...mailServer, password: Type.Optional(Secret) }, closed);
export const NtfyPut = Type.Object({ ...ntfyTopic, token: Type.Optional(Secret) }, closed);
export const WebhookPut = Type.Object({ ...webhook, url: Type.Optional(HttpUrl) }, closed);

/** PUT /api/notifications/station. An absent secret stays as it is while the server stays the same. */
export const StationNotificationsPut = Type.Object(
  {
    rules: NotificationRules,
    mail: Nullable(MailServerPut),
    ntfy: Nullable(NtfyPut),
    webhook: Nullable(WebhookPut),
  },
  closed,
);
export type StationNotificationsPut = Static<typeof StationNotificationsPut>;

/** POST /api/notifications/test (member: push to this session, e-mail to their own address), /station/test (admin). */
export const OwnTest = Type.Object({ channel: Type.Enum(['push', 'email']) }, closed);
export const StationTest = Type.Object({ channel: Type.Enum(['ntfy', 'webhook']) }, closed);
/** `fault` null: the service has taken the message. `detail`: what it answered, in English, without secrets. */
export const TestResult = Type.Object({ fault: Nullable(ChannelFault), detail: Nullable(Type.String()) });
export type TestResult = Static<typeof TestResult>;

/** The body of a webhook. */
export const WebhookNotification = Type.Object({
  id: Type.String({ description: 'The same for each try of a message.' }),
  station: Type.Object({ id: Type.String(), name: Type.String() }),
  topic: Type.String({ description: 'From the catalogue, or `test`.' }),
  kind: Type.String(),
  urgent: Type.Boolean(),
  title: Type.String(),
  text: Type.String(),
  at: Time,
});
export type WebhookNotification = Static<typeof WebhookNotification>;

/** What a browser gets as a push message; the service worker shows it. */
export type PushContent = { title: string; body: string; tag: string; path: string; lang: LanguageCode };
