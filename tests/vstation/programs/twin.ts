/**
 * What a device becomes when it has its login: `twin.mjs FILE TYPE`. The file has the JSON that was written to it by Bluetooth. It behaves as a
 * device of the field until it is ended.
 */
import { readFileSync } from 'node:fs';
import { startVirtualDevice } from '@station/simulators/devices/virtual-device';
import type { DeviceLetter } from './device-letter.ts';

const [file = '', type = 'light'] = process.argv.slice(2);
const letter = JSON.parse(readFileSync(file, 'utf8')) as DeviceLetter;
startVirtualDevice({
  url: `mqtt://${letter.mqtt_host}:${letter.mqtt_port}`,
  stationId: letter.station_id,
  login: { externalId: letter.device_id, token: letter.device_token, type, name: letter.device_id, profile: 'field' },
  seed: 'twin',
  // A lamp of the field may take two minutes to its next report.
  speed: 20,
});
