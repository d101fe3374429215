import { isoTime } from '@station/kit/clock';
import { knownLanguage, type Language } from '@station/protocol/languages';
import type { ChannelFault, PushContent, WebhookNotification } from '@station/protocol/notifications';
import type { AddressGuard, GuardedAnswer, GuardedHttp } from '../core/adapters/guarded-http.ts';
import { type MailAnswer, sendMail } from './adapters/mail-client.ts';
import { type Alert, isUrgent, topicOf } from './alert.ts';
import type { KeptSettings } from './notification-settings.ts';
import { render, shortened } from './render.ts';
import { pushRequest, type PushKeys, type VapidKey } from './web-push.ts';

export type Outcome =
  | { kind: 'sent' }
  /** `detail`: in English, without secrets. */
  | { kind: 'failed'; fault: ChannelFault; detail: string; retryAfterMs: number | null };

/** One message for one receiver. `at`: when it was made, milliseconds since the epoch. */
export type Parcel = { id: string; alert: Alert; at: number };

type Station = { id: string; name: string };

export type ChannelParts = {
  /** To public addresses and those of AUTOMATION_WEBHOOK_ALLOW: addresses that members enter, and webhooks. */
  publicHttp: Pick<GuardedHttp, 'send'>;
  /** Also to the networks of homes: servers that an admin enters. */
  homeHttp: Pick<GuardedHttp, 'send'>;
  homeGuard: AddressGuard;
  station: () => Promise<Station>;
  vapid: () => Promise<VapidKey>;
  /** `mailto:` address of the owner. */
  subject: () => Promise<string>;
  now: () => number;
  signal: AbortSignal;
};

export type Channels = {
  push(parcel: Parcel, to: PushKeys, language: Language): Promise<Outcome>;
  email(parcel: Parcel, server: Kept<'mail'>, to: string, language: Language): Promise<Outcome>;
  ntfy(parcel: Parcel, server: Kept<'ntfy'>): Promise<Outcome>;
  webhook(parcel: Parcel, target: Kept<'webhook'>): Promise<Outcome>;
};

type Kept<Name extends 'mail' | 'ntfy' | 'webhook'> = NonNullable<KeptSettings[Name]>;

export const createChannels = (parts: ChannelParts): Channels => ({
  push: (parcel, to, language) => sendPush(parts, parcel, to, language),
  email: async (parcel, server, to, language) => {
    const { name } = await parts.station();
    const { title, text } = render(parcel.alert, language);
    const body = [text, `— ${name}`].filter((line) => line !== '').join('\n\n');
    const mail = { id: parcel.id, to, fromName: name, subject: `${name}: ${title}`, text: `${body}\n` };
    // A mail on its way when the station stops is sent again at the next start, as the same mail.
    return mailOutcome(await sendMail(server, mail, { guard: parts.homeGuard, signal: parts.signal }));
  },
  ntfy: (parcel, server) => sendNtfy(parts, parcel, server),
  webhook: (parcel, target) => callWebhook(parts, parcel, target),
});

/** Of a body in a push message, which holds about 3,000 bytes. */
const longestPushText = 900;
const pushTtlSeconds = 24 * 60 * 60;

async function sendPush(
  { publicHttp, station, vapid, subject, now, signal }: ChannelParts,
  { id, alert }: Parcel,
  to: PushKeys,
  lang: Language,
): Promise<Outcome> {
  const { title, text, path } = render(alert, lang);
  const { name } = await station();
  const body = [text, name].filter((line) => line !== '').join('\n');
  const content: PushContent = {
    title: shortened(title, 200),
    body: shortened(body, longestPushText),
    tag: id,
    path,
    lang,
  };
  const { headers, body: encrypted } = await pushRequest({
    to,
    content: JSON.stringify(content),
    key: await vapid(),
    subject: await subject(),
    now: now(),
    isUrgent: isUrgent(alert),
    topic: id.replaceAll('-', ''),
    ttlSeconds: pushTtlSeconds,
  });
  const answer = await publicHttp.send({ url: to.endpoint, method: 'POST', headers, body: encrypted, signal });
  const isGone = answer.kind === 'answered' && (answer.statusCode === 404 || answer.statusCode === 410);
  if (isGone) return { kind: 'failed', fault: 'gone', detail: 'The browser ended it.', retryAfterMs: null };
  return httpOutcome(answer);
}

/** Publishes as JSON; a message with a known `sequence_id` replaces the earlier one (ntfy 2.16 and later). */
async function sendNtfy(
  { homeHttp, signal }: ChannelParts,
  { id, alert }: Parcel,
  { url, topic, token, language }: Kept<'ntfy'>,
): Promise<Outcome> {
  const { title, text } = render(alert, knownLanguage(language));
  const body = {
    topic,
    title,
    message: text === '' ? title : text,
    priority: isUrgent(alert) ? 4 : 3,
    sequence_id: id,
  };
  const headers = {
    'content-type': 'application/json',
    ...(token !== '' && { authorization: `Bearer ${token}` }),
  };
  return httpOutcome(await homeHttp.send({ url, method: 'POST', headers, body: JSON.stringify(body), signal }));
}

async function callWebhook(
  { publicHttp, station, signal }: ChannelParts,
  { id, alert, at }: Parcel,
  { url, language }: Kept<'webhook'>,
): Promise<Outcome> {
  const { title, text } = render(alert, knownLanguage(language));
  const body: WebhookNotification = {
    id,
    station: await station(),
    kind: alert.kind,
    urgent: isUrgent(alert),
    title,
    text,
    at: isoTime(at),
    topic: alert.kind === 'test' ? 'test' : topicOf[alert.kind],
  };
  const headers = { 'content-type': 'application/json', 'idempotency-key': id };
  return httpOutcome(await publicHttp.send({ url, method: 'POST', headers, body: JSON.stringify(body), signal }));
}

function httpOutcome(answer: GuardedAnswer): Outcome {
  if (answer.kind === 'failed')
    return { kind: 'failed', fault: answer.cause, detail: answer.reason, retryAfterMs: null };
  const { statusCode, retryAfterMs } = answer;
  if (statusCode >= 200 && statusCode < 300) return { kind: 'sent' };
  return { kind: 'failed', fault: faultOf(statusCode), detail: `It answered with status ${statusCode}.`, retryAfterMs };
}

function faultOf(statusCode: number): ChannelFault {
  if (statusCode === 401 || statusCode === 403) return 'login_refused';
  if (statusCode === 429) return 'limited';
  return statusCode >= 400 && statusCode < 500 ? 'refused' : 'failed';
}

function mailOutcome(answer: MailAnswer): Outcome {
  if (answer.kind === 'sent') return answer;
  const fault = answer.cause === 'login' ? 'login_refused' : answer.cause;
  return { kind: 'failed', fault, detail: answer.detail, retryAfterMs: null };
}
