import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Alert } from './alert.ts';
import {
  type AlertFacts,
  type ConditionFact,
  connectMs,
  decideAlerts,
  type DeviceFact,
  gatherMs,
  type OperationFact,
  stableMs,
  standMs,
} from './alerts-decide.ts';

const minute = 60_000;
const rules = { offlineMs: 10 * minute, batteryPercent: 15, updates: true, conditions: true };
const calm: AlertFacts = {
  rules,
  watchingMs: 60 * minute,
  devices: [],
  conditions: [],
  isAgentKnown: true,
  operations: null,
  stoppedRollouts: [],
  told: new Map(),
};
const device = (id: string, more: Partial<DeviceFact>): DeviceFact => ({
  id,
  name: id,
  isOnline: true,
  isUpdating: false,
  forMs: 0,
  battery: null,
  ...more,
});
const gone = (id: string, minutes: number, more: Partial<DeviceFact> = {}): DeviceFact =>
  device(id, { isOnline: false, forMs: minutes * minute, ...more });
const there = (id: string, minutes: number): DeviceFact => device(id, { forMs: minutes * minute });
const told = (states: Record<string, [string, number]>): AlertFacts['told'] =>
  new Map(Object.entries(states).map(([key, [state, minutes]]) => [key, { state, forMs: minutes * minute }]));
const watched = told({ rollouts: ['watched', 9] });
const short = (alert: Alert): string => {
  if ('devices' in alert) return `${alert.kind} ${alert.devices.map(({ id }) => id).join(' ')}`;
  if ('conditions' in alert) return `${alert.kind} ${alert.conditions.join(' ')}${alert.isFault ? ' fault' : ''}`;
  if (alert.kind === 'firmware_stopped') return `${alert.kind} ${alert.firmware} ${alert.version}`;
  return 'version' in alert ? `${alert.kind} ${alert.version}` : alert.kind;
};
const condition = (more: Partial<ConditionFact>): ConditionFact => ({
  id: 'backup_old',
  source: 'station',
  severity: 'warning',
  stands: true,
  forMs: standMs,
  ...more,
});
const operation = (id: string, more: Partial<OperationFact> = {}): OperationFact => ({
  id,
  kind: 'update',
  result: 'updated',
  from: '1.0.0',
  to: '1.1.0',
  reason: null,
  ...more,
});

const rollout = (id: string) => ({ id, firmware: 'light', names: {}, version: '2.0.0' });

type Row = { name: string; facts: Partial<AlertFacts>; alerts: string[]; remember?: string[]; forget?: string[] };
const raised = 'condition:station:backup_old';

const rows: Row[] = [
  {
    name: 'a device that is offline for the whole time',
    facts: { devices: [gone('a', 10)] },
    alerts: ['devices_offline a'],
    remember: ['device:a offline'],
  },
  { name: 'not a moment earlier', facts: { devices: [gone('a', 9.9)] }, alerts: [] },
  {
    name: 'once per outage',
    facts: { devices: [gone('a', 500)], told: told({ 'device:a': ['offline', 500] }) },
    alerts: [],
  },
  {
    name: 'no rule, no message',
    facts: {
      rules: { ...rules, offlineMs: null },
      devices: [gone('a', 99)],
      told: told({ 'device:a': ['offline', 9] }),
    },
    alerts: [],
    forget: ['device:a'],
  },
  {
    name: 'a start: devices had no time to connect',
    facts: { watchingMs: connectMs - 1, devices: [gone('a', 99)] },
    alerts: [],
  },
  {
    name: 'a device that restarts with new firmware',
    facts: { devices: [gone('a', 99, { isUpdating: true })] },
    alerts: [],
  },
  {
    name: 'back, and it stays',
    facts: { devices: [there('a', 2)], told: told({ 'device:a': ['offline', 9] }) },
    alerts: ['devices_back a'],
    remember: ['device:a back'],
  },
  {
    name: 'back for a short moment',
    facts: { devices: [there('a', 1)], told: told({ 'device:a': ['offline', 9] }) },
    alerts: [],
  },
  {
    name: 'offline again soon after it was back: it is unstable',
    facts: { devices: [gone('a', 10)], told: told({ 'device:a': ['back', 20] }) },
    alerts: ['devices_unstable a'],
    remember: ['device:a unstable'],
  },
  {
    name: 'an unstable device says nothing, however it flaps',
    facts: {
      devices: [there('a', 59), gone('b', 59)],
      told: told({ 'device:a': ['unstable', 300], 'device:b': ['unstable', 300] }),
    },
    alerts: [],
  },
  {
    name: 'an unstable device that was stable for an hour',
    facts: { devices: [there('a', 60)], told: told({ 'device:a': ['unstable', 300] }) },
    alerts: ['devices_back a'],
    remember: ['device:a back'],
  },
  {
    name: 'an outage that is long over is forgotten',
    facts: { devices: [there('a', 60)], told: told({ 'device:a': ['back', 60] }) },
    alerts: [],
    forget: ['device:a'],
  },
  {
    name: 'and not while it flaps below the limit',
    facts: { devices: [there('a', 5)], told: told({ 'device:a': ['back', 60] }) },
    alerts: [],
  },
  { name: 'others follow: the message waits for them', facts: { devices: [gone('a', 10), gone('b', 7)] }, alerts: [] },
  {
    name: 'all of them',
    facts: { devices: [gone('a', 13), gone('b', 10)] },
    alerts: ['devices_offline a b'],
    remember: ['device:a offline', 'device:b offline'],
  },
  {
    name: 'but not for long',
    facts: { devices: [gone('a', 10 + gatherMs / minute), gone('b', 7)] },
    alerts: ['devices_offline a'],
    remember: ['device:a offline'],
  },
  {
    name: 'those who come back share a message, too',
    facts: {
      devices: [there('a', 3), there('b', 1)],
      told: told({ 'device:a': ['offline', 9], 'device:b': ['offline', 9] }),
    },
    alerts: [],
  },
  {
    name: 'a removed device',
    facts: { told: told({ 'device:a': ['offline', 9], 'battery:a': ['low', 9] }) },
    alerts: [],
    forget: ['device:a', 'battery:a'],
  },

  {
    name: 'a low battery',
    facts: { devices: [device('a', { battery: 15 }), device('b', { battery: 16 })] },
    alerts: ['battery_low a'],
    remember: ['battery:a low'],
  },
  {
    name: 'told once',
    facts: { devices: [device('a', { battery: 3 })], told: told({ 'battery:a': ['low', 9] }) },
    alerts: [],
  },
  {
    name: 'a little more is still low',
    facts: { devices: [device('a', { battery: 24 })], told: told({ 'battery:a': ['low', 9] }) },
    alerts: [],
  },
  {
    name: 'a new battery',
    facts: { devices: [device('a', { battery: 25 })], told: told({ 'battery:a': ['low', 9] }) },
    alerts: [],
    forget: ['battery:a'],
  },
  {
    name: 'an unknown value of a known battery',
    facts: { devices: [device('a', {})], told: told({ 'battery:a': ['low', 9] }) },
    alerts: [],
  },
  {
    name: 'no rule for batteries',
    facts: {
      rules: { ...rules, batteryPercent: null },
      devices: [device('a', { battery: 3 })],
      told: told({ 'battery:a': ['low', 9] }),
    },
    alerts: [],
    forget: ['battery:a'],
  },

  {
    name: 'a condition that stands',
    facts: { conditions: [condition({})] },
    alerts: ['conditions_raised backup_old'],
    remember: [`${raised} raised`],
  },
  {
    name: 'a fault is urgent',
    facts: { conditions: [condition({ severity: 'fault' })] },
    alerts: ['conditions_raised backup_old fault'],
    remember: [`${raised} raised`],
  },
  { name: 'a short one', facts: { conditions: [condition({ forMs: standMs - 1 })] }, alerts: [] },
  { name: 'a notice', facts: { conditions: [condition({ severity: 'info' })] }, alerts: [] },
  {
    name: 'no rule for conditions',
    facts: { rules: { ...rules, conditions: false }, conditions: [condition({})] },
    alerts: [],
  },
  {
    name: 'told once, also after a start',
    facts: { conditions: [condition({})], told: told({ [raised]: ['raised', 0] }) },
    alerts: [],
  },
  {
    name: 'it is over',
    facts: { conditions: [condition({ stands: false })], told: told({ [raised]: ['raised', 9] }) },
    alerts: ['conditions_over backup_old'],
    remember: [`${raised} over`],
  },
  {
    name: 'after a start it is not known yet',
    facts: {
      watchingMs: connectMs - 1,
      conditions: [condition({ stands: false })],
      told: told({ [raised]: ['raised', 9] }),
    },
    alerts: [],
  },
  {
    name: 'the agent is silent: its conditions are unknown',
    facts: {
      isAgentKnown: false,
      conditions: [condition({ source: 'agent', stands: false })],
      told: told({ 'condition:agent:backup_old': ['raised', 9] }),
    },
    alerts: [],
  },
  {
    name: 'there again soon: it must stand longer',
    facts: { conditions: [condition({ forMs: 9 * minute })], told: told({ [raised]: ['over', 9] }) },
    alerts: [],
  },
  {
    name: 'there again to stay',
    facts: { conditions: [condition({ forMs: 10 * minute })], told: told({ [raised]: ['over', 9] }) },
    alerts: ['conditions_raised backup_old'],
    remember: [`${raised} raised`],
  },
  {
    name: 'long over',
    facts: { conditions: [condition({ stands: false, forMs: stableMs })], told: told({ [raised]: ['over', 60] }) },
    alerts: [],
    forget: [raised],
  },

  {
    name: 'the first look tells nothing of the past',
    facts: { operations: [operation('2', { result: 'failed' })] },
    alerts: [],
    remember: ['operation 2'],
  },
  {
    name: 'nothing new',
    facts: { operations: [operation('2', { result: 'failed' })], told: told({ operation: ['2', 9] }) },
    alerts: [],
  },
  {
    name: 'an update that worked',
    facts: { operations: [operation('2'), operation('1')], told: told({ operation: ['1', 9] }) },
    alerts: [],
    remember: ['operation 2'],
  },
  {
    name: 'a failed update, a rolled back one, and a rollback that failed, in their order',
    facts: {
      operations: [
        operation('4', { kind: 'rollback', result: 'failed', to: '0.9.0' }),
        operation('3', { result: 'rolled_back' }),
        operation('2', { result: 'failed', to: '1.2.0' }),
        operation('1'),
      ],
      told: told({ operation: ['1', 9] }),
    },
    alerts: ['update_failed 1.2.0', 'update_rolled_back 1.1.0', 'rollback_failed 0.9.0'],
    remember: ['operation 4'],
  },
  {
    name: 'a way back that the agent chose, as of a release that was rolled back; one that failed is none',
    facts: {
      operations: [
        operation('3', {
          kind: 'rollback',
          result: 'rolled_back',
          from: '2.1.0',
          to: '2.0.0',
          because: {},
          reason: 'not healthy',
        }),
        operation('2', { kind: 'rollback', result: 'rolled_back', from: '2.0.0', to: '1.0.0', because: {} }),
        operation('1'),
      ],
      told: told({ operation: ['1', 9] }),
    },
    alerts: ['update_rolled_back 2.0.0'],
    remember: ['operation 3'],
  },
  {
    name: 'a rollback by hand',
    facts: {
      operations: [operation('2', { kind: 'rollback', result: 'rolled_back' }), operation('1')],
      told: told({ operation: ['1', 9] }),
    },
    alerts: [],
    remember: ['operation 2'],
  },
  {
    name: 'the last known one is no longer in the history',
    facts: {
      operations: [operation('9', { result: 'failed' }), operation('8', { result: 'failed' })],
      told: told({ operation: ['1', 9] }),
    },
    alerts: ['update_failed 1.1.0'],
    remember: ['operation 9'],
  },
  {
    name: 'no rule for updates',
    facts: {
      rules: { ...rules, updates: false },
      operations: [operation('2', { result: 'failed' })],
      told: told({ operation: ['1', 9] }),
    },
    alerts: [],
    remember: ['operation 2'],
  },
  {
    name: 'the cloud is silent while another backend holds the link: its conditions are unknown',
    facts: {
      conditions: [condition({ source: 'cloud', id: 'cloud_rejected', stands: false, forMs: 0 })],
      told: told({ 'condition:cloud:cloud_rejected': ['raised', 9] }),
    },
    alerts: [],
  },
  {
    name: 'a condition of the cloud link',
    facts: { conditions: [condition({ source: 'cloud', id: 'cloud_rejected', severity: 'fault' })] },
    alerts: ['conditions_raised cloud_rejected fault'],
    remember: ['condition:cloud:cloud_rejected raised'],
  },
  {
    name: 'a stopped rollout, once; one that is gone is forgotten',
    facts: {
      stoppedRollouts: [rollout('1'), rollout('2')],
      told: told({ 'rollout:1': ['stopped', 9], 'rollout:0': ['stopped', 9] }),
    },
    alerts: ['firmware_stopped light 2.0.0'],
    remember: ['rollout:2 stopped'],
    forget: ['rollout:0'],
  },
  {
    name: 'no rule for updates, so none for those of devices',
    facts: { rules: { ...rules, updates: false }, stoppedRollouts: [rollout('1')] },
    alerts: [],
    remember: ['rollout:1 stopped'],
  },
  { name: 'the agent does not answer', facts: { operations: null, told: told({ operation: ['1', 9] }) }, alerts: [] },
];

describe('what people are told', () => {
  for (const { name, facts, alerts, remember = [], forget = [] } of rows) {
    it(name, () => {
      const decision = decideAlerts({ ...calm, ...facts, told: new Map([...watched, ...(facts.told ?? [])]) });
      assert.deepEqual(decision.alerts.map(short), alerts);
      assert.deepEqual(
        [...decision.remember].map(([key, state]) => `${key} ${state}`),
        remember,
      );
      assert.deepEqual(decision.forget, forget);
    });
  }

  it('the first look tells of no rollout that was stopped before', () => {
    const { alerts, remember } = decideAlerts({ ...calm, stoppedRollouts: [rollout('1')] });
    assert.deepEqual([alerts, [...remember.keys()]], [[], ['rollouts', 'rollout:1']]);
  });

  it('two hundred devices that one cause takes offline within four minutes are one message, and one when they are back', () => {
    const states = new Map<string, { state: string; forMs: number }>();
    const all: Alert[] = [];
    for (let now = 0; now < 60 * minute; now += 5_000) {
      const devices = Array.from({ length: 200 }, (_, index) => {
        const left = minute + index * 1_200;
        const returned = 40 * minute + index * 1_200;
        const isOnline = now < left || now >= returned;
        return device(`d${index}`, { isOnline, forMs: now - (now >= returned ? returned : isOnline ? 0 : left) });
      });
      const decision = decideAlerts({ ...calm, watchingMs: now, devices, told: states });
      for (const [key, state] of decision.remember) states.set(key, { state, forMs: 0 });
      all.push(...decision.alerts);
    }
    const counts = all.map((alert) => ('devices' in alert ? `${alert.kind} ${alert.devices.length}` : alert.kind));
    assert.deepEqual(counts, ['devices_offline 200', 'devices_back 200']);
  });
});
