import assert from 'node:assert/strict';
import { test } from 'node:test';
import { passkeyPlace } from './passkey-place.ts';

test('passkeys need HTTPS, a name and a browser that has them', () => {
  const at = (url: string, browser: object = { PublicKeyCredential: class {} }) => passkeyPlace(new URL(url), browser);
  assert.equal(at('https://station.local/account'), 'possible');
  assert.equal(at('https://home.example:8443/'), 'possible');
  assert.equal(at('http://station.local/'), 'no_https');
  assert.equal(at('https://192.168.1.7/'), 'no_name');
  assert.equal(at('https://[fd00::7]/'), 'no_name');
  assert.equal(at('https://station.local/', {}), 'no_browser');
});
