/** The texts of English by area, which is the first word of a key and the name of a file. All languages have the same keys. */
export type AreaTexts = {
  account: typeof import('./en/account.json');
  action: typeof import('./en/action.json');
  activity: typeof import('./en/activity.json');
  activityLog: typeof import('./en/activityLog.json');
  app: typeof import('./en/app.json');
  appearance: typeof import('./en/appearance.json');
  arrange: typeof import('./en/arrange.json');
  automations: typeof import('./en/automations.json');
  backup: typeof import('./en/backup.json');
  builder: typeof import('./en/builder.json');
  cloud: typeof import('./en/cloud.json');
  conditionHelp: typeof import('./en/conditionHelp.json');
  consumers: typeof import('./en/consumers.json');
  device: typeof import('./en/device.json');
  devicePage: typeof import('./en/devicePage.json');
  devices: typeof import('./en/devices.json');
  devicesWifi: typeof import('./en/devicesWifi.json');
  diagnostics: typeof import('./en/diagnostics.json');
  draft: typeof import('./en/draft.json');
  error: typeof import('./en/error.json');
  find: typeof import('./en/find.json');
  finding: typeof import('./en/finding.json');
  firmware: typeof import('./en/firmware.json');
  gateways: typeof import('./en/gateways.json');
  health: typeof import('./en/health.json');
  home: typeof import('./en/home.json');
  link: typeof import('./en/link.json');
  log: typeof import('./en/log.json');
  machine: typeof import('./en/machine.json');
  members: typeof import('./en/members.json');
  nav: typeof import('./en/nav.json');
  network: typeof import('./en/network.json');
  notifications: typeof import('./en/notifications.json');
  passkeys: typeof import('./en/passkeys.json');
  password: typeof import('./en/password.json');
  provisioning: typeof import('./en/provisioning.json');
  reason: typeof import('./en/reason.json');
  scenes: typeof import('./en/scenes.json');
  secure: typeof import('./en/secure.json');
  session: typeof import('./en/session.json');
  sessions: typeof import('./en/sessions.json');
  settings: typeof import('./en/settings.json');
  station: typeof import('./en/station.json');
  time: typeof import('./en/time.json');
  unknownDevices: typeof import('./en/unknownDevices.json');
};

/** Areas that come with the first page, and those that come with the pages that are fetched after it. */
export const areas = {
  first: [
    'account',
    'action',
    'activity',
    'app',
    'device',
    'error',
    'health',
    'home',
    'link',
    'nav',
    'scenes',
    'session',
    'time',
  ],
  later: [
    'activityLog',
    'appearance',
    'arrange',
    'automations',
    'backup',
    'builder',
    'cloud',
    'conditionHelp',
    'consumers',
    'devicePage',
    'devices',
    'devicesWifi',
    'diagnostics',
    'draft',
    'find',
    'finding',
    'firmware',
    'gateways',
    'log',
    'machine',
    'members',
    'network',
    'notifications',
    'passkeys',
    'password',
    'provisioning',
    'reason',
    'secure',
    'sessions',
    'settings',
    'station',
    'unknownDevices',
  ],
} as const satisfies Record<string, readonly (keyof AreaTexts)[]>;
