import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isTrusted, leadOver, readEncryption, secureTwin } from './encryption.ts';

const placeOf = (href: string) => {
  const { protocol, hostname, port, pathname, search, hash } = new URL(href);
  return { protocol, hostname, port, pathname, search, hash };
};
const answering =
  (init: ResponseInit): typeof fetch =>
  async () =>
    new Response(null, init);
const refusing: typeof fetch = async () => {
  throw new TypeError('Failed to fetch');
};

describe('the encrypted twin of a page', () => {
  it('is the same page at the usual port', () => {
    assert.equal(
      secureTwin(placeOf('http://cabin.local/devices/7?range=day#now')),
      'https://cabin.local/devices/7?range=day#now',
    );
    assert.equal(secureTwin(placeOf('http://192.168.1.7/')), 'https://192.168.1.7/');
  });

  it('does not exist for itself, or where the ports are others', () => {
    for (const href of ['https://cabin.local/', 'http://cabin.local:8080/'])
      assert.equal(secureTwin(placeOf(href)), null);
  });
});

describe('whether a connection is encrypted', () => {
  const http = placeOf('http://cabin.local/');

  it('is on over HTTPS, possible where the station has a certificate, else off', async () => {
    const certificate = { headers: { 'content-type': 'application/x-x509-ca-cert' } };
    assert.equal(await readEncryption(placeOf('https://cabin.local/'), refusing), 'on');
    assert.equal(await readEncryption(http, answering(certificate)), 'possible');
    assert.equal(await readEncryption(http, answering({ status: 404 })), 'off');
    // A server that answers each unknown path with the app.
    assert.equal(await readEncryption(http, answering({ headers: { 'content-type': 'text/html' } })), 'off');
    await assert.rejects(readEncryption(http, refusing), TypeError);
  });

  it('is asked of the browser: it refuses a certificate that it does not trust', async () => {
    assert.equal(await isTrusted('https://cabin.local/', answering({})), true);
    assert.equal(await isTrusted('https://cabin.local/', refusing), false);
  });
});

describe('leading over to HTTPS', () => {
  function openPage(href: string) {
    const went: string[] = [];
    const page = Object.assign(new EventTarget(), {
      location: { ...placeOf(href), replace: (to: string) => void went.push(to) },
    });
    return { page: page as unknown as Window, went };
  }

  it('happens where the browser trusts the station', async () => {
    const { page, went } = openPage('http://cabin.local/activity');
    await leadOver(page, answering({}));
    assert.deepEqual(went, ['https://cabin.local/activity']);
  });

  it('does not happen without trust, on HTTPS, or after the first tap', async () => {
    const untrusted = openPage('http://cabin.local/');
    await leadOver(untrusted.page, refusing);
    const encrypted = openPage('https://cabin.local/');
    await leadOver(encrypted.page, answering({}));
    const used = openPage('http://cabin.local/');
    const leading = leadOver(used.page, answering({}));
    used.page.dispatchEvent(new Event('pointerdown'));
    await leading;
    assert.deepEqual([...untrusted.went, ...encrypted.went, ...used.went], []);
  });
});
