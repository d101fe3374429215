import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Mailbox, type PostBox, startMailbox, startPostBox } from '@station/simulators/notifications/receivers';
import { type PushBrowser, type PushService, startPushService } from '@station/simulators/notifications/push-service';
import type { Automation } from '@station/protocol/automations';
import type { BackendCondition } from '@station/protocol/backend-conditions';
import {
  type NotificationPreferences,
  type NotificationsView,
  notificationTopics,
  type StationNotifications,
  type StationNotificationsPut,
  type TestResult,
} from '@station/protocol/notifications';
import type { AddedMember, Session } from '@station/protocol/rest';
import { chain, node } from '../../testing/automation-world.ts';
import { bearer, owner, refreshCookie, runBackend, type RunningBackend } from '../../testing/running-backend.ts';
import { until } from '../../testing/until.ts';

const topics = [...notificationTopics];
const rules = { offlineMinutes: 5, batteryPercent: 20, updates: true, conditions: true };
const preferences: NotificationPreferences = { email: true, topics, quiet: null, language: 'uk' };

/** One station with real receivers; each test continues from the previous one. */
describe('notifications of a running station', () => {
  const day = new AsyncDisposableStack();
  let station: RunningBackend;
  let token: string;
  let mailbox: Mailbox;
  let ntfy: PostBox;
  let webhook: PostBox;
  let service: PushService;
  let browser: PushBrowser;

  const ask = async (method: 'GET' | 'PUT' | 'POST' | 'DELETE', path: string, body?: unknown, as = token) => {
    const payload = body === undefined ? {} : { payload: body as object };
    const response = await station.http.inject({ method, url: path, headers: bearer(as), ...payload });
    return { status: response.statusCode, body: response.body === '' ? null : response.json<unknown>() };
  };
  const view = async (as = token): Promise<NotificationsView> =>
    (await ask('GET', '/api/notifications', undefined, as)).body as NotificationsView;
  const put = (): StationNotificationsPut => ({
    rules,
    mail: { host: '127.0.0.1', port: mailbox.port, security: 'none', username: '', from: 'station@example.org' },
    ntfy: { url: ntfy.url, topic: 'home', token: 'tk_secret', topics, language: 'en' },
    webhook: { url: `${webhook.url}/hook/secret`, topics, language: 'en' },
  });
  const say = async (message: string): Promise<void> => {
    const flow = chain([
      node('at', 'trigger', 'schedule', { time: '12:00' }),
      node('say', 'action', 'notify', { message }),
    ]);
    const { id } = (await ask('POST', '/api/automations', { name: 'Leak', flow })).body as Automation;
    const run = await ask('POST', `/api/automations/${id}/run`);
    assert.ok(run.status < 300, JSON.stringify(run.body));
  };

  before(async () => {
    station = day.use(await runBackend({ env: { AUTOMATION_WEBHOOK_ALLOW: '127.0.0.1' } }));
    ({ accessToken: token } = await station.setUp());
    mailbox = day.use(await startMailbox(null));
    ntfy = day.use(await startPostBox());
    webhook = day.use(await startPostBox());
    service = day.use(await startPushService());
    browser = service.subscribe();
  });
  after(() => day.disposeAsync());

  it('an admin sets up the channels, and no secret comes out again', async () => {
    const changed = (await ask('PUT', '/api/notifications/station', put())).body as StationNotifications;
    assert.deepEqual(changed.ntfy?.hasToken, true);
    assert.equal(changed.webhook?.origin, webhook.url);
    const read = await ask('GET', '/api/notifications/station');
    assert.doesNotMatch(JSON.stringify([changed, read, await view()]), /tk_secret|hook\/secret/);
    const kept = await station.backend.db.selectFrom('settings').selectAll().where('key', 'like', 'notif%').execute();
    assert.doesNotMatch(JSON.stringify(kept), /tk_secret|hook\/secret/);
  });

  it('a token stays while the server stays the same, and never goes to another one', async () => {
    const { ntfy: topic, ...rest } = put();
    const { token: _token, ...without } = topic!;
    const same = await ask('PUT', '/api/notifications/station', { ...rest, ntfy: without });
    assert.equal((same.body as StationNotifications).ntfy?.hasToken, true);
    const moved = { ...without, url: 'https://ntfy.example.org' };
    const other = await ask('PUT', '/api/notifications/station', { ...rest, ntfy: moved });
    assert.equal((other.body as StationNotifications).ntfy?.hasToken, false);
    await ask('PUT', '/api/notifications/station', put());
  });

  it('a password is never sent without encryption', async () => {
    const mail = { ...put().mail!, username: 'station', password: 'secret' };
    assert.equal((await ask('PUT', '/api/notifications/station', { ...put(), mail })).status, 400);
  });

  it('an address that is none is refused, and the settings stay readable', async () => {
    for (const url of ['https://[', 'http://home:99999/', 'https://exa%mple.org/']) {
      const wrong = [
        { ...put(), ntfy: { ...put().ntfy, url } },
        { ...put(), webhook: { ...put().webhook, url } },
      ];
      for (const body of wrong) assert.equal((await ask('PUT', '/api/notifications/station', body)).status, 400, url);
    }
    assert.equal((await ask('GET', '/api/notifications/station')).status, 200);
  });

  it('a browser subscribes, and its test message arrives encrypted for it, in its language', async () => {
    const subscription = { ...browser.subscription, language: 'uk' };
    assert.equal((await ask('POST', '/api/notifications/test', { channel: 'push' })).status, 409);
    assert.equal((await ask('PUT', '/api/notifications/push', subscription)).status, 200);
    const { publicKey, subscriptions } = (await view()).push;
    assert.deepEqual(
      subscriptions.map(({ isThisSession }) => isThisSession),
      [true],
    );
    const result = (await ask('POST', '/api/notifications/test', { channel: 'push' })).body as TestResult;
    assert.deepEqual(result, { fault: null, detail: null });
    const [message] = browser.received;
    assert.equal(message?.sender, publicKey);
    assert.equal(message?.subject, `mailto:${owner.email}`);
    assert.partialDeepStrictEqual(message?.content, { title: 'Пробне повідомлення', lang: 'uk' });
  });

  it('addresses and keys that no push service has are refused', async () => {
    const { endpoint, keys } = browser.subscription;
    const off = 'B'.padEnd(87, 'A');
    for (const wrong of [
      { endpoint: endpoint.replace('127.0.0.1', 'push.example.org'), keys },
      { endpoint, keys: { ...keys, p256dh: off } },
    ])
      assert.equal((await ask('PUT', '/api/notifications/push', { ...wrong, language: 'en' })).status, 400);
  });

  it('a test of each channel arrives, or says why it does not', async () => {
    await ask('PUT', '/api/notifications/preferences', preferences);
    const email = (await ask('POST', '/api/notifications/test', { channel: 'email' })).body;
    assert.deepEqual(email, { fault: null, detail: null });
    assert.deepEqual(mailbox.mails.at(-1)?.to, [owner.email]);
    for (const channel of ['ntfy', 'webhook'])
      assert.deepEqual((await ask('POST', '/api/notifications/station/test', { channel })).body, {
        fault: null,
        detail: null,
      });
    assert.equal(ntfy.posts[0]?.headers.authorization, 'Bearer tk_secret');
    assert.partialDeepStrictEqual(ntfy.posts[0]?.body, { topic: 'home', title: 'Test message' });
    assert.partialDeepStrictEqual(webhook.posts[0]?.body, { topic: 'test', kind: 'test', title: 'Test message' });
    ntfy.answer(403);
    const refused = (await ask('POST', '/api/notifications/station/test', { channel: 'ntfy' })).body as TestResult;
    assert.deepEqual(refused, { fault: 'login_refused', detail: 'It answered with status 403.' });
    ntfy.answer(200);
    mailbox.refuse(550);
    const bounced = (await ask('POST', '/api/notifications/test', { channel: 'email' })).body as TestResult;
    assert.equal(bounced.fault, 'refused');
    mailbox.refuse(null);
  });

  it('what an automation says arrives everywhere, once', async () => {
    const known = [browser.received, mailbox.mails, ntfy.posts, webhook.posts].map(({ length }) => length);
    await say('Water in the bathroom');
    const grown = (): number[] =>
      [browser.received, mailbox.mails, ntfy.posts, webhook.posts].map(({ length }, index) => length - known[index]!);
    await until('it arrives', () => grown().every((count) => count > 0));
    assert.deepEqual(grown(), [1, 1, 1, 1]);
    assert.partialDeepStrictEqual(browser.received.at(-1)?.content, { title: 'Leak', path: '/activity' });
    assert.equal(browser.received.at(-1)?.urgency, 'high');
    assert.match(mailbox.mails.at(-1)?.text ?? '', /Water in the bathroom/);
    assert.partialDeepStrictEqual(webhook.posts.at(-1)?.body, { topic: 'automations', text: 'Water in the bathroom' });
    await until('the queue is empty', async () => (await rowsWaiting()) === 0);
    assert.notEqual((await view()).channels.ntfy.sentAt, null);
  });

  it('a channel that fails three times is a condition, shown with its reason, until it works again', async () => {
    ntfy.answer(500);
    for (const text of ['one', 'two', 'three']) {
      await say(text);
      await until(
        'it was tried',
        async () => (await view()).channels.ntfy.waiting >= ['one', 'two', 'three'].indexOf(text) + 1,
      );
    }
    await until('the fault is shown', async () => (await view()).channels.ntfy.fault?.reason === 'failed');
    const standing = async (): Promise<BackendCondition[]> =>
      ((await ask('GET', '/api/conditions')).body as BackendCondition[]).filter(
        ({ id }) => id === 'notifications_failing',
      );
    assert.deepEqual((await standing())[0]?.details, { channels: ['ntfy'] });
    ntfy.answer(200);
    const before = ntfy.posts.length;
    await ask('POST', '/api/notifications/station/test', { channel: 'ntfy' });
    await until('what waited is sent', () => ntfy.posts.length >= before + 4);
    assert.deepEqual(await standing(), []);
    assert.equal((await view()).channels.ntfy.fault, null);
  });

  it('a member chooses for themself, and gets nothing of the settings', async () => {
    const member = { email: 'taras@example.org', name: 'Taras', role: 'member', password: 'another horse battery' };
    const { userId } = (await ask('POST', '/api/station/members', member)).body as AddedMember;
    const login = { email: member.email, password: member.password };
    const session = await station.http.inject({ method: 'POST', url: '/api/auth/login', payload: login });
    const { accessToken } = session.json<Session>();
    for (const [method, path] of [
      ['GET', '/api/notifications/station'],
      ['PUT', '/api/notifications/station'],
      ['POST', '/api/notifications/station/test'],
    ] as const) {
      const body = method === 'GET' ? undefined : method === 'PUT' ? put() : { channel: 'ntfy' };
      assert.equal((await ask(method, path, body, accessToken)).status, 403);
    }
    const his = service.subscribe();
    await ask('PUT', '/api/notifications/push', { ...his.subscription, language: 'en' }, accessToken);
    await ask(
      'PUT',
      '/api/notifications/preferences',
      { ...preferences, email: false, topics: ['updates'] },
      accessToken,
    );
    assert.equal((await view(accessToken)).push.subscriptions.length, 1);
    const [mine] = (await view()).push.subscriptions;
    assert.equal((await ask('DELETE', `/api/notifications/push/${mine!.id}`, undefined, accessToken)).status, 404);
    const before = browser.received.length;
    await say('Only for those who asked for it');
    await until('the owner hears it', () => browser.received.length > before);
    assert.equal(his.received.length, 0);

    const cookie = refreshCookie(session);
    await station.http.inject({ method: 'POST', url: '/api/auth/logout', headers: { cookie } });
    const left = (): Promise<unknown[]> =>
      station.backend.db.selectFrom('push_subscriptions').selectAll().where('user_id', '=', userId).execute();
    assert.deepEqual(await left(), [], 'a log-out ends the notifications of that browser');
    await ask('DELETE', `/api/station/members/${userId}`);
    const rows = station.backend.db.selectFrom('notification_preferences').selectAll().where('user_id', '=', userId);
    assert.deepEqual(await rows.execute(), []);
  });

  it('a browser in which a person turned notifications off is forgotten', async () => {
    browser.unsubscribe();
    await say('Is anybody there?');
    await until('it is forgotten', async () => (await view()).push.subscriptions.length === 0);
    await until('nothing waits', async () => (await rowsWaiting()) === 0);
  });

  it('tests are limited, and no secret is in the log', async () => {
    const statuses: number[] = [];
    for (let count = 0; count < 12; count += 1)
      statuses.push((await ask('POST', '/api/notifications/station/test', { channel: 'webhook' })).status);
    assert.equal(statuses.at(-1), 429);
    assert.doesNotMatch(station.logger.lines.join('\n'), /tk_secret|hook\/secret/);
  });

  const rowsWaiting = async (): Promise<number> =>
    (await station.backend.db.selectFrom('notification_queue').select('id').execute()).length;
});
