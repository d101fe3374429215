import assert from 'node:assert/strict';
import { test } from 'node:test';
import semver from 'semver';
import { compareVersions, isNewer, parseVersion, type Version } from './version.ts';

const parse = (text: string): Version => {
  const version = parseVersion(text);
  assert.ok(version, text);
  return version;
};

test('orders versions by SemVer precedence, as the semver package does', () => {
  const texts = [
    '0.0.0',
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-rc.1',
  ];
  texts.push('1.0.0', '1.0.0+build.5', '1.0.1', '1.10.0', '1.9.0', '2.0.0--', '2.0.0-0', '2.0.0-00a', '10.0.0');
  for (const a of texts)
    for (const b of texts) {
      assert.equal(Math.sign(compareVersions(parse(a), parse(b))), semver.compare(a, b), `${a} against ${b}`);
    }
});

test('accepts exactly SemVer 2.0.0 and drops a leading v', () => {
  assert.equal(parseVersion('v1.2.3')?.text, '1.2.3');
  for (const text of [
    '',
    '1',
    '1.2',
    '01.2.3',
    '1.2.3-',
    '1.2.3-01',
    '1.2.3+',
    'latest',
    '1.2.3 ',
    '../x',
    '1.2.3\n',
    'vv1.2.3',
  ]) {
    assert.equal(parseVersion(text), null, JSON.stringify(text));
  }
  assert.equal(parseVersion(`1.2.3-${'a'.repeat(200)}`), null);
});

test('orders numbers beyond the safe integers', () => {
  assert.equal(isNewer('1.0.90071992547409930', '1.0.90071992547409929'), true);
});

test('an unknown current version is older than everything', () => {
  assert.equal(isNewer('0.0.1', null), true);
  assert.equal(isNewer(null, '0.0.1'), false);
  assert.equal(isNewer('1.0.0+two', '1.0.0+one'), false);
});
