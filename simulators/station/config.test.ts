import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { envToStationConfig } from './config.ts';

describe('the configuration of npm start', () => {
  it('needs nothing', () => {
    const reading = envToStationConfig({}, '/checkout');
    assert.ok(reading.kind === 'ok');
    const { stateFolder, port, releasePort } = reading.config;
    assert.deepEqual([stateFolder, port, releasePort], ['/checkout/.station', null, null]);
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

  it('tells every problem at once', () => {
    const reading = envToStationConfig({ PORT: '80a', RELEASE_PORT: '70000' }, '/checkout');
    assert.deepEqual(reading.kind === 'invalid' && reading.problems, [
      'PORT must be a number from 0 to 65535',
      'RELEASE_PORT must be a number from 0 to 65535',
    ]);
  });
});
