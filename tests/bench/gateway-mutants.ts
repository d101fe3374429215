// npm run bench -- gateway-mutants [--mutated 100000] [--seed N]
// Announcements, answers and states of each system are mutated as JSON brings them, and go through the functions of its dialect. Required: no
// exception, no type beyond its limits, nothing published that is no text, and as much remembered as before.
import { parseArgs } from 'node:util';
import type { AnnouncedDevice, Dialect, Place, Said } from '@station/backend/gateways/dialect';
import { dialectOf } from '@station/backend/gateways/dialects';
import { commandPayload } from '@station/backend/gateways/payloads-decide';
import { maxDeviceTypeBytes, readDeviceType } from '@station/protocol/device-types';
import { type DialectName, discoveryPrefixes } from '@station/protocol/gateway-systems';
import { createRandom } from '../faults/choice.ts';
import { mutateJson } from '../faults/mutate.ts';
import { announcements, systems } from './fuzz/gateway-fuzz.ts';
import { pick } from './fuzz/pick.ts';

const { values: flags } = parseArgs({
  options: { mutated: { type: 'string', default: '100000' }, seed: { type: 'string', default: '1' } },
});
const random = createRandom(Number(flags.seed));
const names = Object.keys(systems) as DialectName[];
const each = Math.ceil(Number(flags.mutated) / names.length);
/** After so many messages its gateway is a new one. */
const ofOneRun = 100;
/** Keys that one message may report. */
const mostKeys = 300;

const faults: string[] = [];
const described: Partial<Record<DialectName, number>> = {};
let slowestMs = 0;

for (const name of names)
  for (let done = 0; done < each; done += ofOneRun) tryRun(name, Math.min(ofOneRun, each - done));

const least = Math.min(...names.map((name) => described[name] ?? 0));
const ok = faults.length === 0 && least >= each / 100;
for (const fault of faults.slice(0, 10)) process.stderr.write(`${fault}\n`);
const result = { value: faults.length, unit: 'faults', ratio: null, goal: 0, ok };
const more = { mutants: each * names.length, described, slowestMs: Math.round(slowestMs) };
process.stdout.write(`${JSON.stringify({ bench: 'gateway-mutants', ...result, ...more })}\n`);

function tryRun(name: DialectName, count: number): void {
  const gateway = openGateway(name);
  for (const [topic, body] of announcements[name]) gateway.hear(topic, body);
  for (let at = 0; at < count; at += 1) {
    const messages = random() < 0.3 ? announcedWith(name) : [pick(random, Object.entries(systems[name]))];
    const mutated = Math.floor(random() * messages.length);
    const before = performance.now();
    for (const [index, [topic, seed]] of messages.entries()) {
      const body = index === mutated ? asJson(mutateJson(seed, random)) : seed;
      try {
        for (const device of gateway.hear(topic, body)) check(name, device);
      } catch (error) {
        faults.push(`${name}: ${String(error)}: ${topic} ${JSON.stringify(body).slice(0, 300)}`);
      }
    }
    slowestMs = Math.max(slowestMs, performance.now() - before);
  }
}

/** As it comes over MQTT: JSON has no holes and nothing undefined. */
function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value) ?? 'null');
}

/** All of an announcement, of which one message is mutated: an answer alone says nothing. */
function announcedWith(name: DialectName): readonly (readonly [topic: string, body: unknown])[] {
  return announcements[name].slice(0, 12);
}

/** A gateway whose devices are taken as soon as they are announced. */
function openGateway(name: DialectName) {
  const dialect = dialectOf(name) as Dialect;
  const place: Place = { base: name, discovery: discoveryPrefixes[name] ?? null };
  const devices = new Map<string, AnnouncedDevice>();
  const byTopic = (topic: string): AnnouncedDevice[] =>
    [...devices.values()].filter(({ topics }) => topics.heard.includes(topic)).slice(0, 8);
  const known = { memory: dialect.remember(), at: byTopic, find: (id: string) => devices.get(id) };
  const take = (said: Said): AnnouncedDevice[] => {
    if (said.kind === 'part') return said.say().flatMap(take);
    if (said.kind === 'report' && Object.keys(said.report.state).length > mostKeys)
      faults.push(`${name}: a large report`);
    if (said.kind === 'question' && typeof said.publish.payload !== 'string') faults.push(`${name}: an odd question`);
    const found = said.kind === 'list' ? (said.devices()?.devices ?? []) : said.kind === 'device' ? [said.device] : [];
    // As it comes back from the database.
    for (const device of found) devices.set(device.externalId, JSON.parse(JSON.stringify(device)) as AnnouncedDevice);
    return [...found];
  };
  return {
    hear: (topic: string, body: unknown): AnnouncedDevice[] => {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const found = dialect.read({ ...place, topic, text }, known).flatMap(take);
      return found.flatMap(({ externalId }) => devices.get(externalId) ?? []);
    },
  };
}

function check(name: DialectName, device: AnnouncedDevice): void {
  described[name] = (described[name] ?? 0) + 1;
  const { firmwareVersion: _version, chip: _chip, ...words } = device.words;
  const text = JSON.stringify(words);
  const read = readDeviceType(JSON.parse(text));
  if (read.kind === 'invalid') faults.push(`${name}: no type: ${read.faults[0]}`);
  if (Buffer.byteLength(text) > maxDeviceTypeBytes) faults.push(`${name}: a type of ${Buffer.byteLength(text)} bytes`);
  for (const { action, params } of device.words.commands as { action: string; params?: { properties?: object } }[]) {
    const given = Object.fromEntries(
      Object.keys(params?.properties ?? {}).map((key) => [key, pick(random, [1, 'x', true])]),
    );
    const payload = commandPayload(device.plan, { action, ...given });
    const written = payload === null ? [] : (dialectOf(name)?.write(device, payload) ?? []);
    for (const one of written)
      if (typeof one.topic !== 'string' || typeof one.payload !== 'string')
        faults.push(`${name}: an odd command ${action}`);
  }
}
