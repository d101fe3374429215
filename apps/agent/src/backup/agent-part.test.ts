import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StationError } from '@station/kit/station-error';
import type { AgentBackup, BrokerLogins, SavedNetwork } from '@station/protocol/agent-backup';
import { type AgentPartSources, createAgentPart } from './agent-part.ts';

const home: SavedNetwork = { ssid: '686f6d65', security: 'wpa2', hidden: false, password: 'a password' };
const release = { version: '1.2.0', images: { backend: 'registry.example/backend:1.2.0' } };
const nothing: AgentBackup = { wifi: null, broker: null, release: null, missing: [] };

function sources(changes: Partial<AgentPartSources> = {}) {
  const done = {
    networks: [] as SavedNetwork[],
    logins: null as BrokerLogins | null,
    updates: [] as string[],
    authority: null as string | null,
    autoUpdate: null as boolean | null,
  };
  const parts: AgentPartSources = {
    networks: {
      read: async () => ({ networks: [home], unsupported: 0 }),
      add: async (networks) => {
        done.networks.push(...networks);
        return { added: networks.length, kept: 0, refused: 0 };
      },
    },
    broker: {
      read: async () => ({ kind: 'ok', logins: { clients: [{ username: 'backend' }, { username: 'lamp' }] } }),
      replace: async (logins) => void (done.logins = logins),
    },
    release: () => release,
    authority: {
      readAuthority: async () => 'an authority',
      replaceAuthority: async (pem) => {
        done.authority = pem;
        return pem !== 'damaged';
      },
    },
    autoUpdate: { choice: () => false, choose: async (choice) => void (done.autoUpdate = choice) },
    update: async (version) => {
      done.updates.push(version);
      return { kind: 'started', operationId: 'operation-1', ended: Promise.resolve(null) };
    },
    ...changes,
  };
  return { done, part: createAgentPart(parts) };
}

test('the part holds networks, logins and release', async () => {
  const { part } = sources();
  const { wifi, broker, release: read, authority, autoUpdate, missing } = await part.read();
  assert.deepEqual([wifi, broker?.clients.length, read, authority, missing], [[home], 2, release, 'an authority', []]);
  assert.equal(autoUpdate, false);
});

test('what cannot be read is named, and the rest is read', async () => {
  const outage = async () => {
    throw new StationError('unavailable', 'the container engine does not answer');
  };
  const cases = [
    [
      { networks: null, broker: null, release: () => null },
      ['wifi not_managed', 'broker not_managed', 'release not_managed'],
    ],
    [{ networks: { read: async () => null, add: async () => null } }, ['wifi unavailable']],
    [
      { networks: { read: async () => ({ networks: [home], unsupported: 2 }), add: async () => null } },
      ['wifi not_supported'],
    ],
    [{ broker: { read: outage, replace: outage } }, ['broker unavailable']],
    [{ broker: { read: async () => ({ kind: 'too_large' as const }), replace: outage } }, ['broker too_large']],
  ] as const;
  for (const [changes, expected] of cases) {
    const { missing } = await sources(changes).part.read();
    assert.deepEqual(
      missing.map(({ part, reason }) => `${part} ${reason}`),
      expected,
    );
  }
});

test('a restore adds the networks, and joins the logins with the one of the backend here', async () => {
  const { part, done } = sources();
  const saved = { clients: [{ username: 'backend', password: 'old' }, { username: 'backdoor' }] };
  const answer = await part.restore({ ...nothing, wifi: [home], broker: saved });
  assert.deepEqual(answer, { wifi: { added: 1, kept: 0 }, broker: true, release: 'none', missing: [] });
  assert.deepEqual(done.networks, [home]);
  // A backup gives a login to devices alone.
  assert.deepEqual(done.logins?.clients, [{ username: 'backend' }, { username: 'lamp' }]);
});

test('what a person chose of updates comes back; where nobody chose, the choice here stays', async () => {
  const { part, done } = sources();
  await part.restore(nothing);
  assert.equal(done.autoUpdate, null);
  await part.restore({ ...nothing, autoUpdate: false });
  assert.equal(done.autoUpdate, false);
  const choose = () => Promise.reject(new StationError('disk_space_low', 'the disk is full'));
  const full = sources({ autoUpdate: { choice: () => null, choose } });
  assert.ok(!('autoUpdate' in (await full.part.read())));
  const { missing, wifi } = await full.part.restore({ ...nothing, wifi: [home], autoUpdate: true });
  assert.deepEqual([missing, wifi.added], [[{ part: 'auto_update', reason: 'unavailable' }], 1]);
});

test('a release is installed when it is newer than the one that runs', async () => {
  for (const [version, outcome, updates] of [
    ['1.2.0', 'current', []],
    ['1.1.0', 'current', []],
    ['1.3.0', 'started', ['1.3.0']],
    ['../../evil', 'none', []],
    [null, 'none', []],
  ] as const) {
    const { part, done } = sources();
    const answer = await part.restore({ ...nothing, release: { version, images: {} } });
    assert.deepEqual([answer.release, done.updates], [outcome, updates]);
  }
});

test('what cannot be restored is named, and the rest is restored', async () => {
  const refused = async () => ({ kind: 'refused' as const, code: 'manifest_unavailable' as const, message: '' });
  const broken = {
    read: async () => ({ kind: 'ok' as const, logins: { clients: [] } }),
    replace: async () => {
      throw new StationError('internal', 'the service "mqtt" could not be stopped');
    },
  };
  const { part } = sources({ networks: null, broker: broken, update: refused });
  const answer = await part.restore({
    ...nothing,
    wifi: [home],
    broker: { clients: [] },
    release: { version: '2.0.0', images: {} },
  });
  assert.deepEqual(answer.missing, [
    { part: 'wifi', reason: 'not_managed' },
    { part: 'broker', reason: 'unavailable' },
    { part: 'release', reason: 'refused' },
  ]);
});

test('an open network of a backup is not joined, and is named', async () => {
  const { part, done } = sources();
  const open: SavedNetwork = { ssid: '46726565', security: 'open', hidden: false, password: null };
  const { wifi, missing } = await part.restore({ ...nothing, wifi: [open, home] });
  assert.deepEqual(
    [done.networks, wifi, missing],
    [[home], { added: 1, kept: 0 }, [{ part: 'wifi', reason: 'refused' }]],
  );
});

test('the authority that phones trust comes back; a damaged one is refused by name', async () => {
  const { part, done } = sources();
  assert.deepEqual((await part.restore({ ...nothing, authority: 'of the old card' })).missing, []);
  assert.equal(done.authority, 'of the old card');
  const { missing } = await part.restore({ ...nothing, authority: 'damaged' });
  assert.deepEqual(missing, [{ part: 'authority', reason: 'refused' }]);
});
