import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DeviceType, readDeviceType } from '@station/protocol/device-types';
import type { AnnouncedDevice } from '../gateways/dialect.ts';
import { describeShelly } from '../gateways/shelly/shelly-device-decide.ts';
import { shellyInfo } from '../gateways/shelly/testing/shelly-answers.ts';
import { describeTasmota } from '../gateways/tasmota/tasmota-device-decide.ts';
import { tasmotaConfig } from '../gateways/tasmota/testing/tasmota-announcements.ts';
import { takenWell } from '../gateways/testing/announced.ts';
import { describe } from '../gateways/zigbee2mqtt/describe-decide.ts';
import { announcement } from '../gateways/zigbee2mqtt/testing/announcements.ts';
import { homeAssistant } from './home-assistant-decide.ts';
import type { House } from './picture.ts';
import { zigbee2mqtt } from './zigbee2mqtt-decide.ts';

const shutter = {
  model: 'Shutter',
  vendor: 'Somebody',
  exposes: [
    {
      type: 'cover',
      features: [{ type: 'enum', name: 'state', property: 'state', access: 3, values: ['OPEN', 'CLOSE', 'STOP'] }],
    },
  ],
};
const mac = 'A4CF1249A3BC';

const covers: Readonly<Record<string, AnnouncedDevice | null>> = {
  zigbee: describe(announcement({ definition: shutter })),
  tasmota: describeTasmota(mac, tasmotaConfig({ rl: [3, 3], sho: [0] }), {}, 'tasmota'),
  shelly: describeShelly('shelly/blind', {
    info: shellyInfo(),
    config: {},
    status: { 'cover:0': { id: 0, state: 'stopped', current_pos: 40 } },
  }),
};

function typeOf(announced: AnnouncedDevice | null | undefined): DeviceType {
  const { firmwareVersion: _version, chip: _chip, ...words } = takenWell(announced ?? null).words;
  const read = readDeviceType(JSON.parse(JSON.stringify(words)));
  assert.ok(read.kind === 'ok');
  return read.deviceType;
}

function houseWith(type: DeviceType): House {
  const device = { id: 'one', name: 'Blind', typeName: type.type, type, zone: null, isOnline: true };
  const devices = [{ ...device, state: {}, firmwareVersion: null, dialect: null }];
  return { stationId: 'S', stationName: 'Home', version: '0', devices };
}

/** By gateway: the word of a cover, what Home Assistant takes it for, and what it is in Zigbee2MQTT's dialect. */
const words: readonly [gateway: string, word: string, state: string, text: string][] = [
  ['zigbee', 'CLOSE', 'closed', 'CLOSE'],
  ['zigbee', 'OPEN', 'open', 'OPEN'],
  ['tasmota', 'opening', 'opening', 'OPEN'],
  ['tasmota', 'stopped', 'stopped', 'STOP'],
  ['shelly', 'closing', 'closing', 'CLOSE'],
  ['shelly', 'closed', 'closed', 'CLOSE'],
];

for (const [gateway, word, state, text] of words) {
  test(`other systems know what ${word} of a cover of ${gateway} is`, () => {
    const type = typeOf(covers[gateway]);
    const key = type.capabilities.find(({ values }) => values?.includes(word))?.key ?? '';
    const inHome = homeAssistant.draw(houseWith(type), 'homeassistant');
    const config = JSON.parse(inHome.fixed(() => ({})).at(0)?.payload ?? '{}') as {
      components: Record<string, object>;
    };
    const cover = config.components['cover-cover'] as Record<string, unknown> | undefined;
    assert.equal(cover?.['value_template'], `{{ value_json['${key}'] }}`);
    assert.equal(cover[`state_${state}`], word);
    assert.equal(
      (JSON.parse(inHome.state('one', { [key]: word })?.payload ?? '{}') as Record<string, unknown>)[key],
      word,
    );
    const asZigbee = zigbee2mqtt.draw(houseWith(type), 'z').state('one', { [key]: word });
    assert.equal((JSON.parse(asZigbee?.payload ?? '{}') as Record<string, unknown>)['state'], text);
  });
}
