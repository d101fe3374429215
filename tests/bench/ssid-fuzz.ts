// npm run bench -- ssid-fuzz [--count N] [--seed N]
// Sends random network names of 1 to 32 bytes, with passwords of every valid form, through everything between a phone
// and NetworkManager: the page with its form, a durable file, and a profile on a real D-Bus. Each must arrive
// unchanged.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Message, sessionBus } from '@jellybrick/dbus-next';
import { type Bus, createBus } from '@station/kit/message-bus';
import { networkSettings, type NetworkSettings } from '@station/agent/wifi/adapters/network-manager/profiles';
import { ssidFromBytes, type JoinRequest, type Network } from '@station/agent/core/wifi-network';
import { readForm, readJoinForm } from '@station/agent/portal/join-form';
import { renderPage, untouched } from '@station/agent/portal/page';
import { quietView } from '@station/agent/testing/running-portal';
import { texts } from '@station/agent/portal/texts';
import { systemClock } from '@station/kit/clock';
import { nodeDisk, readText, writeDurable } from '@station/kit/durable-files';
import { createRandom } from '../faults/choice.ts';
import { startPrivateBus } from '../rig/private-bus.ts';

const { values } = parseArgs({
  options: { count: { type: 'string', default: '10000' }, seed: { type: 'string', default: '1' } },
});
const count = Number(values.count);
const random = createRandom(Number(values.seed));
const below = (limit: number): number => Math.floor(random() * limit);
const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T;
const faults: string[] = [];
/** Names in one page and one file. */
const batchSize = 20;

const words = [
  'Home',
  'Дім',
  '家',
  '🏠',
  '@',
  "'",
  '"',
  '=',
  '&',
  '<',
  '>',
  '\\',
  ' ',
  '%41',
  '+',
  '\0',
  '\n',
  '\u202e',
  '$&',
  '{name}',
];

/** Random bytes, or text from sequences that often break programs. */
function randomName(): Uint8Array {
  const length = 1 + below(32);
  if (random() < 0.5) return Uint8Array.from({ length }, () => below(256));
  const text = Array.from({ length: 32 }, () => pick(words)).join('');
  return Buffer.from(text, 'utf8').subarray(0, length);
}

const printable = (length: number): string =>
  Array.from({ length }, () => String.fromCharCode(0x20 + below(0x5f))).join('');
const forms: readonly { security: JoinRequest['security'] & string; key: () => string | null }[] = [
  { security: 'wpa2', key: () => printable(8 + below(56)) },
  { security: 'wpa2', key: () => Array.from({ length: 64 }, () => pick([...'0123456789abcdefABCDEF'])).join('') },
  { security: 'wpa2-wpa3', key: () => printable(8 + below(56)) },
  { security: 'wpa3', key: () => printable(1 + below(128)) },
  {
    security: 'wpa3',
    key: () => Array.from({ length: 1 + below(30) }, () => pick(['ї', '家', '🏠', 'ß', '\u0301', 'a'])).join(''),
  },
  { security: 'open', key: () => null },
  { security: 'owe', key: () => null },
];

const unescapeHtml = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

/** Through the page: the value of a network's radio button and a typed password, encoded as browsers do. */
function throughPage(networks: readonly Network[], keys: readonly (string | null)[]): (JoinRequest | null)[] {
  const page = renderPage(texts.en, { ...quietView, networks }, untouched);
  const sent = [...page.matchAll(/type="radio"\s+name="ssid"\s+value="([^"]*)"/g)].map(([, value]) =>
    unescapeHtml(value ?? ''),
  );
  return networks.map(({ ssid }, index) => {
    const value = sent.find((one) => one.split('.')[0] === ssid);
    if (value === undefined) return null;
    const body = new URLSearchParams({
      lang: 'en',
      ssid: value,
      name: '',
      security: 'auto',
      password: keys[index] ?? '',
    });
    const form = readForm(new TextEncoder().encode(body.toString()));
    const reading = form && readJoinForm(form, networks);
    return reading?.kind === 'ok' ? reading.request : null;
  });
}

async function throughFile(folder: string, requests: readonly JoinRequest[]): Promise<JoinRequest[]> {
  const path = join(folder, 'wifi-credentials.json');
  await writeDurable(nodeDisk, path, JSON.stringify(requests));
  return JSON.parse((await readText(nodeDisk, path)) ?? 'null') as JoinRequest[];
}

const echo = {
  destination: 'station.Echo',
  path: '/',
  interface: 'station.Echo',
  member: 'Echo',
  signature: 'a{sa{sv}}',
};

/** Sends each message back, so that everything is encoded and decoded twice. */
async function startEcho(address: string): Promise<Disposable> {
  const bus = sessionBus({ busAddress: address, authMethods: ['EXTERNAL'] });
  await once(bus, 'connect');
  bus.addMethodHandler((message: Message) => {
    if (message.interface !== echo.interface) return false;
    bus.send(Message.newMethodReturn(message, echo.signature, message.body));
    return true;
  });
  await bus.requestName(echo.destination, 0);
  return { [Symbol.dispose]: () => bus.disconnect() };
}

/** Through a profile as NetworkManager receives it: the name as bytes, the password as a string. */
async function throughBus(
  bus: Bus,
  { ssid, security, password }: JoinRequest,
): Promise<{ ssid: string; password: string | null }> {
  const settings = networkSettings({
    uuid: '7f1f6c4e-3c5a-4b58-9a53-2f0f4f1f2a01',
    ssid,
    security: security as NetworkSettings['security'],
    password,
    isHidden: false,
    isPskOnly: false,
  });
  const [answer] = await bus.call({ ...echo, body: [settings] });
  const profile = answer as Record<string, Record<string, unknown>>;
  const key = profile['802-11-wireless-security']?.['psk'];
  return {
    ssid: ssidFromBytes(profile['802-11-wireless']?.['ssid'] as Uint8Array),
    password: typeof key === 'string' ? key : null,
  };
}

async function main(folder: string): Promise<boolean> {
  await using daemon = await startPrivateBus();
  using _echo = await startEcho(daemon.address);
  await using bus = createBus({ address: daemon.address, rules: [], clock: systemClock, callMs: 30_000 });
  const perForm: Record<string, number> = {};
  let done = 0;
  while (done < count) {
    const batch = new Map<string, { network: Network; key: string | null }>();
    while (batch.size < Math.min(batchSize, count - done)) {
      const { security, key } = pick(forms);
      const network: Network = {
        ssid: ssidFromBytes(randomName()),
        security,
        signal: below(101),
        isKnown: random() < 0.1,
      };
      batch.set(network.ssid, { network, key: key() });
      perForm[security] = (perForm[security] ?? 0) + 1;
    }
    const wanted = [...batch.values()];
    const requests = throughPage(
      wanted.map(({ network }) => network),
      wanted.map(({ key }) => key),
    );
    const kept = await throughFile(
      folder,
      requests.filter((request) => request !== null),
    );
    const arrived = await Promise.all(kept.map((request) => throughBus(bus, request)));
    for (const [index, { network, key }] of wanted.entries()) {
      const received = arrived[index];
      const request = kept[index];
      const isSame =
        received?.ssid === network.ssid &&
        received.password === key &&
        request?.ssid === network.ssid &&
        request.password === key &&
        request.security === network.security;
      if (!isSame)
        faults.push(`${network.security} ${network.ssid} ${JSON.stringify(key)}: ${JSON.stringify(received)}`);
    }
    done += wanted.length;
  }
  for (const fault of faults.slice(0, 20)) process.stderr.write(`${fault}\n`);
  const ok =
    faults.length === 0 &&
    done >= count &&
    Object.keys(perForm).length === new Set(forms.map(({ security }) => security)).size;
  const result = { bench: 'ssid-fuzz', value: done, unit: 'names', ratio: faults.length / done, goal: 0, ok, perForm };
  process.stdout.write(`${JSON.stringify(result)}\n`);
  return ok;
}

const folder = await mkdtemp(join(tmpdir(), 'station-ssid-'));
try {
  process.exitCode = (await main(folder)) ? 0 : 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
