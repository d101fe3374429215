import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NearNetwork, NetworkState } from '@station/protocol/agent-network';
import { chosenRequest, shownNetworks, typedRequest, unreadJoin } from './network-view.ts';
import { sampleStatus } from './sample-status.ts';

const near = (name: string, signal: number, security: NearNetwork['security'] = 'wpa2'): NearNetwork => ({
  ssid: Buffer.from(name).toString('hex'),
  name,
  signal,
  security,
  isKnown: false,
});

const state = (changes: Partial<NetworkState> = {}): NetworkState => ({
  wifi: { ...sampleStatus().wifi, mode: 'client', ssid: 'Home' },
  links: [],
  blocker: null,
  networks: [],
  scannedAt: null,
  joining: null,
  lastJoin: null,
  stationAddress: 'http://station.local/',
  ...changes,
});

describe('the networks nearby', () => {
  it('begin with that of the station, then the strongest, and say which cannot be joined', () => {
    const networks = [near('Far', 20), near('Home', 40), near('Office', 90, 'enterprise'), near('Café', 60, 'open')];
    assert.deepEqual(
      shownNetworks(state({ networks })).map(({ name, isCurrent, isFree, refusal }) => [
        name,
        isCurrent,
        isFree,
        refusal,
      ]),
      [
        ['Home', true, false, null],
        ['Office', false, false, 'enterprise'],
        ['Café', false, true, null],
        ['Far', false, false, null],
      ],
    );
  });

  it('are asked for with their security, and without a password where there is none', () => {
    const [open] = shownNetworks(state({ networks: [near('Café', 60, 'open')] }));
    assert.ok(open);
    assert.deepEqual(chosenRequest(open, 'typed before'), {
      ssid: '436166c3a9',
      security: 'open',
      password: null,
      isHidden: false,
    });
    const hidden = { ssid: '43656c6c6172', isHidden: true };
    assert.deepEqual(typedRequest('Cellar', 'a password'), { ...hidden, security: null, password: 'a password' });
    assert.deepEqual(typedRequest('Cellar', null), { ...hidden, security: 'open', password: null });
  });
});

describe('the result of a join', () => {
  const lastJoin = { name: 'Home', failure: null, at: '2026-03-01T12:00:00.000Z' };
  it('stays until it is read, and not while the next one runs', () => {
    assert.equal(unreadJoin(state({ lastJoin }), null), lastJoin);
    assert.equal(unreadJoin(state({ lastJoin }), lastJoin.at), null);
    assert.equal(unreadJoin(state({ lastJoin, joining: 'Other' }), null), null);
    assert.equal(unreadJoin(state(), null), null);
  });
});
