import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { agentVariables } from '../apps/agent/src/variables.ts';
import type { Variables } from '../packages/kit/src/env-config.ts';
import { root } from './generated-files.ts';
import { stackVariables } from './stack-variables.ts';

const declared: Variables = { ...stackVariables, ...agentVariables };
const values = [
  '0',
  '1',
  '10',
  '-1',
  '007',
  '1.5',
  '0.01',
  '1e3',
  '65535',
  '65536',
  '43201',
  '99999999999999999',
  '16',
  '1024',
  'true',
  'YES',
  'No',
  'on',
  'own',
  'ACME',
  'info',
  'trace',
  'abc',
  'ABC',
  'a-b',
  '-a',
  'a_b',
  'a b',
  'é',
  '$(id)',
  '`id`',
  'https://a',
  'HTTP://a:80/x?y=1',
  'http://user:secret@a',
  'https://a/#x',
  'https://a b',
  'ftp://a',
  'http:/a',
  'https://',
  'file:///etc/x',
  'file://host/x',
  '192.0.2.1/24',
  '256.0.2.1/24',
  '192.0.2.1/31',
  '192.0.2.1/8',
  '192.0.2.1',
  '10.0.0.1/30',
  '5b0f7a3e-6f0c-4f0e-9a52-0a4a3b1c2d3e',
  '5B0F7A3E-6F0C-4F0E-9A52-0A4A3B1C2D3E',
  '5b0f7a3e',
  'hci0',
  'hci',
  'DE',
  'de',
  'DEU',
  'a@example.org',
  '@example.org',
  'docker-compose.yml',
  '../docker-compose.yml',
  'x'.repeat(7),
  'x'.repeat(63),
  'x'.repeat(64),
];

const env = { PATH: process.env['PATH'] ?? '', LC_ALL: 'C.UTF-8' };

/** The values that a regular expression takes, as `matches` of install.sh asks. */
function taken(pattern: string, isAnyCase: boolean): string[] {
  const options = ['-Ex', ...(isAnyCase ? ['-i'] : []), '-e', pattern];
  const { stdout } = spawnSync('grep', options, { input: values.join('\n'), encoding: 'utf8', env });
  return stdout.split('\n').filter((line) => line !== '');
}

/** Whether this function of install.sh refuses it. */
function isRefused(name: string, value: string, rule = 'declared_problem'): boolean {
  const text = readFileSync(join(root, 'deploy/install.sh'), 'utf8');
  const helpers = ['matches', 'matches_any_case', 'is_number'];
  const functions = helpers.map((each) => new RegExp(`^${each}\\(\\).*$`, 'm').exec(text)?.[0]);
  const rules = new RegExp(`^${rule}\\(\\) \\{[^]*?^\\}$`, 'm').exec(text)?.[0];
  const script = [...functions, rules, `${rule} "$@"`].join('\n');
  return spawnSync('sh', ['-c', script, 'sh', name, value], { encoding: 'utf8', env }).stdout !== '';
}

describe('install.sh refuses an answer exactly when a program would', () => {
  for (const [name, { check }] of Object.entries(declared)) {
    const { shell } = check;
    if (shell?.kind !== 'pattern') continue;
    it(`of ${name}`, () => {
      const accepted = values.filter((value) => check(value, { homeDirectory: '/' }).ok);
      assert.deepEqual(taken(shell.pattern, shell.isAnyCase), accepted);
    });
  }

  it('of numbers', () => {
    for (const name of ['KEEP_RELEASES', 'CHECK_INTERVAL_MINUTES', 'FIRMWARE_MAX_BYTES'])
      for (const value of [
        '0',
        '1',
        '20',
        '21',
        '007',
        '1.5',
        '0.01',
        '0.001',
        '1e3',
        '-1',
        '43200',
        '43201',
        '1073741825',
      ])
        assert.equal(
          isRefused(name, value),
          !declared[name]?.check(value, { homeDirectory: '/' }).ok,
          `${name}=${value}`,
        );
  });

  it('that would end its line of an environment file early, or not at all', () => {
    for (const [name, value] of [
      ['PUBLIC_URL', "http://a'b"],
      ['STATION_URL', "http://a'b"],
      ['UPDATE_SERVER_URL', "https://a/'b"],
      ['ACME_DIRECTORY', "https://a'b"],
      ['METRICS_TOKEN', 'abc def\\'],
      ['BACKUP_DIR', '/a b\\'],
    ] as const) {
      assert.ok(isRefused(name, value, 'own_problem'), name);
      assert.ok(!isRefused(name, value.replaceAll(/['\\]/g, 'x'), 'own_problem'), name);
    }
    assert.ok(!isRefused('HOTSPOT_PASSWORD', 'abcdefgh\\', 'own_problem'));
  });
});
