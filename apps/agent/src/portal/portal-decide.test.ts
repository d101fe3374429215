import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Language } from '@station/protocol/languages';
import { type Answer, decide, pickLanguage, type RequestFacts } from './portal-decide.ts';

const place = { address: '192.0.2.1', port: 80 };
const visit: RequestFacts = {
  method: 'GET',
  target: '/',
  host: '192.0.2.1',
  origin: null,
  contentType: null,
  userAgent: 'Mozilla/5.0',
  accept: 'text/html,*/*;q=0.8',
};
const form: RequestFacts = {
  ...visit,
  method: 'POST',
  target: '/join',
  origin: 'http://192.0.2.1',
  contentType: 'application/x-www-form-urlencoded; charset=UTF-8',
};

const kindOf = (answer: Answer): string => {
  if (answer.kind === 'form') return answer.action;
  if (answer.kind === 'refused') return `refused: ${answer.reason}`;
  return answer.kind === 'page' || answer.kind === 'searching'
    ? `${answer.kind} ${answer.byPerson ? 'for a person' : 'for a program'}`
    : answer.kind;
};

const cases: [string, Partial<RequestFacts> & { base?: RequestFacts }, string][] = [
  ['the page at the literal address', {}, 'page for a person'],
  ['with the usual port written out', { host: '192.0.2.1:80' }, 'page for a person'],
  ['with a query', { target: '/?lang=uk' }, 'page for a person'],
  ['its head', { method: 'HEAD' }, 'page for a person'],
  ['as a proxy is asked', { target: 'http://192.0.2.1/', host: 'example.org' }, 'page for a person'],
  ['the page of a search', { target: '/searching' }, 'searching for a person'],
  ['the word for the script', { target: '/state' }, 'state'],
  ['a program', { accept: '*/*' }, 'page for a program'],
  ['a program without an Accept header', { accept: null }, 'page for a program'],
  ['the probe of an iPhone that follows', { userAgent: 'CaptiveNetworkSupport-479.60.1 wispr' }, 'page for a program'],

  ['a name that leads here', { host: 'captive.apple.com' }, 'redirect'],
  ['a name that only looks like the address', { host: '192.0.2.1.example.org' }, 'redirect'],
  ['another port', { host: '192.0.2.1:8080' }, 'redirect'],
  ['no name', { host: null }, 'redirect'],
  ['an empty name', { host: '' }, 'redirect'],
  ['a name that is none', { host: '[' }, 'redirect'],
  ['a target that is none', { target: 'http://[' }, 'redirect'],
  ['somebody asked as a proxy', { target: 'http://example.org/' }, 'redirect'],
  ['a target that hides a name', { target: '//example.org/' }, 'redirect'],
  ['the target of OPTIONS', { method: 'OPTIONS', target: '*' }, 'redirect'],
  ['another method', { method: 'DELETE' }, 'redirect'],
  ['a path that is not there', { target: '/generate_204' }, 'redirect'],
  ['an action without its form', { target: '/join' }, 'redirect'],
  ['a path with tricks', { target: '/..//searching/../state/..' }, 'redirect'],
  ['an icon', { target: '/favicon.ico' }, 'nothing'],
  ['an icon of an iPhone', { target: '/apple-touch-icon-120x120-precomposed.png' }, 'nothing'],
  ['what Chrome looks for', { target: '/.well-known/traffic-advice' }, 'nothing'],

  ['a join', { base: form }, 'join'],
  ['a search', { base: form, target: '/search' }, 'search'],
  ['a request to show the password', { base: form, target: '/show' }, 'show'],
  ['a form of a browser that names no origin', { base: form, origin: null }, 'join'],
  ['a form without a type', { base: form, contentType: null }, 'join'],
  ['a form of another site', { base: form, origin: 'https://example.org' }, 'refused: origin'],
  ['a form of a frame that hides its origin', { base: form, origin: 'null' }, 'refused: origin'],
  ['a search of such a frame', { base: form, target: '/search', origin: 'null' }, 'refused: origin'],
  ['a form of another port', { base: form, origin: 'http://192.0.2.1:8080' }, 'refused: origin'],
  ['a form of a rebound name', { base: form, host: 'evil.example', origin: 'http://evil.example' }, 'redirect'],
  ['a form as text', { base: form, contentType: 'text/plain' }, 'refused: content_type'],
  ['a form with files', { base: form, contentType: 'multipart/form-data; boundary=x' }, 'refused: content_type'],
  ['a form for the start page', { base: form, target: '/' }, 'redirect'],
  ['a form for what every object has', { base: form, target: '/constructor' }, 'redirect'],
];

for (const [name, { base, ...change }, expected] of cases) {
  test(`${name}: ${expected}`, () => {
    assert.equal(kindOf(decide({ ...(base ?? visit), ...change }, place)), expected);
  });
}

test('on a port of its own the page is there and nowhere else', () => {
  const other = { address: '127.0.0.1', port: 8099 };
  assert.equal(kindOf(decide({ ...visit, host: '127.0.0.1:8099' }, other)), 'page for a person');
  assert.equal(kindOf(decide({ ...visit, host: '127.0.0.1' }, other)), 'redirect');
  const posted = { ...form, host: '127.0.0.1:8099' };
  assert.equal(kindOf(decide({ ...posted, origin: 'http://127.0.0.1:8099' }, other)), 'join');
  assert.equal(kindOf(decide({ ...posted, origin: 'http://127.0.0.1' }, other)), 'refused: origin');
});

const languageCases: [string | null, string | null, Language][] = [
  [null, null, 'en'],
  [null, '', 'en'],
  [null, 'uk-UA,uk;q=0.9,en-US;q=0.8', 'uk'],
  [null, 'en-GB,en;q=0.9,uk;q=0.8', 'en'],
  [null, 'fr,uk;q=0.5', 'uk'],
  [null, 'fr', 'en'],
  [null, 'de-AT,en;q=0.5', 'de'],
  [null, 'en;q=0.3, uk;q=0.7', 'uk'],
  [null, 'UK', 'uk'],
  [null, 'uk;q=0,en;q=0.1', 'en'],
  [null, 'uk;q=2,en;q=0.1', 'en'],
  [null, '*,uk;q=0.5', 'en'],
  [null, 'ukulele', 'en'],
  [null, ',;q=1,;;', 'en'],
  ['uk', 'en', 'uk'],
  ['en', 'uk', 'en'],
  ['fr', 'uk', 'uk'],
];

for (const [chosen, accepted, expected] of languageCases) {
  test(`chosen ${chosen ?? 'nothing'}, accepted ${accepted ?? 'nothing'}: ${expected}`, () =>
    assert.equal(pickLanguage(chosen, accepted), expected));
}
