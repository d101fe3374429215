/** The reference cloud as a program; see README.md. */
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { runConformance } from './conformance-run.ts';
import { startReferenceCloud, type ReferenceCloud } from './reference-cloud.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '9000' },
    host: { type: 'string', default: '127.0.0.1' },
    key: { type: 'string' },
    cert: { type: 'string' },
    'by-hand': { type: 'boolean', default: false },
    conformance: { type: 'boolean', default: false },
    home: { type: 'string', default: 'http://127.0.0.1:3000' },
    email: { type: 'string', default: '' },
    password: { type: 'string', default: '' },
    mqtt: { type: 'string' },
    'station-id': { type: 'string', default: '' },
    device: { type: 'string', default: '' },
    'device-token': { type: 'string', default: '' },
    patience: { type: 'string', default: '60' },
  },
});

const tls =
  values.key !== undefined && values.cert !== undefined
    ? { key: await readFile(values.key, 'utf8'), cert: await readFile(values.cert, 'utf8') }
    : undefined;
await using cloud = await startReferenceCloud({
  host: values.host,
  port: Number(values.port),
  ...(tls ? { tls } : {}),
});
console.log(`Set CLOUD_HOST=${cloud.host} at the station.`);
const tokens: string[] = [];
const claimAll = (): void => {
  for (const { chipId, claimSecret } of cloud.waiting()) {
    const token = cloud.claim(chipId, claimSecret);
    if (token !== null) tokens.push(token);
    console.log(`claimed ${chipId}`);
  }
};
// In manual use, the person types `claim`.
const claiming = values['by-hand'] ? undefined : setInterval(claimAll, 200);

if (values.conformance) process.exitCode = await runChecks(cloud);
else await converse(cloud);
clearInterval(claiming);

async function runChecks(of: ReferenceCloud): Promise<number> {
  const { home, email, password, mqtt, device: externalId } = values;
  const login = { stationId: values['station-id'], externalId, token: values['device-token'] };
  const device = mqtt === undefined ? null : { mqtt, ...login };
  const isGood = await runConformance({
    cloud: of,
    target: { home, email, password, device, timeoutMs: Number(values.patience) * 1000 },
    onReset: () => clearInterval(claiming),
    print: console.log,
  });
  return isGood ? 0 : 1;
}

/** Prints received messages and sends typed ones. */
async function converse(to: ReferenceCloud): Promise<void> {
  let received = 0;
  let states = 0;
  let invalidFrames = 0;
  const printing = setInterval(() => {
    for (; received < to.received.length; received++) console.log(JSON.stringify(to.received[received]));
    for (; states < to.states.length; states++) console.log(JSON.stringify(to.states[states]));
    for (; invalidFrames < to.invalidFrames.length; invalidFrames++)
      console.log(`invalid frame: ${to.invalidFrames[invalidFrames]?.text ?? ''}`);
  }, 200);
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      await execute(to, line.trim());
    } catch (error) {
      console.log(error instanceof Error ? error.message : String(error));
    }
  }
  // Without a terminal, it runs until it is stopped.
  if (!process.stdin.isTTY) for (;;) await sleep(60_000);
  clearInterval(printing);
}

async function execute({ connection, options, revoke, restore }: ReferenceCloud, line: string): Promise<void> {
  const [, word = '', first = '', rest = ''] = /^(\S*)\s*(\S*)\s*(.*)$/.exec(line) ?? [];
  const isOn = first !== 'off';
  switch (word) {
    case 'claim':
      return claimAll();
    case 'call': {
      const params: unknown = rest === '' ? undefined : JSON.parse(rest);
      return console.log(JSON.stringify(await (await connection()).call(first, params)));
    }
    case 'send':
      return (await connection()).sendText(`${first} ${rest}`.trim());
    case 'cut':
      return (await connection()).cut();
    case 'stall':
      return (await connection()).stall();
    case 'close':
      return (await connection()).close(Number(first));
    case 'mute':
      options.isMute = isOn;
      return;
    case 'acks':
      options.acks = isOn;
      return;
    case 'revoke':
      return tokens.forEach(revoke);
    case 'restore':
      return tokens.forEach(restore);
    default:
      console.log('claim, call, send, cut, stall, close, mute on|off, acks on|off, revoke, restore');
  }
}
