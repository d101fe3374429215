// Stands for the BLE helper and the air: what it would hear of a device and of a neighbour. The file `mode` beside it says what the
// neighbour does; what would be written to devices is noted in `writes`.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const uuid = '85e4cb5a-4718-47e3-b363-b2d82655ee1e';
const at = (name: string): string => join(import.meta.dirname, name);
const mode = (): string => (existsSync(at('mode')) ? readFileSync(at('mode'), 'utf8') : 'quiet');
const say = (frame: object): boolean => process.stdout.write(`${JSON.stringify(frame)}\n`);
const hear = (address: string, name: string, rssi: number): boolean =>
  say({ event: 'discovered', address, name, rssi, service_uuids: [uuid], service_data: {} });
const madeUp = (index: number): string =>
  (index + 0xc0_00_00_00_00_00).toString(16).toUpperCase().match(/../g)?.join(':') ?? '';

let count = 0;
function advertise(): void {
  hear('AA:AA:AA:AA:AA:01', 'SH_light_lamp7', -70);
  if (mode() === 'twin') hear('EE:EE:EE:EE:EE:01', 'SH_light_lamp7', -30);
  // What is not read in time is not sent again: so does the air.
  if (mode() === 'flood' && process.stdout.writableLength < 1_000_000)
    for (let index = 0; index < 10_000; index += 1) hear(madeUp(count % 100_000), `SH_light_f${count++}`, -20);
}

let timer: NodeJS.Timeout | undefined;
type Command = { event: string; address?: string; payload?: string };
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { event, address, payload } = JSON.parse(line) as Command;
    if (event === 'start_scan') {
      say({ event: 'scan_started' });
      timer ??= setInterval(advertise, 1_000);
      advertise();
    } else if (event === 'stop_scan') {
      clearInterval(timer);
      timer = undefined;
      say({ event: 'scan_stopped' });
    } else {
      appendFileSync(at('writes'), `${JSON.stringify({ address, payload })}\n`);
      say({ event: 'write_result', address, ok: true });
    }
  })
  .on('close', () => process.exit(0));
process.stderr.write('{"note":"radio","state":"ready"}\n');
say({ event: 'ready' });
