import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  certifiedNames,
  dayMs,
  decideAuthority,
  decideCertificate,
  endOfAuthorityBefore,
  firstAuthorityEnd,
  homeAddresses,
  isHomeAddress,
} from './tls-decide.ts';

const now = Date.UTC(2026, 10, 24);
/** A clock that is right. */
const at = (time: number) => ({ now: time, isClockRight: true });
const wanted = { names: ['cabin.local', 'station.local'], addresses: ['192.168.1.7'] };

describe('the certificate of a station', () => {
  const issued = decideCertificate(null, wanted, at(now))!;

  it('is for its names and addresses, and valid for less than the 397 days that browsers accept', () => {
    assert.deepEqual([issued.names, issued.addresses], [wanted.names, wanted.addresses]);
    assert.ok(issued.notBefore < now);
    assert.ok(issued.notAfter - issued.notBefore <= 397 * dayMs);
  });

  it('stays while it is good, and is renewed a month before its end', () => {
    assert.equal(decideCertificate(issued, wanted, at(now)), null);
    assert.equal(decideCertificate(issued, wanted, at(issued.notAfter - 31 * dayMs)), null);
    assert.ok(decideCertificate(issued, wanted, at(issued.notAfter - 30 * dayMs)));
  });

  it('is issued again when the clock was wrong before, in either direction', () => {
    const past = Date.UTC(1970, 0, 1);
    const future = Date.UTC(2038, 0, 1);
    for (const wrong of [past, future]) {
      const early = decideCertificate(null, wanted, at(wrong))!;
      assert.ok(decideCertificate(early, wanted, at(now)), new Date(wrong).toISOString());
    }
  });

  it('stays while a clock that nobody called right is years behind; what is new then counts from its beginning', () => {
    const boot = { now: Date.UTC(1970, 0, 1), isClockRight: false };
    assert.equal(decideCertificate(issued, wanted, boot), null);
    const moved = decideCertificate(issued, { ...wanted, addresses: ['10.0.0.5'] }, boot)!;
    assert.deepEqual([moved.notBefore, moved.notAfter], [issued.notBefore, issued.notAfter]);
    assert.ok(decideCertificate(issued, wanted, { ...boot, isClockRight: true }), 'the clock is right');
    assert.ok(decideCertificate(issued, wanted, { ...boot, isClockRight: null }), 'nobody tells');
    // A station that no time server reaches renews, too.
    assert.ok(decideCertificate(issued, wanted, { now: issued.notAfter - 30 * dayMs, isClockRight: false }));
    assert.equal(decideCertificate(null, wanted, boot)!.notBefore, boot.now - dayMs);
  });

  it('is issued again for a new address or name, and keeps the addresses it had', () => {
    const moved = decideCertificate(issued, { ...wanted, addresses: ['10.0.0.5'] }, at(now))!;
    assert.deepEqual(moved.addresses, ['10.0.0.5', '192.168.1.7']);
    assert.equal(decideCertificate(moved, wanted, at(now)), null);
    assert.ok(decideCertificate(issued, { ...wanted, names: ['hut.local', 'station.local'] }, at(now)));
  });

  it('keeps eight addresses at most, those of now among them', () => {
    let present = issued;
    for (let nth = 1; nth <= 20; nth++) {
      present = decideCertificate(present, { ...wanted, addresses: [`10.0.0.${nth}`] }, at(now))!;
    }
    assert.equal(present.addresses.length, 8);
    assert.equal(present.addresses[0], '10.0.0.20');
  });

  it('stays when the network is away', () => {
    assert.equal(decideCertificate(issued, { ...wanted, addresses: [] }, at(now)), null);
  });
});

describe('the end of the authority', () => {
  it('is moved three years before, by thirty, when the clock is right', () => {
    const due = Date.UTC(2046, 11, 31, 23, 59, 59);
    assert.equal(decideAuthority(firstAuthorityEnd, at(due - 1)), null);
    assert.equal(decideAuthority(firstAuthorityEnd, at(due)), Date.UTC(2079, 11, 31, 23, 59, 59));
    assert.equal(decideAuthority(firstAuthorityEnd, { now: due, isClockRight: false }), null);
    assert.equal(decideAuthority(firstAuthorityEnd, at(Date.UTC(2100, 0, 1))), Date.UTC(2109, 11, 31, 23, 59, 59));
  });

  it('says until when phones have time for the next one', () => {
    assert.equal(endOfAuthorityBefore(firstAuthorityEnd), null);
    assert.equal(endOfAuthorityBefore(Date.UTC(2079, 11, 31, 23, 59, 59)), firstAuthorityEnd);
  });
});

describe('what the authority vouches for', () => {
  it('private and link-local addresses of IPv4 only', () => {
    const home = ['10.1.2.3', '172.16.0.1', '172.31.255.1', '192.168.0.9', '169.254.7.7'];
    const foreign = [
      '8.8.8.8',
      '172.15.0.1',
      '172.32.0.1',
      '127.0.0.1',
      '192.0.2.1',
      'fd00::1',
      'fe80::1',
      '::ffff:10.0.0.1',
    ];
    assert.deepEqual([...home, ...foreign].filter(isHomeAddress), home);
  });

  it('no network of containers, and every other one', () => {
    const names = ['eth0', 'wlan0', 'br0', 'br-lan', 'br-feed', 'bond0', 'vmbr0', 'team0', 'eth0.20', 'wg0'];
    const ofContainers = ['docker0', 'br-5f2a90c41b7d', 'veth1a2b3c4', 'cni0', 'podman0', 'virbr0', 'vnet3', 'lxcbr0'];
    const addressesOf = (links: readonly string[]) =>
      links.map((name, nth) => ({ interface: name, address: `192.168.${nth}.1` }));
    assert.deepEqual(homeAddresses(addressesOf(ofContainers)), []);
    assert.equal(homeAddresses(addressesOf(names)).length, names.length);
  });

  it('names in .local, always station.local', () => {
    assert.deepEqual(certifiedNames('Cabin.local', null), ['cabin.local', 'station.local']);
    assert.deepEqual(certifiedNames('station.local', 'station.local'), ['station.local']);
    assert.deepEqual(certifiedNames('station.local', 'Station-2.local'), ['station.local', 'station-2.local']);
    assert.deepEqual(certifiedNames('home.example', 'box.home.arpa'), ['station.local']);
  });
});
