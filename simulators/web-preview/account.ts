import type { FastifyInstance } from 'fastify';
import type { HotspotLogin } from '@station/protocol/agent-api';
import type { BackupSettingsPut, BackupView } from '@station/protocol/backup-api';
import type { DoctorCheck, DoctorReport, SystemDoctor } from '@station/protocol/doctor';
import type {
  ChannelState,
  NotificationPreferences,
  NotificationsView,
  StationNotifications,
  StationNotificationsPut,
} from '@station/protocol/notifications';
import type { PasskeyList } from '@station/protocol/passkeys';
import type { SessionList } from '@station/protocol/rest';
import { ago } from './scenes.ts';

const hour = 3_600_000;
const day = 24 * hour;
const id = (number: number): string => `019a9d2f-0007-7000-8000-00000000000${number}`;

/** The routes of log-ins, notifications, backups and the check of the station. Nothing is sent and nothing is stored. */
export function addAccount(app: FastifyInstance): void {
  addLogIns(app);
  addNotifications(app);
  addBackup(app);
  app.get('/api/system/doctor', (): SystemDoctor => ({
    backend: report('backend'),
    agent: report('agent'),
    agentMissing: null,
  }));
  app.get('/api/system/diagnostics', () => ({ at: ago(0), doctor: report('backend') }));
  app.get('/api/system/hotspot', (): HotspotLogin => ({ ssid: 'Station-ab12', password: 'BCDF-2345' }));
  app.post('/api/system/clock', () => ({ now: ago(0), trusted: true }));
}

function addLogIns(app: FastifyInstance): void {
  const agents = [
    'Mozilla/5.0 (Linux; Android 15; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Mobile Safari/537.36',
    'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  ];
  const view: SessionList = {
    sessions: agents.map((userAgent, index) => ({
      id: id(index),
      isCurrent: index === 0,
      userAgent,
      address: `192.168.1.${20 + index}`,
      openedAt: ago((3 + 20 * index) * day),
      usedAt: ago(index * 5 * hour),
    })),
  };
  const keys: PasskeyList = {
    passkeys: [
      { id: id(3), name: 'Blue phone', host: 'station.local', createdAt: ago(40 * day), usedAt: ago(2 * day) },
    ],
  };
  app.get('/api/auth/sessions', () => view);
  app.delete('/api/auth/sessions/:id', async (_request, reply) => reply.code(204).send());
  app.get('/api/auth/passkeys', () => keys);
}

function addNotifications(app: FastifyInstance): void {
  const quiet: ChannelState = { isSet: false, sentAt: null, fault: null, waiting: 0 };
  const view: NotificationsView = {
    preferences: {
      email: true,
      topics: ['devices', 'updates', 'conditions'],
      language: 'en',
      quiet: { from: '23:00', to: '07:00' },
    },
    email: 'olena@example.org',
    push: { publicKey: 'B'.repeat(87), subscriptions: [] },
    channels: {
      push: quiet,
      email: { ...quiet, isSet: true, sentAt: ago(9 * hour) },
      ntfy: { ...quiet, isSet: true, fault: { reason: 'login_refused', since: ago(2 * hour) }, waiting: 2 },
      webhook: quiet,
    },
  };
  let station: StationNotifications = {
    rules: { offlineMinutes: 30, batteryPercent: 15, updates: true, conditions: true },
    mail: {
      host: 'mail.example.org',
      port: 465,
      security: 'tls',
      username: 'station',
      from: 'station@example.org',
      hasPassword: true,
    },
    ntfy: { url: 'https://ntfy.example.org', topic: 'home', topics: ['devices'], language: 'en', hasToken: true },
    webhook: null,
  };
  app.get('/api/notifications', () => view);
  app.get('/api/notifications/station', () => station);
  app.put<{ Body: NotificationPreferences }>('/api/notifications/preferences', ({ body }) => {
    view.preferences = body;
    return view;
  });
  app.put<{ Body: StationNotificationsPut }>(
    '/api/notifications/station',
    ({ body: { rules, mail, ntfy, webhook } }) => {
      station = {
        rules,
        mail: mail && { ...mail, hasPassword: true },
        ntfy: ntfy && { ...ntfy, hasToken: true },
        webhook: webhook && { ...webhook, origin: 'https://hooks.example.org' },
      };
      return station;
    },
  );
  for (const path of ['/api/notifications/test', '/api/notifications/station/test'])
    app.post(path, async (_request, reply) => reply.code(204).send());
}

function addBackup(app: FastifyInstance): void {
  const made = (place: 'station' | 'folder', days: number): BackupView['backups'][number] => {
    const name = `station-kyiv-flat-202611${20 - days}T030000Z.age`;
    const madeAt = ago(days * day);
    return { id: `${place}:${name}`, place, name, bytes: 4_200_000 + days * 1_000, madeAt, verifiedAt: madeAt };
  };
  const view: BackupView = {
    settings: {
      nightly: true,
      at: '03:00',
      keep: { daily: 7, weekly: 4 },
      folder: true,
      webdav: null,
      hasPassphrase: true,
    },
    backups: [made('folder', 1), made('station', 1), made('folder', 2)],
    faults: [],
    folder: 'ready',
    isWorking: false,
    progress: null,
    sending: null,
    trouble: null,
    nextAt: ago(-5 * hour),
    isSupported: true,
  };
  app.get('/api/backup', () => view);
  app.put<{ Body: BackupSettingsPut }>('/api/backup/settings', ({ body }) => {
    const { nightly, at, keep, folder, webdav } = body;
    view.settings = { ...view.settings, nightly, at, keep, folder, webdav };
    return view;
  });
}

function report(program: DoctorReport['program']): DoctorReport {
  const check = (name: string, title: string): DoctorCheck => ({
    id: name,
    title,
    status: 'ok',
    detail: null,
    findings: [],
  });
  return {
    program,
    version: '1.0.0',
    at: ago(0),
    status: 'ok',
    checks: [check('database', 'Database'), check('disk', 'Disk')],
  };
}
