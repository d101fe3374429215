import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { envToConfig, loadConfig, mergeEnvironment, type Config } from './config.ts';
import { agentVariables } from './variables.ts';

const variableNames = Object.keys(agentVariables);
const defaults = { homeDirectory: '/home/anna', hostname: 'hallway', pid: 42 };
const needed = {
  STATION_ID: '0B7C2D2E-8A7F-4E7B-9B1E-0D4F1F2A9C3D',
  UPDATE_SERVER_URL: 'https://updates.example/station/manifest.json?channel=stable',
};

const read = (env: Record<string, string>) => envToConfig({ ...needed, ...env }, defaults);
const accepted = (env: Record<string, string>): Config => {
  const reading = read(env);
  assert.equal(reading.kind, 'ok', JSON.stringify(reading));
  return (reading as { config: Config }).config;
};
const problems = (env: Record<string, string>): string[] => {
  const reading = read(env);
  return reading.kind === 'invalid' ? reading.problems : [];
};
const minisignKey = (algorithm: string, bytes: number): string =>
  Buffer.concat([Buffer.from(algorithm), Buffer.alloc(bytes, 7)]).toString('base64');

describe('defaults', () => {
  it('are those of the specification', () => {
    const config = accepted({});
    assert.deepEqual(
      { ...config, firmware: { ...config.firmware, manifestUrl: config.firmware.manifestUrl.href } },
      {
        stationId: '0b7c2d2e-8a7f-4e7b-9b1e-0d4f1f2a9c3d',
        stationCode: null,
        dataDir: '/home/anna/station-agent-data',
        logLevel: 'info',
        proxy: { http: null, https: null, except: null },
        release: {
          manifestUrl: new URL(needed.UPDATE_SERVER_URL),
          publicKeys: [],
          checkIntervalMs: 3_600_000,
          autoUpdate: true,
          maintenanceWindow: null,
          keepReleases: 1,
        },
        stack: {
          projectPath: '/home/anna/station',
          composeFile: 'docker-compose.yml',
          bootstrapOnStart: false,
          backendContainer: 'station-backend',
          frontendContainer: 'station-frontend',
          reverseProxyService: 'proxy',
          dockerSocket: '/var/run/docker.sock',
          dockerProgram: 'docker',
          registry: null,
          registryCredentials: null,
        },
        health: {
          url: new URL('http://localhost/api/health'),
          stabilizationMs: 45_000,
          timeoutMs: 60_000,
          devicesMs: 200_000,
          probationMs: 3_600_000,
        },
        firmware: {
          manifestUrl: 'https://updates.example/station/firmware/manifest.json',
          cacheDir: '/home/anna/firmware-cache',
          folder: '/firmware',
          checkIntervalMs: 3_600_000,
          maxBytes: 16_777_216,
        },
        backend: { url: new URL('http://localhost'), agentToken: null },
        api: { host: '127.0.0.1', port: 3001, socketPath: null, token: null },
        encryption: { mode: 'own', folder: '/home/anna/station-agent-data/tls', acme: null },
        wifi: {
          watchdog: 'auto',
          interface: null,
          country: null,
          connectivityUrl: new URL('https://updates.example/'),
          stationUrl: new URL('http://hallway.local/'),
          hotspot: { ssid: 'Station-9c3d', password: null, address: '192.0.2.1', prefixLength: 24, portalPort: 80 },
        },
        systemd: { notifySocket: null, watchdogMs: null },
        childEnv: {
          PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
          HOME: '/home/anna',
          LANG: 'C.UTF-8',
        },
        secrets: [],
      },
    );
  });

  it('follow from other variables', () => {
    const config = accepted({
      HEALTHCHECK_URL: 'http://127.0.0.1:8080/api/health',
      UPDATE_SERVER_URL: 'file:///media/stick/manifest.json',
      RUNTIME_DIRECTORY: '/run/station-agent:/run/other',
      PATH: '/opt/bin',
      DOCKER_CONFIG: '/etc/docker-client',
    });
    assert.equal(config.backend.url.href, 'http://127.0.0.1:8080/');
    assert.equal(config.firmware.manifestUrl.href, 'file:///media/stick/firmware/manifest.json');
    assert.equal(config.api.socketPath, '/run/station-agent/agent.sock');
    assert.deepEqual(config.childEnv, {
      PATH: '/opt/bin',
      HOME: '/home/anna',
      LANG: 'C.UTF-8',
      DOCKER_CONFIG: '/etc/docker-client',
    });
  });

  it('count for a variable that is empty', () => {
    const config = accepted({ PORT: '', AGENT_TOKEN: '  ', LOG_LEVEL: '' });
    assert.deepEqual([config.api.port, config.api.token, config.logLevel], [3001, null, 'info']);
  });
});

describe('values', () => {
  it('are brought to the form the agent uses', () => {
    const config = accepted({
      CHECK_INTERVAL_MINUTES: '0.05',
      STABILIZATION_SECONDS: '0',
      HEALTHCHECK_TIMEOUT_SECONDS: '2.5',
      AUTO_UPDATE: 'No',
      BOOTSTRAP_ON_START: '1',
      MAINTENANCE_WINDOW: '23:30-04:15',
      COMPOSE_PROJECT_PATH: '~/stack/',
      DOCKER_HOST: 'unix:///run/user/1000/docker.sock',
      DOCKER_PROGRAM: '/opt/docker/bin/docker',
      CONTAINER_REGISTRY: 'Registry.example:5000',
      CONTAINER_USERNAME: 'reader',
      CONTAINER_TOKEN: 'a long pull token',
      AGENT_TOKEN: 'agent-token-0123456789',
      BACKEND_AGENT_TOKEN: 'backend-token-0123456789',
      HOTSPOT_PASSWORD: 'eight or more',
      HOTSPOT_ADDRESS: '198.51.100.1/28',
      AGENT_SOCKET: '/tmp/agent.sock',
      HOST: '::1',
      PORT: '0',
      WIFI_WATCHDOG: 'false',
      WIFI_COUNTRY: 'FI',
      LOG_LEVEL: 'DEBUG',
    });
    assert.equal(config.release.checkIntervalMs, 3000);
    assert.deepEqual([config.health.stabilizationMs, config.health.timeoutMs], [0, 2500]);
    assert.deepEqual([config.release.autoUpdate, config.stack.bootstrapOnStart], [false, true]);
    assert.deepEqual(config.release.maintenanceWindow, { startMinute: 1410, endMinute: 255 });
    assert.equal(config.stack.projectPath, '/home/anna/stack');
    assert.equal(config.stack.dockerSocket, '/run/user/1000/docker.sock');
    assert.equal(config.stack.dockerProgram, '/opt/docker/bin/docker');
    assert.equal(config.stack.registry, 'registry.example:5000');
    for (const alias of ['index.docker.io', 'Registry-1.docker.io', 'hub.docker.com'])
      assert.equal(accepted({ CONTAINER_REGISTRY: alias }).stack.registry, 'docker.io', alias);
    assert.deepEqual(config.stack.registryCredentials, { username: 'reader', password: 'a long pull token' });
    assert.deepEqual(
      [config.api.host, config.api.port, config.api.socketPath, config.api.token],
      ['::1', 0, '/tmp/agent.sock', 'agent-token-0123456789'],
    );
    assert.deepEqual([config.wifi.watchdog, config.wifi.country, config.logLevel], ['off', 'FI', 'debug']);
    assert.deepEqual([config.wifi.hotspot.address, config.wifi.hotspot.prefixLength], ['198.51.100.1', 28]);
  });

  it('that are secret are collected for the log to keep out', () => {
    const config = accepted({
      CONTAINER_USERNAME: 'reader',
      CONTAINER_TOKEN: 'pull-secret',
      AGENT_TOKEN: 'agent-secret-0123456789',
      BACKEND_AGENT_TOKEN: 'backend-secret-0123456789',
      HOTSPOT_PASSWORD: 'hotspot-secret',
      STATION_CODE: 'abcde 23456',
    });
    assert.deepEqual([...config.secrets].sort(), [
      'abcde 23456',
      'agent-secret-0123456789',
      'backend-secret-0123456789',
      'hotspot-secret',
      'pull-secret',
    ]);
  });

  it('of a public key are taken from its line or from the whole file', () => {
    const line = minisignKey('Ed', 40);
    for (const text of [line, `untrusted comment: minisign public key\n${line}\n`]) {
      const [key] = accepted({ UPDATE_PUBLIC_KEY: text }).release.publicKeys;
      assert.deepEqual([key?.keyId.length, key?.publicKey.length, key?.publicKey[0]], [8, 32, 7]);
    }
  });

  it('of several public keys are separated by commas; duplicates count once', () => {
    const first = minisignKey('Ed', 40);
    const second = minisignKey('Ed', 40).replace(/.$/, '4');
    const file = `untrusted comment: minisign public key, the new one\n${second}\n`;
    for (const text of [`${first},${second}`, `${first} , ${second},${first}`, `${first},\n${file}`]) {
      const { publicKeys } = accepted({ UPDATE_PUBLIC_KEY: text }).release;
      assert.deepEqual(
        publicKeys.map((key) => key.text),
        [first, second],
      );
    }
  });

  it('of the service manager count only for this process', () => {
    const watched = { NOTIFY_SOCKET: '/run/systemd/notify', WATCHDOG_USEC: '120000000' };
    assert.deepEqual(accepted({ ...watched, WATCHDOG_PID: '42' }).systemd, {
      notifySocket: '/run/systemd/notify',
      watchdogMs: 120_000,
    });
    assert.deepEqual(accepted({ ...watched, WATCHDOG_PID: '43' }).systemd, {
      notifySocket: '/run/systemd/notify',
      watchdogMs: null,
    });
    assert.deepEqual(accepted({ WATCHDOG_USEC: 'soon' }).systemd, { notifySocket: null, watchdogMs: null });
  });
});

const wrong: Record<string, string[]> = {
  STATION_ID: ['station-1', '0b7c2d2e8a7f4e7b9b1e0d4f1f2a9c3d', '0b7c2d2e-8a7f-4e7b-9b1e-0d4f1f2a9c3g'],
  STATION_CODE: ['ABCDE2345', 'ABCDE-2345Ж', 'ABCDE_23456', 'A'.repeat(33)],
  UPDATE_SERVER_URL: [
    'updates.example/manifest.json',
    'ftp://updates.example/m.json',
    'https:/updates.example',
    'https://user:pw@updates.example/m.json',
    'https://updates.example/m.json#x',
    'file://host/m.json',
    'https://updates.example/a b',
  ],
  FIRMWARE_MANIFEST_URL: ['/firmware/manifest.json', 'https://u@updates.example/f.json'],
  HEALTHCHECK_URL: ['file:///etc/passwd', 'localhost/api/health'],
  BACKEND_URL: ['unix:///run/x', 'http://a:b@localhost'],
  PORT: ['-1', '65536', '80.5', '0x50', 'http', '1e3'],
  PORTAL_PORT: ['99999'],
  HOST: ['not a host', '300.1.1.1', '[::1]', 'a_b'],
  CHECK_INTERVAL_MINUTES: ['0', '-5', 'NaN', 'Infinity', '1e9', '43201', '5m'],
  FIRMWARE_CHECK_INTERVAL_MINUTES: ['0'],
  STABILIZATION_SECONDS: ['-1', '3601', 'soon'],
  DEVICES_BACK_SECONDS: ['0', '3601', 'long'],
  PROBATION_MINUTES: ['-1', '1441', 'a while'],
  HEALTHCHECK_TIMEOUT_SECONDS: ['0', '3601'],
  KEEP_RELEASES: ['0', '1.5', '21'],
  AUTO_UPDATE: ['on', 'maybe', '2'],
  BOOTSTRAP_ON_START: ['off'],
  MAINTENANCE_WINDOW: ['02:00', '2:00-5:00', '24:00-05:00', '02:60-05:00', '02:00-02:00', 'night'],
  UPDATE_PUBLIC_KEY: [minisignKey('ED', 40), minisignKey('Ed', 39), minisignKey('Ed', 41), 'RWQ', '*'.repeat(56)],
  DOCKER_HOST: ['tcp://127.0.0.1:2375', 'ssh://host', 'docker.sock', `/${'x'.repeat(107)}`],
  DOCKER_PROGRAM: ['docker --debug', './docker', 'bin/docker'],
  COMPOSE_PROJECT_PATH: ['station', './station', '~anna/station'],
  COMPOSE_FILE: ['../docker-compose.yml', '/etc/compose.yml', 'a.yml:b.yml', 'compose.json', '-f.yml'],
  CONTAINER_REGISTRY: ['https://ghcr.example', 'ghcr.example/org', 'ghcr.example:99999', 'ghcr.example:port'],
  BACKEND_CONTAINER_NAME: ['--privileged', 'a b', '../x'],
  FRONTEND_CONTAINER_NAME: [' -x'],
  REVERSE_PROXY_SERVICE: ['$(reboot)'],
  FIRMWARE_CACHE_DIR: ['cache'],
  FIRMWARE_FOLDER: ['firmware', '/', '/firmware/', '/a/../b', '/a b', '//x'],
  FIRMWARE_MAX_BYTES: ['1', '16MiB'],
  AGENT_TOKEN: ['two words', 'tökenäöåxxxxxxxxx', 'x'.repeat(513)],
  BACKEND_AGENT_TOKEN: ['a\nb'],
  AGENT_SOCKET: ['agent.sock', `/${'x'.repeat(107)}`],
  DATA_DIR: ['data'],
  HTTPS: ['yes', 'https'],
  PUBLIC_NAME: ['station.local', '192.0.2.1', 'station', 'https://home.example.org', 'a b.example', 'x.localhost'],
  ACME_EMAIL: ['somebody', 'a b@example.org', 'a@example.org\n}', 'a@{$HOME}'],
  ACME_DIRECTORY: [
    'http://acme.example/dir',
    'https://acme.example/{$HOME}',
    'https://acme.example/d?x',
    'acme.example',
  ],
  ACME_CA_FILE: ['roots.pem'],
  TLS_DIR: ['tls'],
  WIFI_WATCHDOG: ['sometimes'],
  WIFI_INTERFACE: ['wlan0; reboot', 'a-very-long-interface', 'a/b', '..'],
  WIFI_COUNTRY: ['fi', 'FIN'],
  STATION_URL: ['ftp://station/', 'station.local'],
  CONNECTIVITY_CHECK_URL: ['file:///etc/passwd', 'example.org'],
  HOTSPOT_SSID: ['x'.repeat(33), 'ä'.repeat(17)],
  HOTSPOT_PASSWORD: ['short', 'x'.repeat(64), 'pässwörd1'],
  HTTP_PROXY: [
    'proxy.example:3128',
    'socks5://proxy.example',
    'http://',
    'http://proxy.example/path',
    'http://a b',
    'http://proxy.example:99999',
    // Before, these ended the program without a word about the variable.
    'http://user:100%@proxy.example',
    'http://user:%ff@proxy.example',
    'http://DOMAIN\\user:word@proxy.example',
  ],
  HTTPS_PROXY: ['proxy.example', 'ftp://proxy.example:3128', 'https://proxy.example?x'],
  NO_PROXY: ['a b', 'ж.example'],
  HOTSPOT_ADDRESS: ['192.0.2.1', '192.0.2.1/31', '192.0.2.1/7', '192.0.2.1/24/1', '::1/64', '192.0.2.256/24'],
  LOG_LEVEL: ['trace', 'verbose'],
};

describe('problems', () => {
  for (const [variable, values] of Object.entries(wrong)) {
    it(`name ${variable} when it is wrong`, () => {
      for (const value of values) {
        const found = problems({ [variable]: value });
        assert.equal(found.length, 1, `${JSON.stringify(value)}: ${JSON.stringify(found)}`);
        assert.match(found[0] ?? '', new RegExp(`^${variable} must `));
      }
    });
  }

  it('name the place of a wrong public key among several', () => {
    const good = minisignKey('Ed', 40);
    for (const [text, place] of [
      [`${good},RWQ`, 2],
      [`RWQ,${good}`, 1],
      [`${good}, ${good},`, 3],
      [`${good}\n${good},${good}`, 1],
    ] as const)
      assert.match(problems({ UPDATE_PUBLIC_KEY: text })[0] ?? '', new RegExp(`; number ${place} is not one$`));
    assert.doesNotMatch(problems({ UPDATE_PUBLIC_KEY: 'RWQ' })[0] ?? '', /number/);
  });

  it('never repeat a value', () => {
    const misplaced = 'sésame, ouvre-toi, tout de suite !';
    const found = problems(Object.fromEntries(variableNames.map((variable) => [variable, misplaced])));
    assert.equal(found.length, variableNames.length);
    assert.ok(!JSON.stringify(found).includes('ouvre'));
  });

  it('are all reported at once', () => {
    const everything = Object.fromEntries(
      Object.entries(wrong).map(([variable, values]) => [variable, values[0] ?? '']),
    );
    const found = problems({ ...everything, CONTAINER_TOKEN: 'the-pull-token' });
    const named = found.map((problem) => problem.split(' ')[0]).sort();
    assert.deepEqual(named, [...Object.keys(wrong), 'CONTAINER_USERNAME'].sort());
    assert.ok(!JSON.stringify(found).includes('the-pull-token'));
  });

  it('cover every variable that can be wrong', () => {
    const free = ['CONTAINER_USERNAME', 'CONTAINER_TOKEN'];
    assert.deepEqual([...Object.keys(wrong), ...free].sort(), [...variableNames].sort());
  });

  it('name what is missing', () => {
    const reading = envToConfig({}, defaults);
    assert.deepEqual(reading.kind === 'invalid' && reading.problems, [
      'STATION_ID must be set',
      'UPDATE_SERVER_URL must be set',
    ]);
    assert.deepEqual(problems({ HTTPS: 'acme' }), ['PUBLIC_NAME must be set with HTTPS=acme']);
    assert.deepEqual(problems({ CONTAINER_USERNAME: 'reader' }), [
      'CONTAINER_USERNAME and CONTAINER_TOKEN must be set together',
    ]);
  });
});

describe('the environment file', () => {
  const inFolder = async (content: string | Uint8Array | null, test: (folder: string) => Promise<void>) => {
    const folder = await mkdtemp(join(tmpdir(), 'agent-config-'));
    try {
      if (content !== null) await writeFile(join(folder, '.env'), content);
      await test(folder);
    } finally {
      await rm(folder, { recursive: true });
    }
  };
  const required = Object.entries(needed)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n');

  it('names proxies in upper and lower case, the lower one first, and keeps their passwords out of what is told', async (t) => {
    // Those of whoever runs the tests would count first.
    const own = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()]);
    if (own.some((name) => process.env[name])) return t.skip('this machine has a proxy of its own');
    const address = 'http://user:proxy-secret@proxy.example:3128';
    const lines = [
      `https_proxy=${address}`,
      'HTTPS_PROXY=http://other.example',
      'HTTP_PROXY=http://plain.example:8080/',
    ];
    await inFolder(`${required}\n${lines.join('\n')}\nno_proxy=.intern.example, 192.0.2.9\n`, async (directory) => {
      const reading = await loadConfig({ directory });
      assert.equal(reading.kind, 'ok');
      assert.deepEqual(reading.warnings, []);
      if (reading.kind !== 'ok') return;
      const { http, https, except } = reading.config.proxy;
      assert.deepEqual([http, https, except], ['http://plain.example:8080/', address, '.intern.example, 192.0.2.9']);
      assert.ok(reading.config.secrets.includes(address));
    });
  });

  it('is read from beside the executable; duplicate and unknown names in it are reported', async () => {
    const content = `${required}\nLOG_LEVEL="warn"\nLOG_LEVEL='error'\nAGENT_TOKN=oops-a-secret\nAGENT_TOKEN=brief-one\n`;
    await inFolder(content, async (directory) => {
      const reading = await loadConfig({ directory });
      assert.equal(reading.kind, 'ok');
      assert.equal(reading.kind === 'ok' && reading.config.logLevel, 'error');
      assert.deepEqual(reading.warnings, [
        'LOG_LEVEL is set more than once (lines 3, 4); the last one counts',
        'AGENT_TOKN in the environment file is not a variable of the agent',
        'AGENT_TOKEN is shorter than 16 characters',
      ]);
    });
  });

  it('may be missing, unless it was named', async () => {
    await inFolder(null, async (directory) => {
      const reading = await loadConfig({ directory });
      assert.deepEqual(reading.kind === 'invalid' && reading.problems, [
        'STATION_ID must be set',
        'UPDATE_SERVER_URL must be set',
      ]);
      const named = await loadConfig({ directory, envFile: join(directory, 'other.env') });
      assert.deepEqual(named.kind === 'invalid' && named.problems, [
        'the environment file is missing or not UTF-8 text',
      ]);
    });
  });

  it('that is no text is one problem', async () => {
    await inFolder(Uint8Array.from([0xff, 0xfe, 0x00]), async (directory) => {
      const reading = await loadConfig({ directory });
      assert.equal(reading.kind === 'invalid' && reading.problems.length, 1);
    });
  });

  it('that is a directory is one problem', async () => {
    await inFolder(null, async (directory) => {
      const reading = await loadConfig({ directory: join(directory, '..'), envFile: directory });
      assert.match((reading.kind === 'invalid' && reading.problems[0]) || '', /^the environment file: EISDIR/);
    });
  });

  it('stands under the process environment, whose empty variables hide nothing', () => {
    const file = { PORT: '4000', HOST: '::1', AGENT_TOKEN: 'kept' };
    assert.deepEqual(mergeEnvironment(file, { PORT: '5000', AGENT_TOKEN: '', X: undefined }), {
      PORT: '5000',
      HOST: '::1',
      AGENT_TOKEN: 'kept',
    });
  });
});
