import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ssidFromText, type JoinRequest, type Network } from '../core/wifi-network.ts';
import { decide, enter, type Step } from './wifi-decide.ts';
import {
  type Facts,
  initialMemory,
  joined,
  type Memory,
  noteFacts,
  noteFailedReturn,
  noteFailure,
  noteScan,
  noteSuccess,
  timing,
  usualRetryLimits,
} from './wifi-facts.ts';
import type { RadioFacts } from './wifi-ports.ts';

const now = 1_000_000;
const home = ssidFromText('home');
const request: JoinRequest = { ssid: home, security: 'wpa2', password: 'secret', isHidden: false };
const candidate = { id: 'c1', ip: '10.0.0.2' };
const inReach: Network = { ssid: home, security: 'wpa2', signal: 60, isKnown: true };

type RadioState = NonNullable<RadioFacts['radio']>;
const idle: RadioState = {
  interface: 'wlan0',
  isManaged: true,
  blocked: 'no',
  canBeAccessPoint: true,
  state: 'disconnected',
  client: null,
  hotspot: null,
};
const client = { ssid: home, ip: '10.0.0.2', gateway: '10.0.0.1', signal: 60, candidateId: null };
const connected: RadioState = { ...idle, state: 'connected', client };
const hotspot = { ssid: ssidFromText('Station'), ip: '192.0.2.1', clients: 0 };
const asHotspot: RadioState = { ...idle, state: 'hotspot', hotspot };
const usedHotspot: RadioState = { ...asHotspot, hotspot: { ...hotspot, clients: 1 } };
const cable = { interface: 'eth0', ip: '10.9.0.2', gateway: '10.9.0.1' };

const network = (radio: RadioState | null, more: Partial<RadioFacts> = {}): RadioFacts => ({
  manager: 'running',
  radio,
  ethernet: null,
  known: [home],
  hidden: [],
  unkept: [],
  hasRoute: true,
  hasLeftovers: radio?.hotspot != null,
  ...more,
});
const none = { known: [] };

const facts = (network_: RadioFacts, more: Partial<Facts> = {}): Facts => ({
  nowMs: now,
  network: network_,
  networks: [],
  scan: { isRunning: false, endedMs: now - 1000 },
  portal: { isOpen: false, isListening: false },
  seenMs: null,
  ...more,
});
const lastJoin = { ssid: home, isHidden: false, security: null, failure: 'wrong_password' } as const;
const page = { portal: { isOpen: true, isListening: true } };

/** At rest in CONNECTED's sense: nothing to undo, entered long ago. */
const memory = (changes: Partial<Memory> = {}): Memory => ({
  ...initialMemory(now - 600_000, true),
  isReconciled: true,
  state: 'CHECK',
  intent: 'clear',
  proxy: 'running',
  usableSinceMs: now - 600_000,
  ...changes,
});
const probed = (connectivity: 'none' | 'local' | 'full', agoMs = 1000, failures = connectivity === 'none' ? 1 : 0) => ({
  link: { key: 'wifi 686f6d65 10.0.0.2 10.0.0.1', connectivity, failures, probedMs: now - agoMs },
});
const inHotspot = (changes: Partial<Memory> = {}): Memory =>
  memory({ state: 'HOTSPOT_ACTIVE', intent: 'proxy_stopped', proxy: 'stopped', sinceMs: now - 100_000, ...changes });
const tried = (changes: Partial<Memory> = {}): Memory =>
  memory({ state: 'RETRYING', attempts: 3, attemptedMs: now - 30_000, ...changes });
const failedStep = (step: string, dueInMs = 5000) => ({ retries: { [step]: { failures: 1, dueMs: now + dueInMs } } });
const joining = (
  changes: Partial<Exclude<NonNullable<Memory['attempt']>, { kind: 'known' }>> = {},
  agoMs = 3000,
): Memory =>
  inHotspot({
    state: 'JOINING',
    attempt: { kind: 'portal', request, acceptedMs: now - agoMs, candidate: null, ...changes },
  });
const returning = inHotspot({ state: 'JOINING', attempt: { kind: 'known', acceptedMs: now - 3000 } });

const asked = { request, acceptedMs: now - 3000, candidate: null };
/** The web app's join has just failed. */
const left = memory({
  state: 'JOINING',
  appJoin: { ssid: home, failure: 'wrong_password', endedMs: now - 600_000, endedAt: '' },
});

type Row = [what: string, memory: Memory, facts: Facts, state: string, step: Step['kind'], reason?: string];

const rows: Row[] = [
  ['a start', memory({ state: 'INIT', isReconciled: false }), facts(network(connected)), 'INIT', 'reconcile'],
  [
    'a start that failed',
    memory({ state: 'INIT', isReconciled: false, ...failedStep('reconcile') }),
    facts(network(idle)),
    'INIT',
    'wait',
  ],
  [
    'no Wi-Fi device yet, in auto',
    memory({ isEnabled: false }),
    facts(network(null, { ethernet: cable })),
    'CHECK',
    'wait',
    'no_radio',
  ],
  [
    'no network manager, in auto',
    memory({ isEnabled: false }),
    facts(network(null, { manager: 'absent', ethernet: cable })),
    'CHECK',
    'wait',
    'no_network_manager',
  ],
  [
    'no Wi-Fi device, and a proxy that was stopped',
    memory({ isEnabled: false, proxy: 'unknown' }),
    facts(network(null)),
    'CHECK',
    'start_proxy',
  ],

  ['a cable', memory({ state: 'INIT' }), facts(network(idle, { ethernet: cable })), 'CONNECTED', 'probe', 'ethernet'],
  [
    'a cable and an unused hotspot',
    inHotspot(),
    facts(network(asHotspot, { ethernet: cable }), page),
    'CONNECTED',
    'close_portal',
  ],
  [
    'a cable and a phone in the hotspot that nobody looked from',
    inHotspot(),
    facts(network(usedHotspot, { ethernet: cable })),
    'CONNECTED',
    'stop_hotspot',
  ],
  [
    'a cable and a used hotspot',
    inHotspot(),
    facts(network(usedHotspot, { ethernet: cable }), { ...page, seenMs: now - 10_000 }),
    'HOTSPOT_ACTIVE',
    'wait',
    'in_use',
  ],
  [
    'a cable and a hotspot that somebody has used for half an hour',
    inHotspot({ sinceMs: now - timing.longestUse }),
    facts(network(usedHotspot, { ethernet: cable }), { ...page, seenMs: now - 10_000 }),
    'CONNECTED',
    'close_portal',
  ],
  [
    'a cable and a join that failed',
    inHotspot({ state: 'JOINING', lastJoin, proxy: 'stopped' }),
    facts(network(idle, { ethernet: cable }), { seenMs: now - 40_000 }),
    'HOTSPOT_ACTIVE',
    'start_hotspot',
    'phone_awaited',
  ],
  [
    'a cable and a phone on its way back',
    inHotspot({ sinceMs: now - 20_000, lastJoin }),
    facts(network(asHotspot, { ethernet: cable }), { ...page, seenMs: now - 60_000 }),
    'HOTSPOT_ACTIVE',
    'wait',
    'phone_awaited',
  ],
  [
    'a cable and a phone that did not come back',
    inHotspot({ sinceMs: now - timing.phoneBack, lastJoin }),
    facts(network(asHotspot, { ethernet: cable }), { ...page, seenMs: now - 100_000 }),
    'CONNECTED',
    'close_portal',
  ],
  [
    'a cable and a join that failed long ago',
    inHotspot({ state: 'JOINING', lastJoin }),
    facts(network(idle, { ethernet: cable }), { seenMs: now - timing.use }),
    'CONNECTED',
    'start_proxy',
  ],
  [
    'a cable and a join that succeeded',
    inHotspot({ state: 'JOINING' }),
    facts(network(connected, { ethernet: cable }), { seenMs: now - 40_000 }),
    'CONNECTED',
    'start_proxy',
  ],
  [
    'a cable and a hotspot used long ago',
    inHotspot(),
    facts(network(usedHotspot, { ethernet: cable }), { seenMs: now - timing.use }),
    'CONNECTED',
    'stop_hotspot',
  ],

  ['a link not looked behind', memory({ state: 'INIT' }), facts(network(connected)), 'CHECK', 'probe', 'new_link'],
  [
    'a link that came while retrying',
    tried({ attempts: 1 }),
    facts(network(connected)),
    'RETRYING',
    'probe',
    'new_link',
  ],
  ['a probe that failed unexpectedly', memory(failedStep('probe')), facts(network(connected)), 'CHECK', 'wait'],
  ['a living gateway', memory(probed('local')), facts(network(connected)), 'CONNECTED', 'wait', 'online'],
  ['the internet', tried(probed('full')), facts(network(connected)), 'CONNECTED', 'wait', 'online'],
  [
    'an old probe of the internet',
    memory({ state: 'CONNECTED', ...probed('full', timing.probeWhenOnline) }),
    facts(network(connected)),
    'CONNECTED',
    'probe',
  ],
  [
    'an old probe of a gateway',
    memory({ state: 'CONNECTED', ...probed('local', timing.probeWhenLocal) }),
    facts(network(connected)),
    'CONNECTED',
    'probe',
  ],
  [
    'a first silent probe',
    memory({ state: 'CONNECTED', ...probed('none') }),
    facts(network(connected)),
    'CONNECTED',
    'wait',
    'silent',
  ],
  [
    'a third silent probe',
    memory({ state: 'CONNECTED', ...probed('none', 1000, 3) }),
    facts(network(connected)),
    'RETRYING',
    'try_known',
    'gateway_silent',
  ],
  [
    'a silent link at a start',
    memory(probed('none')),
    facts(network(connected)),
    'RETRYING',
    'try_known',
    'gateway_silent',
  ],
  [
    'a silent link after all attempts',
    tried(probed('none')),
    facts(network(connected)),
    'HOTSPOT_ACTIVE',
    'write_intent',
  ],
  [
    'a silent link, and nothing that joins by itself',
    tried({ attempts: 0, attemptedMs: null, sinceMs: now - 80_000, ...probed('none') }),
    facts(network(connected, none)),
    'RETRYING',
    'wait',
  ],
  [
    'the same when three attempts would be over',
    tried({ attempts: 0, attemptedMs: null, sinceMs: now - 90_000, ...probed('none') }),
    facts(network(connected, none)),
    'HOTSPOT_ACTIVE',
    'write_intent',
    'no_known_network',
  ],
  [
    'a silent link as the hotspot begins',
    inHotspot(probed('none')),
    facts(network(connected)),
    'HOTSPOT_ACTIVE',
    'start_hotspot',
  ],
  [
    'a silent link after a return',
    { ...returning, attempt: null, ...probed('none') },
    facts(network(connected)),
    'HOTSPOT_ACTIVE',
    'start_hotspot',
  ],
  [
    'a network that is not on disk',
    memory({ state: 'CONNECTED', ...probed('full') }),
    facts(network({ ...connected, client: { ...client, candidateId: 'c1' } })),
    'CONNECTED',
    'keep_candidate',
  ],
  [
    'one that cannot be written',
    memory({ state: 'CONNECTED', ...probed('full'), ...failedStep('keep_candidate') }),
    facts(network({ ...connected, client: { ...client, candidateId: 'c1' } })),
    'CONNECTED',
    'wait',
  ],

  [
    'a hotspot that ended by itself, and left the machine closed',
    memory({ state: 'CONNECTED', ...probed('full') }),
    facts(network(connected, { hasLeftovers: true })),
    'CONNECTED',
    'stop_hotspot',
  ],
  [
    'the same without its manager',
    memory({ usableSinceMs: null }),
    facts(network(null, { manager: 'absent', ...none, hasLeftovers: true })),
    'RETRYING',
    'stop_hotspot',
  ],
  [
    'a machine that cannot be opened again',
    memory({ state: 'CONNECTED', proxy: 'unknown', ...probed('full'), ...failedStep('stop_hotspot') }),
    facts(network(connected, { hasLeftovers: true })),
    'CONNECTED',
    'start_proxy',
  ],

  [
    'a proxy that is not known to run',
    memory({ state: 'CONNECTED', proxy: 'unknown', ...probed('full') }),
    facts(network(connected)),
    'CONNECTED',
    'start_proxy',
  ],
  [
    'a proxy that does not start',
    memory({ state: 'CONNECTED', proxy: 'unknown', ...probed('full'), ...failedStep('start_proxy') }),
    facts(network(connected)),
    'CONNECTED',
    'wait',
  ],
  [
    'an intent that is fulfilled',
    memory({ state: 'CONNECTED', intent: 'proxy_stopped', ...probed('full') }),
    facts(network(connected)),
    'CONNECTED',
    'clear_intent',
  ],
  [
    'one that cannot be written',
    memory({ state: 'CONNECTED', intent: 'unknown', ...probed('full'), ...failedStep('clear_intent') }),
    facts(network(connected)),
    'CONNECTED',
    'wait',
  ],

  [
    'the manager absent',
    memory({ state: 'CONNECTED', usableSinceMs: null }),
    facts(network(null, { manager: 'absent', ...none })),
    'CHECK',
    'wait',
    'radio_not_usable',
  ],
  [
    'the manager absent for long',
    memory({ usableSinceMs: null }),
    facts(network(null, { manager: 'absent', ...none })),
    'RETRYING',
    'wait',
    'radio_not_usable',
  ],
  [
    'the manager absent in the hotspot',
    inHotspot({ usableSinceMs: null }),
    facts(network(null, { manager: 'absent' }), page),
    'CHECK',
    'close_portal',
  ],
  [
    'a radio that is not managed',
    tried({ usableSinceMs: null }),
    facts(network({ ...idle, isManaged: false })),
    'RETRYING',
    'wait',
  ],
  [
    'a switch on the case',
    tried({ usableSinceMs: null }),
    facts(network({ ...idle, blocked: 'hard' })),
    'RETRYING',
    'wait',
  ],
  [
    'a radio without its software',
    tried({ usableSinceMs: null }),
    facts(network({ ...idle, state: 'unavailable' })),
    'RETRYING',
    'wait',
  ],
  [
    'a block that can be lifted',
    tried(),
    facts(network({ ...idle, state: 'unavailable', blocked: 'soft' })),
    'HOTSPOT_ACTIVE',
    'write_intent',
  ],
  [
    'a radio that is back',
    tried({ sinceMs: now - 9000, usableSinceMs: now }),
    facts(network(idle)),
    'CHECK',
    'wait',
    'radio_back',
  ],

  [
    'a link that is lost',
    memory({ state: 'CONNECTED', wasConnected: true }),
    facts(network(idle)),
    'CHECK',
    'wait',
    'link_lost',
  ],
  [
    'a loss a moment ago',
    memory({ sinceMs: now - 5000 }),
    facts(network(idle)),
    'CHECK',
    'wait',
    'waiting_for_network_manager',
  ],
  [
    'a loss half a minute ago',
    memory({ sinceMs: now - 30_000 }),
    facts(network(idle)),
    'RETRYING',
    'try_known',
    'no_network',
  ],
  [
    'the last cable out, nothing known',
    memory({ sinceMs: now - 5000, wasConnected: true }),
    facts(network(idle, none)),
    'CHECK',
    'wait',
    'waiting_for_network_manager',
  ],
  [
    'the same half a minute later',
    memory({ sinceMs: now - 30_000, wasConnected: true }),
    facts(network(idle, none)),
    'HOTSPOT_ACTIVE',
    'write_intent',
    'no_known_network',
  ],
  [
    'a first boot',
    memory({ sinceMs: now - 500, usableSinceMs: now - 500 }),
    facts(network(idle, none), { scan: { isRunning: false, endedMs: null } }),
    'CHECK',
    'start_scan',
    'looking_around',
  ],
  [
    'a first boot that looks around',
    memory({ sinceMs: now - 500 }),
    facts(network(idle, none), { scan: { isRunning: true, endedMs: null } }),
    'CHECK',
    'wait',
    'looking_around',
  ],
  [
    'a first boot that has looked around',
    memory({ sinceMs: now - 9000 }),
    facts(network(idle, none)),
    'HOTSPOT_ACTIVE',
    'write_intent',
    'no_known_network',
  ],
  [
    'a look around that never ends',
    memory({ sinceMs: now - 30_000 }),
    facts(network(idle, none), { scan: { isRunning: true, endedMs: null } }),
    'HOTSPOT_ACTIVE',
    'write_intent',
  ],

  [
    'a first attempt a moment ago',
    tried({ attempts: 1, attemptedMs: now - 5000 }),
    facts(network(idle)),
    'RETRYING',
    'wait',
  ],
  ['a first attempt half a minute ago', tried({ attempts: 1 }), facts(network(idle)), 'RETRYING', 'try_known'],
  ['three attempts', tried(), facts(network(idle)), 'HOTSPOT_ACTIVE', 'write_intent', 'no_network'],
  [
    'one attempt after a restart',
    tried({ attempts: 1, retryLimits: { checkMs: 10_000, attempts: 1 } }),
    facts(network(idle)),
    'HOTSPOT_ACTIVE',
    'write_intent',
  ],
  [
    'a known network that was forgotten',
    tried({ attempts: 1 }),
    facts(network(idle, none)),
    'HOTSPOT_ACTIVE',
    'write_intent',
  ],
  [
    'a radio that cannot be an access point',
    tried(),
    facts(network({ ...idle, canBeAccessPoint: false })),
    'RETRYING',
    'wait',
    'no_hotspot_possible',
  ],
  [
    'the same a minute later',
    tried({ attemptedMs: now - 60_000 }),
    facts(network({ ...idle, canBeAccessPoint: false })),
    'RETRYING',
    'try_known',
  ],
  [
    'a hotspot that failed',
    inHotspot(failedStep('start_hotspot')),
    facts(network(idle)),
    'RETRYING',
    'start_proxy',
    'hotspot_failed',
  ],
  [
    'a hotspot that failed a while ago',
    tried(failedStep('start_hotspot', -1)),
    facts(network(idle)),
    'HOTSPOT_ACTIVE',
    'write_intent',
  ],

  [
    'a full disk',
    inHotspot({ intent: 'unknown', proxy: 'running', ...failedStep('write_intent') }),
    facts(network(idle)),
    'HOTSPOT_ACTIVE',
    'start_hotspot',
  ],
  ['an intent on disk', inHotspot({ proxy: 'running' }), facts(network(idle)), 'HOTSPOT_ACTIVE', 'start_hotspot'],
  [
    'a hotspot without its intent',
    inHotspot({ proxy: 'running', intent: 'clear' }),
    facts(network(asHotspot)),
    'HOTSPOT_ACTIVE',
    'write_intent',
  ],
  ['a hotspot', inHotspot({ proxy: 'running' }), facts(network(asHotspot)), 'HOTSPOT_ACTIVE', 'stop_proxy'],
  [
    'a proxy that does not stop',
    inHotspot({ proxy: 'unknown', ...failedStep('stop_proxy') }),
    facts(network(asHotspot)),
    'HOTSPOT_ACTIVE',
    'open_portal',
  ],
  [
    'a proxy in an unknown state, and a page that listens',
    inHotspot({ proxy: 'unknown' }),
    facts(network(asHotspot), page),
    'HOTSPOT_ACTIVE',
    'wait',
  ],
  ['a proxy that is stopped', inHotspot(), facts(network(asHotspot)), 'HOTSPOT_ACTIVE', 'open_portal'],
  [
    'a page that cannot be opened',
    inHotspot(failedStep('open_portal')),
    facts(network(asHotspot)),
    'HOTSPOT_ACTIVE',
    'wait',
  ],
  ['a hotspot that ended under its page', inHotspot(), facts(network(idle), page), 'HOTSPOT_ACTIVE', 'close_portal'],
  [
    'an old scan',
    inHotspot(),
    facts(network(asHotspot), { ...page, scan: { isRunning: false, endedMs: now - timing.scanEvery } }),
    'HOTSPOT_ACTIVE',
    'start_scan',
  ],
  [
    'a scan under way',
    inHotspot(),
    facts(network(asHotspot), { ...page, scan: { isRunning: true, endedMs: now - timing.scanEvery } }),
    'HOTSPOT_ACTIVE',
    'wait',
  ],
  [
    'a known network in reach',
    inHotspot(),
    facts(network(asHotspot), { ...page, networks: [inReach] }),
    'HOTSPOT_ACTIVE',
    'begin_return',
  ],
  [
    'a strange network in reach',
    inHotspot(),
    facts(network(asHotspot), { ...page, networks: [{ ...inReach, isKnown: false }] }),
    'HOTSPOT_ACTIVE',
    'wait',
  ],
  [
    'one seen before the hotspot',
    inHotspot({ sinceMs: now - 500 }),
    facts(network(asHotspot), { ...page, networks: [inReach] }),
    'HOTSPOT_ACTIVE',
    'wait',
  ],
  [
    'one that was tried in vain',
    inHotspot({ returns: { [home]: { delayMs: 60_000, dueMs: now + 1000, missedScans: 0 } } }),
    facts(network(asHotspot), { ...page, networks: [inReach] }),
    'HOTSPOT_ACTIVE',
    'wait',
  ],
  [
    'one in reach while the page is used',
    inHotspot(),
    facts(network(usedHotspot), { ...page, networks: [inReach], seenMs: now - 1000 }),
    'HOTSPOT_ACTIVE',
    'wait',
  ],
  [
    'one in reach while somebody has used the page for half an hour',
    inHotspot({ sinceMs: now - timing.longestUse }),
    facts(network(usedHotspot), { ...page, networks: [inReach], seenMs: now - 1000 }),
    'HOTSPOT_ACTIVE',
    'begin_return',
  ],
  [
    'one in reach while a phone is on its way back',
    inHotspot({ sinceMs: now - 20_000 }),
    facts(network(asHotspot), { ...page, networks: [inReach], seenMs: now - 50_000 }),
    'HOTSPOT_ACTIVE',
    'wait',
  ],

  ['a join requested a moment ago', joining({}, 500), facts(network(asHotspot), page), 'JOINING', 'wait', 'asked_for'],
  ['a join, the page shown', joining(), facts(network(asHotspot), page), 'JOINING', 'close_portal'],
  ['a join, the page closed', joining(), facts(network(asHotspot)), 'JOINING', 'stop_hotspot'],
  ['a join, the hotspot stopped', joining(), facts(network(idle)), 'JOINING', 'join'],
  ['a join that succeeded', joining({ candidate }), facts(network(connected)), 'JOINING', 'settle_join'],
  [
    'a join that hangs',
    joining({}, timing.longestJoin + 1),
    facts(network(asHotspot), page),
    'JOINING',
    'abandon_join',
  ],
  [
    'a hotspot that does not end for it',
    { ...joining(), ...failedStep('stop_hotspot') },
    facts(network(asHotspot)),
    'JOINING',
    'wait',
  ],
  ['a join that failed', inHotspot({ state: 'JOINING' }), facts(network(idle)), 'HOTSPOT_ACTIVE', 'start_hotspot'],
  [
    'a join that was settled',
    inHotspot({ state: 'JOINING', ...probed('full') }),
    facts(network(connected)),
    'CONNECTED',
    'start_proxy',
  ],
  [
    'a join from the web app, in another network',
    memory({ ...joining(), proxy: 'running', intent: 'clear', attempt: { ...asked, kind: 'app' } }),
    facts(network(connected)),
    'JOINING',
    'join',
    'asked_for',
  ],
  ['one that failed: the network before', left, facts(network(idle)), 'RETRYING', 'try_known', 'join_failed'],
  [
    'one that failed, and nothing answers here',
    { ...left, ...probed('none') },
    facts(network(connected)),
    'RETRYING',
    'try_known',
    'join_failed',
  ],
  ['one that failed, with a cable', left, facts(network(idle, { ethernet: cable })), 'CONNECTED', 'probe', 'ethernet'],
  ['a return', returning, facts(network(asHotspot), page), 'JOINING', 'close_portal', 'known_network_back'],
  ['a return, the hotspot stopped', returning, facts(network(idle)), 'JOINING', 'try_known'],
];

describe('decide', () => {
  for (const [what, before, seen, state, step, reason] of rows) {
    test(`${what}: ${state}, ${step}`, () => {
      const decision = decide(before, seen);
      assert.deepEqual(
        [decision.state, decision.step.kind, reason === undefined ? undefined : decision.reason],
        [state, step, reason],
      );
    });
  }

  test('never waits for the past, nor longer than a minute', () => {
    for (const [what, before, seen] of rows) {
      const { step } = decide(before, seen);
      if (step.kind === 'wait') assert.ok(step.untilMs > now && step.untilMs <= now + timing.longestWait, what);
    }
  });

  test('waits for what is due first', () => {
    const untilOf = (before: Memory, seen: Facts) => {
      const { step } = decide(before, seen);
      return step.kind === 'wait' ? step.untilMs - now : step.kind;
    };
    assert.equal(untilOf(memory({ sinceMs: now - 5000 }), facts(network(idle))), 25_000);
    assert.equal(untilOf(tried({ attempts: 1, attemptedMs: now - 5000 }), facts(network(idle))), 25_000);
    assert.equal(untilOf(memory({ state: 'CONNECTED', ...probed('none', 4000) }), facts(network(connected))), 6000);
    assert.equal(untilOf(joining({}, 500), facts(network(asHotspot), page)), 1500);
    assert.equal(untilOf(inHotspot(), facts(network(asHotspot), page)), 19_000);
    assert.equal(untilOf(inHotspot(failedStep('open_portal', 700)), facts(network(asHotspot))), 700);
    assert.equal(
      untilOf(
        inHotspot(failedStep('stop_proxy', 5000)),
        facts(network(asHotspot), { portal: { isOpen: true, isListening: false } }),
      ),
      1000,
    );
  });
});

describe('memory', () => {
  test('of failures is lost when the station is online', () => {
    const before = tried({
      lastFailure: 'not_found',
      returns: { [home]: { delayMs: 1, dueMs: 1, missedScans: 0 } },
      ...failedStep('start_hotspot'),
    });
    const after = enter(before, 'CONNECTED', now);
    const { attempts, attemptedMs, returns, retries, wasConnected, retryLimits, sinceMs } = after;
    assert.deepEqual(
      { attempts, attemptedMs, returns, retries, wasConnected, retryLimits, sinceMs },
      {
        attempts: 0,
        attemptedMs: null,
        returns: {},
        retries: {},
        wasConnected: true,
        retryLimits: usualRetryLimits,
        sinceMs: now,
      },
    );
  });

  test('keeps the attempts between CHECK and RETRYING, and begins anew after the hotspot', () => {
    assert.equal(enter(tried(), 'CHECK', now).attempts, 3);
    assert.equal(enter(tried(), 'HOTSPOT_ACTIVE', now).attempts, 0);
    assert.equal(enter(tried({ state: 'CONNECTED' }), 'CHECK', now).attempts, 0);
  });

  test('lets a network that failed wait from one minute to a quarter of an hour, until three scans do not find it', () => {
    const delays: number[] = [];
    let after = memory();
    for (let tries = 0; tries < 6; tries += 1) {
      after = noteFailedReturn(after, [inReach, { ...inReach, ssid: ssidFromText('strange'), isKnown: false }], now);
      delays.push((after.returns[home]?.dueMs ?? 0) - now);
    }
    assert.deepEqual(delays, [60_000, 120_000, 240_000, 480_000, 900_000, 900_000]);
    assert.deepEqual(Object.keys(after.returns), [home]);
    for (const networks of [[], [], [inReach], [], []]) after = noteScan(after, networks);
    assert.ok(home in after.returns);
    assert.deepEqual(noteScan(after, []).returns, {});
  });

  test('of a step that fails grows to a limit, and ends with its success', () => {
    const delays: number[] = [];
    let after = memory();
    for (let tries = 0; tries < 6; tries += 1) {
      after = noteFailure(after, 'start_hotspot', now);
      delays.push((after.retries['start_hotspot']?.dueMs ?? 0) - now);
    }
    assert.deepEqual(delays, [5000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    assert.deepEqual(noteSuccess(after, 'start_hotspot').retries, {});
    assert.equal(noteSuccess(after, 'probe'), after);
  });
});

describe('whether the station was ever in a network', () => {
  const seen = (network_: RadioFacts) => noteFacts(memory({ everJoined: 'never' }), facts(network_)).everJoined;

  test('is known from a saved network, a cable, or a network in use', () => {
    assert.equal(seen(network(idle)), 'unwritten');
    assert.equal(seen(network(null, { ...none, ethernet: cable })), 'unwritten');
    assert.equal(enter(memory({ everJoined: 'never' }), 'CONNECTED', now).everJoined, 'unwritten');
    assert.equal(seen(network(asHotspot, none)), 'never');
    assert.equal(enter(memory({ everJoined: 'never' }), 'HOTSPOT_ACTIVE', now).everJoined, 'never');
  });

  test('is written once, before anything else, and again later when that failed', () => {
    const unwritten = memory({ everJoined: 'unwritten', proxy: 'unknown' });
    assert.deepEqual(decide(unwritten, facts(network(connected))).step, { kind: 'write_joined' });
    const failed = noteFailure(unwritten, 'write_joined', now);
    assert.notEqual(decide(failed, facts(network(connected))).step.kind, 'write_joined');
    assert.equal(decide(failed, facts(network(connected), { nowMs: now + 30_000 })).step.kind, 'write_joined');
    assert.notEqual(
      decide({ ...unwritten, everJoined: 'written' }, facts(network(connected))).step.kind,
      'write_joined',
    );
  });

  test('is not decided before the file of an earlier process is read', () => {
    assert.equal(joined('unknown'), 'unknown');
    assert.equal(joined('written'), 'written');
  });
});
