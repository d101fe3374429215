import assert from 'node:assert/strict';
import { test } from 'node:test';
import { envToConfig, secretsOf } from './config.ts';

test('the port of the broker for devices may come with the address on which Docker publishes it', () => {
  const portOf = (text: string): unknown => {
    const read = envToConfig({ DATA_DIR: '/data', DEVICE_MQTT_PORT: text });
    return read.ok ? read.config.deviceBroker.port : read.problems;
  };
  assert.equal(portOf('127.0.0.1:1883'), 1883);
  assert.equal(portOf('[::1]:1884'), 1884);
  assert.deepEqual(portOf('127.0.0.1'), ['DEVICE_MQTT_PORT must be a whole number from 0 to 65535']);
});

test('an empty environment with a home folder runs on loopback with SQLite', () => {
  const result = envToConfig({ HOME: '/home/station' });
  assert.ok(result.ok);
  assert.equal(result.config.port, 3000);
  assert.equal(result.config.host, '127.0.0.1');
  assert.equal(result.config.dataDir, '/home/station/station-data');
  assert.deepEqual(result.config.database, { kind: 'sqlite', file: '/home/station/station-data/station.sqlite' });
  assert.equal(result.config.agent, null);
  assert.equal(result.config.agentToken, null);
  assert.equal(result.config.metricsToken, null);
  assert.deepEqual(result.config.mqtt, {
    kind: 'embedded',
    host: '127.0.0.1',
    ports: { plain: 1883, tls: null },
    certificateFile: null,
  });
  assert.match(result.config.version, /^\d+\.\d+\.\d+/);
});

test('the broker inside the backend has TLS with a certificate, and never no port at all', () => {
  const read = (env: Record<string, string>) => {
    const result = envToConfig({ HOME: '/home/station', ...env });
    return result.ok ? result.config.mqtt.kind === 'embedded' && result.config.mqtt.ports : result.problems;
  };
  const certificate = { MQTT_TLS_FILE: '/tls/station.pem' };
  assert.deepEqual(read(certificate), { plain: 1883, tls: 8883 });
  assert.deepEqual(read({ ...certificate, MQTT_PLAIN: 'false', MQTT_TLS_PORT: '8884' }), { plain: null, tls: 8884 });
  assert.deepEqual(read({ MQTT_PLAIN: 'false' }), [
    'MQTT_PLAIN=false needs MQTT_TLS_FILE: otherwise no device reaches the broker',
  ]);
  assert.equal(read({ MQTT_PLAIN: 'false', MQTT_URL: 'mqtt://broker' }), false, 'that is another broker');
});

test('every setting is taken over', () => {
  const result = envToConfig({
    PORT: '0',
    HOST: '0.0.0.0',
    DATA_DIR: '/data',
    DATABASE_URL: 'postgres://station:pa%20ss@db/station',
    JWT_SECRET: 'x'.repeat(32),
    AGENT_SOCKET: '/run/station-agent/agent.sock',
    AGENT_TOKEN: 'agent-secret',
    METRICS_TOKEN: 'metrics-secret',
    WEB_DIR: '/srv/web',
    MQTT_URL: 'mqtts://backend:broker-secret@mqtt:8883',
    MQTT_USERNAME: 'station',
    MQTT_PASSWORD: 'other-secret',
    MQTT_CA_FILE: '/data/ca.pem',
    DEVICES_FILE: '/data/devices.json',
    DEVICE_MQTT_PORT: '1884',
    https_proxy: 'http://station:proxy-secret@proxy.example:3128',
    HTTPS_PROXY: 'http://other.example:3128',
    NO_PROXY: '192.168.1.5',
    AUTOMATION_WEBHOOK_ALLOW: '192.168.1.0/24, fd00::1',
    STATION_ID: '5B6E7C3A-63F9-4DBC-9AC4-D33A1E3E1A54',
    STORAGE_MAX_MB: '64',
    BACKUP_DIR: '/backups',
    STATION_CODE: 'ABCDE-23456',
    REPLICA_ID: 'one',
    PUBLIC_NAME: 'Home.example.org',
    STATION_VERSION: 'v1.2.3',
    LOG_LEVEL: 'debug',
    BLE_HELPER: '/srv/helper.mjs',
    BLE_ADAPTER: 'hci1',
    PROVISIONING_SERVICE_UUID: '5B6E7C3A-63F9-4DBC-9AC4-D33A1E3E1A55',
    PATH: '/usr/bin',
  });
  assert.ok(result.ok);
  assert.deepEqual(result.config, {
    port: 0,
    host: '0.0.0.0',
    dataDir: '/data',
    backupDir: '/backups',
    database: { kind: 'postgres', url: 'postgres://station:pa%20ss@db/station' },
    jwtSecret: 'x'.repeat(32),
    agent: { kind: 'socket', path: '/run/station-agent/agent.sock' },
    agentToken: 'agent-secret',
    metricsToken: 'metrics-secret',
    webDir: '/srv/web',
    mqtt: {
      kind: 'external',
      url: 'mqtts://backend:broker-secret@mqtt:8883',
      username: 'station',
      password: 'other-secret',
      caFile: '/data/ca.pem',
      inflight: 10,
    },
    proxy: { http: null, https: 'http://station:proxy-secret@proxy.example:3128', except: '192.168.1.5' },
    webhookAllow: ['192.168.1.0/24', 'fd00::1'],
    publicName: 'home.example.org',
    devicesFile: '/data/devices.json',
    firmware: {
      publicUrl: 'http://station.local',
      folder: '/firmware',
      soakMs: 60_000,
      concurrency: 10,
      startsPerMinute: 60,
      attempts: 2,
    },
    deviceBroker: { host: null, port: 1884, publicUrl: 'http://station.local', isPublicUrlSet: false },
    ble: {
      helper: '/srv/helper.mjs',
      // No secret and nothing else of the backend.
      environment: { BLE_HELPER: '/srv/helper.mjs', BLE_ADAPTER: 'hci1', PATH: '/usr/bin' },
      serviceUuid: '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a55',
      characteristicUuid: '12c158d5-220f-4be9-b46a-a235f44c412a',
    },
    cloud: null,
    replicaId: 'one',
    stationCode: 'ABCDE-23456',
    stationId: '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a54',
    storageMaxBytes: 64 * 1024 * 1024,
    version: '1.2.3',
    logLevel: 'debug',
  });
  assert.deepEqual(
    new Set(secretsOf(result.config)),
    new Set([
      'x'.repeat(32),
      'agent-secret',
      'metrics-secret',
      'ABCDE-23456',
      'pa%20ss',
      'pa ss',
      'broker-secret',
      'other-secret',
      'proxy-secret',
    ]),
  );
});

test('all problems are told at once, and no value is repeated', () => {
  const env = {
    PORT: '99999',
    DATABASE_URL: 'mysql://root:hunter22@db/x',
    JWT_SECRET: 'short-secret',
    AGENT_SOCKET: '/run/a.sock',
    AGENT_URL: 'http://127.0.0.1:3001',
    MQTT_URL: 'nonsense',
    STATION_ID: '42',
    LOG_LEVEL: 'loud',
    HTTP_PROXY: 'socks5://proxy.example',
  };
  const result = envToConfig(env);
  assert.ok(!result.ok);
  const told = (name: string): boolean => result.problems.some((problem) => problem.startsWith(name));
  for (const name of [
    'PORT',
    'DATABASE_URL',
    'JWT_SECRET',
    'AGENT_SOCKET',
    'MQTT_URL',
    'STATION_ID',
    'LOG_LEVEL',
    'HTTP_PROXY',
    'DATA_DIR',
  ]) {
    assert.ok(told(name), `${name} is missing in ${result.problems.join('; ')}`);
  }
  assert.equal(result.problems.length, 9);
  assert.doesNotMatch(result.problems.join(' '), /hunter22|short-secret|nonsense/);
});

test('certificates for a broker that is spoken to in the clear are a mistake', () => {
  const result = envToConfig({ DATA_DIR: '/data', MQTT_URL: 'mqtt://broker', MQTT_CA_FILE: '/data/ca.pem' });
  assert.deepEqual(result, { ok: false, problems: ['MQTT_CA_FILE needs an MQTT_URL that begins with mqtts://'] });
});

test('a replica needs what it shares with the others', () => {
  const result = envToConfig({ HOME: '/home/station', REPLICA_ID: 'Not a name' });
  assert.ok(!result.ok);
  const told = [
    'REPLICA_ID must',
    'REPLICA_ID needs DATABASE_URL',
    'REPLICA_ID needs MQTT_URL',
    'REPLICA_ID needs JWT',
  ];
  assert.equal(result.problems.length, told.length);
  for (const [index, text] of told.entries()) assert.ok(result.problems[index]?.startsWith(text), text);
});
