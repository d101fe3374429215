import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { envToStationConfig } from './config.ts';

describe('the configuration of npm start', () => {
  it('has a default for every variable', () => {
    const reading = envToStationConfig({}, '/checkout');
    assert.ok(reading.kind === 'ok');
    const { stateFolder, port, releasePort, offersFirmware } = reading.config;
    assert.deepEqual([stateFolder, port, releasePort, offersFirmware], ['/checkout/.station', null, null, true]);
  });

  it('takes ports, and a state folder below the repository or anywhere', () => {
    const env = { PORT: '8123', RELEASE_PORT: ' 0 ', STATION_STATE_DIR: '/var/tmp/other' };
    const reading = envToStationConfig(env, '/checkout');
    assert.ok(reading.kind === 'ok');
    const { stateFolder, port, releasePort } = reading.config;
    assert.deepEqual([stateFolder, port, releasePort], ['/var/tmp/other', 8123, 0]);
    const relative = envToStationConfig({ STATION_STATE_DIR: 'tmp/second' }, '/checkout');
    assert.equal(relative.kind === 'ok' && relative.config.stateFolder, '/checkout/tmp/second');
  });

  it('passes the variables of the cloud to the backend', () => {
    const env = { CLOUD_HOST: 'ws://127.0.0.1:9000', CLOUD_CA_FILE: '', OTHER: 'x' };
    const reading = envToStationConfig(env, '/checkout');
    assert.deepEqual(reading.kind === 'ok' && reading.config.cloud, { CLOUD_HOST: 'ws://127.0.0.1:9000' });
  });

  it('offers no firmware with OFFER_FIRMWARE=false', () => {
    const reading = envToStationConfig({ OFFER_FIRMWARE: 'false' }, '/checkout');
    assert.equal(reading.kind === 'ok' && reading.config.offersFirmware, false);
  });

  it('simulates a Wi-Fi only with SIMULATE_WIFI=true', () => {
    const simulates = (env: Record<string, string>) => {
      const reading = envToStationConfig(env, '/checkout');
      return reading.kind === 'ok' && reading.config.simulatesWifi;
    };
    assert.deepEqual([simulates({}), simulates({ SIMULATE_WIFI: 'true' })], [false, true]);
  });

  it('reports all problems at once', () => {
    const env = { PORT: '80a', RELEASE_PORT: '70000', OFFER_FIRMWARE: 'no', FORWARD_WIFI: '1', SIMULATE_WIFI: 'on' };
    const reading = envToStationConfig(env, '/checkout');
    assert.deepEqual(reading.kind === 'invalid' && reading.problems, [
      'PORT must be a number from 0 to 65535',
      'RELEASE_PORT must be a number from 0 to 65535',
      'OFFER_FIRMWARE must be true or false',
      'FORWARD_WIFI must be true or false',
      'SIMULATE_WIFI must be true or false',
    ]);
  });
});
