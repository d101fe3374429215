import { parseArgs } from 'node:util';
import { runUntilSignal } from '@station/kit/lifecycle';
import { readOrMakeLogins } from './devices-file.ts';
import { startFleet } from './fleet.ts';

const usage = `Virtual devices over MQTT, with the logins of a devices file.

  node simulators/devices/main.ts --station <STATION_ID> --file devices.json [--count 20]
      [--url mqtt://127.0.0.1:1883] [--seed text] [--speed 1] [--heartbeat 30]

The file is made with --count devices when it is not there. Start the backend with DEVICES_FILE=<the file>: it then knows them.
`;

const { values } = parseArgs({
  options: {
    station: { type: 'string' },
    file: { type: 'string' },
    count: { type: 'string', default: '20' },
    url: { type: 'string', default: 'mqtt://127.0.0.1:1883' },
    seed: { type: 'string', default: 'station' },
    speed: { type: 'string', default: '1' },
    heartbeat: { type: 'string', default: '30' },
    help: { type: 'boolean', default: false },
  },
});
const [count, speed, heartbeat] = [Number(values.count), Number(values.speed), Number(values.heartbeat)];

if (values.help || values.file === undefined || !(Number.isInteger(count) && count > 0 && speed > 0 && heartbeat > 0)) {
  process.stdout.write(usage);
  process.exitCode = values.help ? 0 : 64;
} else {
  const logins = (await readOrMakeLogins(values.file, count)).slice(0, count);
  if (values.station === undefined) {
    console.log(
      `${values.file}: ${logins.length} devices. Start the backend with it as DEVICES_FILE, then this with --station.`,
    );
  } else {
    const { station: stationId, url, seed } = values;
    process.exitCode = await runUntilSignal(async () => {
      const fleet = startFleet({ url, stationId, logins, seed, speed, heartbeatMs: heartbeat * 1000 });
      const tell = (): void => {
        const { said, acknowledged, commands } = fleet.counts();
        console.log(
          `${fleet.known()} of ${logins.length} known to the station; ${said} said, ${acknowledged} acknowledged, ${commands} commands`,
        );
      };
      const timer = setInterval(tell, 5_000);
      return {
        [Symbol.asyncDispose]: async () => {
          clearInterval(timer);
          tell();
          await fleet[Symbol.asyncDispose]();
        },
      };
    });
  }
}
