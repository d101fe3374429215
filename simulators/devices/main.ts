import { parseArgs } from 'node:util';
import { runUntilSignal } from '@station/kit/lifecycle';
import { readOrMakeLogins } from './devices-file.ts';
import { startFleet } from './fleet.ts';

const usage = `Virtual devices over MQTT, with the logins of a devices file.

  node simulators/devices/main.ts --station <STATION_ID> --file devices.json [--count 20] [--field 0]
      [--url mqtt://127.0.0.1:1883] [--http http://station.local] [--seed text] [--speed 1] [--heartbeat 30]
      [--flash folder] [--ota-rate bytes/s] [--sleepers 0] [--awake 5] [--period 30]

A missing file is created with --count devices; the last --field of them behave as devices in the field (QoS 0, no acknowledgements, they
erase themselves when the station does not know them) and ask --http for firmware at their start. Start the backend with DEVICES_FILE=<the file>, so that it accepts their logins.
With --flash, the firmware of the devices is stored in that folder and survives a restart of this program.
The last --sleepers devices are awake for --awake seconds in each --period.
`;

const { values } = parseArgs({
  options: {
    station: { type: 'string' },
    file: { type: 'string' },
    count: { type: 'string', default: '20' },
    field: { type: 'string', default: '0' },
    http: { type: 'string' },
    url: { type: 'string', default: 'mqtt://127.0.0.1:1883' },
    seed: { type: 'string', default: 'station' },
    speed: { type: 'string', default: '1' },
    heartbeat: { type: 'string', default: '30' },
    flash: { type: 'string' },
    'ota-rate': { type: 'string', default: 'Infinity' },
    sleepers: { type: 'string', default: '0' },
    awake: { type: 'string', default: '5' },
    period: { type: 'string', default: '30' },
    help: { type: 'boolean', default: false },
  },
});
const count = Number(values.count);
const field = Number(values.field);
const sleepers = Number(values.sleepers);
const speed = Number(values.speed);
const heartbeat = Number(values.heartbeat);
const rate = Number(values['ota-rate']);
const awake = Number(values.awake);
const period = Number(values.period);
const isValid =
  Number.isInteger(count) &&
  count > 0 &&
  field >= 0 &&
  field <= count &&
  Number.isInteger(sleepers) &&
  sleepers >= 0 &&
  awake > 0 &&
  period > awake;

if (values.help || values.file === undefined || !isValid || !(speed > 0 && heartbeat > 0 && rate > 0)) {
  process.stdout.write(usage);
  process.exitCode = values.help ? 0 : 64;
} else {
  const logins = (await readOrMakeLogins(values.file, count, field)).slice(0, count);
  if (values.station === undefined) {
    console.log(
      `${values.file}: ${logins.length} devices. Start the backend with DEVICES_FILE=${values.file}, then start this program with --station.`,
    );
  } else {
    const { station: stationId, url, seed, flash } = values;
    process.exitCode = await runUntilSignal(async () => {
      const fleet = startFleet({
        url,
        stationId,
        logins,
        seed,
        speed,
        heartbeatMs: heartbeat * 1000,
        otaBytesPerSecond: rate,
        sleepers: { count: sleepers, awakeMs: awake * 1000, everyMs: period * 1000 },
        ...(flash === undefined ? {} : { flashFolder: flash }),
        ...(values.http === undefined ? {} : { httpUrl: values.http }),
      });
      const printCounts = (): void => {
        const { sent, acknowledged, commands } = fleet.counts();
        console.log(
          `${fleet.acceptedCount()} of ${logins.length} devices accepted by the station; ${sent} reports sent, ${acknowledged} acknowledged, ${commands} commands`,
        );
      };
      const timer = setInterval(printCounts, 5_000);
      return {
        [Symbol.asyncDispose]: async () => {
          clearInterval(timer);
          printCounts();
          await fleet[Symbol.asyncDispose]();
        },
      };
    });
  }
}
